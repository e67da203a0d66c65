"""Cases 1, 10, 11 and 12 of real reports, over ssh and a real cable. Memory that comes back (14) is in the stories."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap

import pytest

from evener.edges.rpc_probe import RpcProbe
from evener.edges.ssh_shell import SshShell
from evener.errors import (
    EndpointBusy,
    EndpointNotRpc,
    EndpointRefused,
    EndpointTimedOut,
    EndpointUnresolved,
    EndpointWrongProtocol,
)
from evener.launch import blame
from tests import case_one

pytestmark = [pytest.mark.cluster]

WORKER = """
import sys, time
from evener.testing.fake_worker import FakeWorker
with FakeWorker(address=sys.argv[1], port=int(sys.argv[2]), {more}):
    print("ready", flush=True)
    time.sleep(300)
"""
WEB = "from http.server import *; import sys; s = HTTPServer((sys.argv[1], int(sys.argv[2])), BaseHTTPRequestHandler)"


def nvidia_smi(folder, gpus, apps=case_one.APP_HEADER + "\n"):
    """A driver tool that prints what those cards' would."""
    program = folder / "nvidia-smi"
    program.write_text(
        f"#!/bin/sh\ncase $1 in\n--query-gpu*) cat <<'E'\n{gpus}E\n;;\n--query-compute*) cat <<'E'\n{apps}E\n;;\nesac\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def cards(rig):
    """alpha and beta with the cards of case 1, and no engine anywhere."""
    beta = rig.bed["beta"]
    made = [nvidia_smi(rig.bed.bin, case_one.ALPHA_GPUS), nvidia_smi(beta.home / "bin", case_one.BETA_GPUS)]
    text = "".join(line for line in rig.path.read_text().splitlines(True) if not line.startswith(("engine", "cards")))
    rig.path.write_text(text)
    del rig.environment["EVENER_ENGINE"]
    rig.environment["EVENER_CACHE"] = str(rig.state / "no-cache")
    yield rig
    for program in made:
        program.unlink()


def test_case_1_the_far_cards_come_first_and_by_bus_id(cards):
    done = cards.run("scan", "--rig", str(cards.path), "--json")
    assert done.returncode == 0, done.stderr
    devices = json.loads(done.stdout)["devices"]
    assert [(d["position"], d["name"], d["host"], d["card_id"], d["worker_device"]) for d in devices] == [
        (0, "RPC0", "beta", "GPU-b1", "CUDA0"),
        (1, "RPC1", "beta", "GPU-b2", "CUDA1"),
        (2, "RPC2", "beta", "GPU-b0", "CUDA2"),
        (3, "CUDA0", "alpha", "GPU-a0", None),
        (4, "CUDA1", "alpha", "GPU-a1", None),
    ]


@pytest.fixture
def beta(two):
    return two["beta"]


@pytest.fixture
def doors(two, beta, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{two.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    shell = SshShell("beta", "beta")
    yield {beta.address: shell}
    shell.close()


@pytest.fixture
def there(beta):
    """Start a Python program in beta's namespace; it says "ready" when it is."""
    started = []

    def start(program, port):
        argv = ["ip", "netns", "exec", beta.namespace, sys.executable, "-c", program, beta.address, str(port)]
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
        assert process.stdout.readline() == "ready\n"
        started.append(process)
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.communicate()


async def refused(endpoint, doors, error):
    with pytest.raises(error) as caught:
        await blame.visit(endpoint, RpcProbe(), doors, within_s=2)
    return str(caught.value)


async def test_case_10_another_protocol_names_host_pid_binary_and_both_versions(beta, doors, there):
    pid = there(WORKER.format(more="protocol=(5, 0, 0)"), 28410)
    said = await refused(f"{beta.address}:28410", doors, EndpointWrongProtocol)
    assert said.startswith(f"{beta.address}:28410: speaks RPC 5.0.0, our engine 7.0.0; beta runs ")
    assert f"(pid {pid}, {os.path.realpath(sys.executable)})" in said


async def test_case_11_each_obstacle_has_its_own_line(beta, doors, there):
    endpoint = f"{beta.address}:28411"
    assert "nobody listens" in await refused(endpoint, doors, EndpointRefused)
    assert "nowhere.invalid" in await refused("nowhere.invalid:28411", doors, EndpointUnresolved)
    there(WORKER.format(more='manners="silent"'), 28412)
    silent = await refused(f"{beta.address}:28412", doors, EndpointBusy)
    assert "beta runs python" in silent
    there(textwrap.dedent(f"{WEB}; print('ready', flush=True); s.serve_forever()"), 28413)
    assert "a web server answers there; beta runs " in await refused(f"{beta.address}:28413", doors, EndpointNotRpc)
    there(WORKER.format(more=""), 28414)
    seen = await blame.visit(f"{beta.address}:28414", RpcProbe(), doors, within_s=2)
    assert seen.protocol == "7.0.0"


async def test_case_11_a_cable_that_is_out_times_out(beta, doors):
    beta.cut()
    try:
        async with asyncio.timeout(20):
            said = await refused(f"{beta.address}:28415", doors, EndpointTimedOut)
    finally:
        beta.mend()
    assert "no answer to a connection within 2 s" in said


def test_case_12_the_head_as_its_own_far_worker_is_refused(rig):
    """alpha's own address, reached by ssh under another name, would be listed twice."""
    text = rig.path.read_text()
    rig.path.write_text(text.replace(f'address = "{rig.bed["beta"].address}"', f'address = "{rig.bed["beta"].near}"'))
    done = rig.run("scan", "--rig", str(rig.path))
    assert done.returncode == 2
    assert "hosts[1].ports: " in done.stderr
    assert "on the same address" in done.stderr
