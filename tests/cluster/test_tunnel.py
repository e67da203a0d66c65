"""RPC through ssh, for real: nothing of the worker is open to the network, and a dead tunnel is named."""

import os
import signal

import pytest

from tests.cluster.conftest import chat
from tests.loopback.conftest import listens

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

LINK = """
[[links]]
name = "cable"
between = ["alpha", "beta"]
tunnel = true
"""


def test_a_model_is_served_through_a_tunnel(rig):
    rig.path.write_text(rig.path.read_text() + LINK)
    deployment = rig.up()
    roles = [(p["role"], p["host"], p["listen"]) for p in deployment["processes"]]
    assert ("worker", "beta", f"127.0.0.1:{rig.first}") in roles
    assert [role for role, host, _ in roles if host == "alpha"] == ["worker", "tunnel", "head"]
    assert not listens(rig.bed["beta"].address, rig.first), "nothing is open on the cable"
    assert chat(deployment["url"]) >= 1
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)


def test_a_tunnel_that_dies_is_named(rig):
    rig.path.write_text(rig.path.read_text() + LINK)
    deployment = rig.up()
    tunnel = next(p for p in deployment["processes"] if p["role"] == "tunnel")
    os.kill(tunnel["pid"], signal.SIGKILL)
    assert "the tunnel on alpha" in rig.failure()
    rig.assert_nothing_left()
