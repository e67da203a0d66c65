"""`scan --measure` over real ssh: a host without the model is named, others are measured, links count in the plan."""

import json

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

LINK = '\n[[links]]\nname = "wire"\nbetween = ["alpha", "beta"]\n'


def measured(rig, *more):
    done = rig.run("scan", "--measure", "--yes", *more, "--json", "--rig", str(rig.path))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["speeds"], done.stderr


def test_a_host_without_the_model_is_named_with_the_way_out(rig):
    speeds, said = measured(rig)
    assert [one["host"] for one in speeds] == ["alpha"]
    assert "not measured: beta has no copy of demo; evener models push demo beta brings it there" in said
    rig.assert_nothing_left(within_s=5)


def test_far_cards_and_a_slow_cable_give_the_plan_its_speeds(slow_rig):
    with slow_rig.path.open("a") as file:
        file.write(LINK)
    speeds, said = measured(slow_rig, "--links")
    assert [one["host"] for one in speeds] == ["alpha", "beta"], said
    plan = json.loads(slow_rig.run("plan", "demo", "--rig", str(slow_rig.path), "--json").stdout)
    cluster = next(c for c in plan["candidates"] if c["name"] == "cluster")
    links = [share for share in cluster["predicted"]["per_token_ms"] if share["kind"] == "link"]
    assert any(share["where"].startswith("wire to beta/") for share in links)
    ages = [reason.partition(" as measured on ")[0] for reason in plan["verdict"]["reasons"]]
    assert {"cards", "links"} <= set(ages)
    slow_rig.assert_nothing_left(within_s=5)
