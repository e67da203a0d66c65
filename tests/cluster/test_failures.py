"""What goes wrong between two machines: the cause in one line, and within fifteen seconds nothing left on either."""

import json
import os
import signal
import time

import pytest

from tests.cluster.bed import command
from tests.loopback.conftest import eventually, is_running
from tests.loopback.test_failures import generate, pid_of

pytestmark = [pytest.mark.engine, pytest.mark.cluster]


@pytest.fixture
def beta(rig):
    return rig.bed["beta"]


# ---- while it serves


def test_a_worker_killed_while_generating_is_named_and_not_the_head(rig, beta):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGKILL)
    assert f"the worker on beta ({beta.address}:{rig.first}) was ended by SIGKILL" in rig.failure()
    rig.assert_nothing_left()
    thread.join(timeout=10)
    rig.the_run()


def test_a_killed_head_takes_the_far_worker_along(rig):
    deployment = rig.up()
    os.kill(pid_of(deployment, "head"), signal.SIGKILL)
    rig.assert_nothing_left()
    assert "the head on alpha" in (said := rig.failure())
    assert "was ended by SIGKILL" in said
    rig.the_run()


def test_nothing_survives_a_supervisor_killed_with_nine(rig, beta):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    assert beta.pids()
    os.kill(deployment["supervisor_pid"], signal.SIGKILL)
    rig.assert_nothing_left(within_s=10)
    thread.join(timeout=10)
    assert "gone (its supervisor died)" in rig.run("status").stdout
    assert rig.run("down").returncode == 0
    rig.the_run()


def test_a_stopped_supervisor_is_no_dead_one(rig, beta):
    deployment = rig.up()
    worker = pid_of(deployment, "worker", "beta")
    os.kill(deployment["supervisor_pid"], signal.SIGSTOP)
    time.sleep(11)
    assert is_running(worker)
    os.kill(deployment["supervisor_pid"], signal.SIGCONT)
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)


def test_a_cable_cut_while_generating_ends_both_sides(rig, beta):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    beta.cut()
    took = rig.assert_nothing_left()
    assert took < 15
    said = rig.failure()
    assert f"the worker on beta ({beta.address}:{rig.first}) is lost: " in said
    assert "beta has stopped answering" in said
    thread.join(timeout=10)
    rig.the_run()


def test_a_cable_cut_while_the_supervisor_is_killed_ends_both_sides(rig, beta):
    deployment = rig.up()
    beta.cut()
    os.kill(deployment["supervisor_pid"], signal.SIGKILL)
    rig.assert_nothing_left()


def test_a_cable_that_was_out_for_a_moment_harms_nothing(rig, beta):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"], tokens=200)
    beta.cut()
    time.sleep(2)
    beta.mend()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert rig.deployment()["state"] == "ready"
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)


def test_sessions_of_sshd_killed_end_their_worker_and_are_named(rig, beta):
    rig.up()
    for pid in beta.sessions():
        os.kill(pid, signal.SIGKILL)
    rig.assert_nothing_left()
    assert f"the worker on beta ({beta.address}:{rig.first}) is lost: beta: the ssh connection broke" in rig.failure()
    rig.the_run()


def test_a_restart_of_sshd_harms_nothing(rig, beta):
    rig.up()
    beta.server.stop()
    try:
        time.sleep(2)
        assert rig.deployment()["state"] == "ready"
    finally:
        beta.server.start()
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)


def test_a_stopped_worker_is_noticed_although_health_stays_200(rig):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGSTOP)
    rig.assert_nothing_left()
    assert "the worker on beta" in (said := rig.failure())
    assert "is stopped (state T)" in said
    thread.join(timeout=10)
    rig.the_run()


# ---- while it loads


def loading(rig, heavy_model):
    """A foreground `up` in the middle of its load."""
    process = rig.start("up", str(heavy_model), "--rig", str(rig.path), "--layout", "cluster", "--no-baseline")
    eventually(lambda: any("llama-server" in command(pid) for pid in rig.engine_pids()))
    return process


def ended(process):
    """(exit code, what it said on standard error as one line)."""
    _, err = process.communicate(timeout=40)
    assert "Traceback" not in err
    return process.returncode, " ".join(err.split())


def test_a_cable_cut_while_loading_ends_both_sides(slow_rig, heavy_model):
    process = loading(slow_rig, heavy_model)
    time.sleep(1)
    slow_rig.bed["beta"].cut()
    slow_rig.assert_nothing_left(within_s=18)
    code, err = ended(process)
    assert code == 3
    assert "error: while loading, the worker on beta" in err
    assert "beta has stopped answering" in err
    slow_rig.the_run()


def test_ctrl_c_twice_while_loading_takes_everything_down(slow_rig, heavy_model):
    process = loading(slow_rig, heavy_model)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    code, err = ended(process)
    assert code == 4
    assert "everything that was started has been stopped" in err
    slow_rig.assert_nothing_left(within_s=2)
    assert json.loads((slow_rig.the_run() / "summary.json").read_text())["partial"] == "interrupted"


# ---- before anything starts


def scan_of(rig):
    """(exit code, what scan says of beta, hosts)."""
    done = rig.run("scan", "--rig", str(rig.path), "--json")
    assert done.returncode == 0, done.stderr
    hosts = {host["name"]: host for host in json.loads(done.stdout)["hosts"]}
    assert hosts["alpha"]["cards"], "the rest of the rig goes on"
    return hosts["beta"]["fault"] or ""


def test_a_refused_key_is_said_in_one_line(rig, beta):
    keys = beta.server.folder / "authorized_keys"
    known = keys.read_text()
    keys.write_text("")
    try:
        fault = scan_of(rig)
        assert fault.startswith("ssh beta was refused: beta accepts none of the keys that work without a question; ")
        assert "ssh-copy-id beta" in fault
        done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster")
        assert done.returncode != 0
        assert "beta" in done.stderr
    finally:
        keys.write_text(known)
    rig.assert_nothing_left(within_s=2)


def test_an_unknown_host_key_is_said_in_one_line(rig, beta):
    known = beta.server.known_hosts.read_text()
    beta.server.known_hosts.write_text("")
    try:
        fault = scan_of(rig)
    finally:
        beta.server.known_hosts.write_text(known)
    assert fault == ("the host key of beta is not known yet; run ssh beta once and compare the fingerprint it shows")


def test_a_host_that_is_down_is_said_and_does_not_hold_up_the_rest(rig, beta):
    beta.cut()
    begun = time.monotonic()
    assert scan_of(rig).startswith(f"no answer from {beta.address} port 22; is beta on, the cable in")
    assert time.monotonic() - begun < 12
    done = rig.run("up", "demo", "--rig", str(rig.path), "-d")
    assert done.returncode == 0, done.stderr
    assert rig.deployment()["candidate"]["name"] == "alpha"
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left()


def test_a_host_without_ssh_server_is_said(rig, beta):
    beta.server.stop()
    try:
        fault = scan_of(rig)
    finally:
        beta.server.start()
    assert fault.startswith(f"nobody listens at {beta.address} port 22: connection refused; ")


def test_two_sessions_meet_by_name(rig):
    rig.up("demo", "--name", "first")
    second = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "--name", "second")
    assert second.returncode == 3
    assert "is held by deployment first (evener pid " in second.stderr
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)
