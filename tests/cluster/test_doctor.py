"""`evener doctor` on hosts that are really apart: firewalls, foreign hosts and workers, over real ssh."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.cluster.bed import run
from tests.cluster.test_cases import WORKER

SILENT = "no answer to a connection within 1.5 s"

pytestmark = [pytest.mark.cluster, pytest.mark.engine]


@pytest.fixture
def beta(rig):
    return rig.bed["beta"]


def doctor(rig, *arguments, code):
    """Its findings that are not fine, as (level, where, check, what)."""
    done = rig.run("doctor", "--rig", str(rig.path), "--json", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)["findings"]
    return [(f["level"], f["where"], f["check"], f["what"]) for f in found if f["level"] != "fine"]


def stops(found):
    return [(where, check) for level, where, check, _ in found if level == "stops"]


def test_a_sound_rig_has_nothing_that_stops_a_load_within_ten_seconds(rig, beta):
    began = time.monotonic()
    done = rig.run("doctor", "demo", "--rig", str(rig.path))
    took_s = time.monotonic() - began
    assert done.returncode == 0, done.stdout
    assert "nothing stops a load" in done.stdout
    assert f"ports {rig.first}-{rig.first + 2} can be reached from alpha" in done.stdout
    assert "ssh beta works without a question" in done.stdout
    assert took_s < 10
    assert [pid for pid in beta.pids() if pid not in beta.sessions()] == []


def test_quiet_says_only_what_is_not_fine(rig):
    assert "✓" not in rig.run("doctor", "--quiet", "--rig", str(rig.path)).stdout


def test_a_port_that_answers_nothing_is_filtered(rig, beta):
    """No packet filter in this kernel: a route that swallows beta's answers stands for one."""
    run("ip", "netns", "exec", beta.namespace, "ip", "route", "replace", "table", "77", "blackhole", "default")
    rule = ["ipproto", "tcp", "sport", f"{rig.first}-{rig.first + 2}", "table", "77", "pref", "5"]
    run("ip", "-n", beta.namespace, "rule", "add", *rule)
    try:
        found = doctor(rig, code=1)
    finally:
        run("ip", "-n", beta.namespace, "rule", "del", *rule)
    assert stops(found) == [("beta", "firewall")]
    ports = f"{rig.first}-{rig.first + 2}"
    assert found[0][3] == f"alpha cannot connect to {beta.address} on any of ports {ports}: {SILENT}"


def test_a_port_that_is_forbidden_in_a_routers_name_is_filtered_too(rig, beta):
    """As firewalld does it: the answer is that there is no way."""
    rule = ["to", beta.address, "ipproto", "tcp", "dport", f"{rig.first}-{rig.first + 2}", "pref", "5"]
    run("ip", "rule", "add", *rule, "unreachable")
    try:
        found = doctor(rig, code=1)
    finally:
        run("ip", "rule", "del", *rule)
    assert stops(found) == [("beta", "firewall")]
    assert found[0][3].endswith(": Network is unreachable")


def test_a_host_that_is_down_costs_no_more_than_its_connect_timeout(rig, beta):
    beta.cut()
    began = time.monotonic()
    try:
        found = doctor(rig, code=1)
    finally:
        beta.mend()
    assert time.monotonic() - began < 14
    assert stops(found) == [("beta", "reach")]
    assert f"{beta.address} port 22" in found[0][3]


def test_an_unknown_host_key_is_told_with_what_to_do(rig, beta):
    known = beta.server.folder / "known_hosts"
    kept = known.read_text()
    known.write_text("")
    try:
        done = rig.run("doctor", "--rig", str(rig.path))
    finally:
        known.write_text(kept)
    assert done.returncode == 1
    assert "✗ stops  beta: the host key of beta is not known yet" in done.stdout
    assert "→ run ssh beta once and compare the fingerprint" in done.stdout


def test_what_a_login_shell_there_would_hand_to_a_worker_is_named(rig, beta):
    profile = beta.home / ".profile"
    profile.write_text("export LLAMA_ARG_CTX_SIZE=4096\n")
    try:
        found = doctor(rig, code=0)
    finally:
        profile.unlink()
    assert ("note", "beta", "settings", "set there: LLAMA_ARG_CTX_SIZE") in found


def endpoint_rig(rig, *endpoints):
    rig.path.write_text(
        rig.path.read_text()
        + f'\n[[hosts]]\nname = "other"\nconnection = "endpoint"\nendpoints = {list(endpoints)!r}\n'
    )


def test_cases_10_and_11_each_endpoint_has_its_own_line(rig, beta):
    """beta is one of our hosts too, so whoever listens there is named, and the endpoint is one too many."""
    started = []
    for port, more in ((28420, "protocol=(5, 0, 0)"), (28421, 'manners="silent"')):
        argv = ["ip", "netns", "exec", beta.namespace, sys.executable, "-c", WORKER.format(more=more)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen([*argv, beta.address, str(port)], stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout.readline() == "ready\n"
        started.append(process)
    try:
        wanted = [f"{beta.address}:{port}" for port in (28420, 28421, 28422)]
        endpoint_rig(rig, *wanted, "nowhere.invalid:50052")
        found = doctor(rig, code=1)
    finally:
        for process in started:
            process.kill()
            process.communicate()
    said = [what for level, _, check, what in found if (level, check) == ("stops", "endpoint")]
    assert f"{wanted[0]}: speaks RPC 5.0.0, our engine 7.0.0; beta runs python" in said[0]
    assert f"(pid {started[0].pid}, " in said[0]
    assert f"{wanted[1]}: " in said[1]
    assert "beta runs python" in said[1]
    assert said[2] == f"{wanted[2]}: nobody listens"
    assert said[3].startswith("nowhere.invalid:50052: the name does not resolve")


def test_case_12_the_head_by_another_of_its_addresses_is_refused(rig):
    """What no reader of the file can see: 192.0.2.99 is alpha too."""
    run("ip", "addr", "add", "192.0.2.99/32", "dev", "lo")
    try:
        endpoint_rig(rig, "192.0.2.99:50052")
        found = doctor(rig, code=1)
    finally:
        run("ip", "addr", "del", "192.0.2.99/32", "dev", "lo")
    assert ("stops", "other", "twin", "192.0.2.99:50052 is on alpha, the head itself") in found
