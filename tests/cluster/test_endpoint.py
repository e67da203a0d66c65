"""A worker that somebody else started on a host that we cannot log in to: seen, used, left alone, never stopped."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import chat
from tests.loopback.conftest import eventually, is_running
from tests.loopback.test_story import facts

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

RIG = """\
[serve]
port = {serve}

[[hosts]]
name = "alpha"
connection = "local"
address = "{near}"
ports = "{first}-{last}"
cards = {{ capacity_mib = {{ cpu = 4096 }} }}

[[hosts]]
name = "windows"
connection = "endpoint"
endpoints = ["{endpoint}"]
reserve_mib = {reserve}
"""
OFFERED_MIB = 4096  # a worker on a CPU calls all memory free: the reserve is what is left of it


@pytest.fixture
def stranger(rig, engine) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody's worker with two devices on beta; the rig knows its endpoint alone."""
    beta = rig.bed["beta"]
    port = rig.first + 3
    reserve = int(Path("/proc/meminfo").read_text().split()[1]) // 1024 - OFFERED_MIB
    ports = {"serve": rig.serve, "first": rig.first, "last": rig.first + 2}
    rig.path.write_text(RIG.format(**ports, near=beta.near, endpoint=f"{beta.address}:{port}", reserve=reserve))
    worker = ["ip", "netns", "exec", beta.namespace, engine / "ggml-rpc-server", "-H", beta.address, "-p", str(port)]
    process = subprocess.Popen([*worker, "-d", "CPU,CPU"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: f"{beta.address}:{port}" in beta.listeners())
    yield process
    process.kill()
    process.wait()


def scanned(rig):
    return json.loads(rig.run("scan", "--json", "--rig", str(rig.path)).stdout)["hosts"][1]


def test_a_strangers_worker_carries_layers_and_outlives_the_deployment(rig, stranger):
    assert [card["device"] for card in scanned(rig)["cards"]] == ["#0", "#1"]
    deployment = rig.up()
    assert [(d["host"], d["device"]) for d in deployment["candidate"]["devices"]] == [
        ("windows", "RPC0"), ("windows", "RPC1"), ("alpha", "RPC2"),
    ]  # fmt: skip
    assert [p["host"] for p in deployment["processes"]] == ["alpha", "alpha"]
    assert chat(deployment["url"]) >= 1
    assert "is left alone: it has one client at a time" in scanned(rig)["fault"]
    assert chat(deployment["url"]) >= 1

    assert rig.run("down").returncode == 0
    run = next(r for r in rig.runs() if "-up-" in r.name)
    assert [(c["host"], c["verdict"]) for c in facts(run, "verified")[0]["checks"]] == [
        ("windows", "unknown"), ("windows", "unknown"), ("alpha", "as planned"),
    ]  # fmt: skip
    assert [c["verdict"] for c in facts(run, "freed")[0]["checks"]] == ["unknown", "unknown", "freed"]
    assert is_running(stranger.pid)
    assert scanned(rig)["fault"] is None
