"""`evener scan --measure` on the real engine: kept, shown, used by the plan; never beside others unasked."""

import json

import pytest

pytestmark = [pytest.mark.engine]


def scanned(rig, *arguments):
    done = rig.run("scan", *arguments, "--json", "--rig", str(rig.path))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_measured_cards_are_shown_with_their_age_and_give_the_plan_its_speeds(rig):
    speeds = scanned(rig, "--measure", "--yes")["speeds"]
    assert [(one["host"], one["card"], one["threads"]) for one in speeds] == [("alpha", "cpu", 1), ("beta", "cpu", 1)]
    assert all(one["speed"]["n"] == 10 and len(one["rows"]) == 2 for one in speeds)
    rate = speeds[0]["speed"]["weights_bytes_per_s"]
    assert 1e8 < rate["low"] <= rate["value"] <= rate["high"] < 1e12
    assert scanned(rig)["speeds"] == speeds

    plan = json.loads(rig.run("plan", "demo", "--rig", str(rig.path), "--json").stdout)
    alone = next(c for c in plan["candidates"] if c["name"] == "alpha")
    assert alone["predicted"]["decode_tokens_per_s"]["value"] == pytest.approx(rate["value"] / 96.6e6, rel=0.3)
    assert any(reason.startswith("cards as measured on 2") for reason in plan["verdict"]["reasons"])


def test_nothing_is_measured_beside_a_deployment_unless_somebody_says_so(rig):
    rig.up()
    refused = rig.run("scan", "--measure", "--rig", str(rig.path))
    assert refused.returncode == 3
    assert "in use: beta: deployment smollm2-135m-instruct.q4-1 runs there" in refused.stderr
    assert refused.stderr.splitlines()[-1] == "hint: evener scan --measure --yes measures beside it; nothing is stopped"
    assert rig.run("plan", "demo", "--fresh", "--rig", str(rig.path)).stderr == refused.stderr
    assert scanned(rig)["speeds"] == []
    assert rig.run("plan", "demo", "--fresh", "--yes", "--rig", str(rig.path)).returncode == 0
    assert len(scanned(rig)["speeds"]) == 2
    assert rig.deployment()["state"] == "ready"
