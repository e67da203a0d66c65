"""Links measured between hosts that are really apart: the cable's rate shows in every figure, and nothing stays."""

import json

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

LINK = '\n[[links]]\nname = "wire"\nbetween = ["alpha", "beta"]\ntunnel = {tunnel}\n'


def measured(rig, *, tunnel):
    with rig.path.open("a") as file:
        file.write(LINK.format(tunnel=str(tunnel).lower()))
    done = rig.run("scan", "--links", "--json", "--rig", str(rig.path))
    assert done.returncode == 0, done.stderr
    (link,) = json.loads(done.stdout)["links"]
    return link


def test_a_cable_of_100_mbit_is_measured_as_one(slow_rig):
    link = measured(slow_rig, tunnel=False)
    beta = slow_rig.bed["beta"]
    assert link["addresses"] == [beta.near, beta.address]
    for raw in (link["out_gbit_per_s"], link["back_gbit_per_s"]):
        assert 0.07 < raw["p50"] < 0.12, link["faults"]
    payload = link["payload"]
    assert payload["endpoint"] == f"{beta.address}:{slow_rig.first}"
    for rate in (payload["set_mib_per_s"], payload["get_mib_per_s"]):
        assert 7 < rate["p50"] < 12.5, "100 Mbit/s are 11.9 MiB/s"
    assert link["rtt_by"] == "ping"
    assert [(i["host"], i["name"]) for i in link["interfaces"]] == [("alpha", beta.cable), ("beta", "wire")]
    assert link["notes"] == []
    slow_rig.assert_nothing_left(within_s=5)


def test_a_tunnel_is_measured_beside_the_direct_rate(rig):
    link = measured(rig, tunnel=True)
    direct, tunnelled = link["payload"], link["through_tunnel"]
    assert tunnelled is not None, link["faults"]
    assert tunnelled["endpoint"].startswith("127.0.0.1:")
    assert tunnelled["rtt_us"]["p50"] > direct["rtt_us"]["p50"]
    assert "ssh leaves " in rig.run("scan", "--rig", str(rig.path)).stdout
    rig.assert_nothing_left(within_s=5)


def test_a_cable_that_is_out_is_said_in_one_line_and_what_was_known_stays(rig):
    known = measured(rig, tunnel=False)
    rig.bed["beta"].cut()
    done = rig.run("scan", "--links", "--rig", str(rig.path))
    assert done.returncode == 3
    error = next(line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert "beta" in error or "link wire: nothing could be measured: " in error
    rig.bed["beta"].mend()
    seen = json.loads(rig.run("scan", "--json", "--rig", str(rig.path)).stdout)
    assert seen["links"] == [known]
    rig.assert_nothing_left(within_s=15)
