"""The whole story over real ssh on the real engine: plan, up, verify, bench, down, freed, report."""

import json

import pytest

from tests.cluster.conftest import chat
from tests.loopback.test_story import facts

pytestmark = [pytest.mark.engine, pytest.mark.cluster]


def test_two_machines_load_serve_and_give_their_memory_back(rig):
    planned = rig.run("plan", "demo", "--rig", str(rig.path), "--layout", "cluster", "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["verdict"]["choice"] == "cluster"
    deployment = rig.up()
    assert deployment["state"] == "ready"
    assert [(p["role"], p["host"]) for p in deployment["processes"]] == [
        ("worker", "beta"), ("worker", "alpha"), ("head", "alpha"),
    ]  # fmt: skip
    beta = rig.bed["beta"]
    assert deployment["processes"][0]["listen"] == f"{beta.address}:{rig.first}"
    assert deployment["processes"][0]["pid"] in beta.pids()
    assert chat(deployment["url"]) >= 1

    measured = rig.run("bench", "users", "--concurrency", "1,2", "--osl", "8", "--isl", "16", "--json")
    assert measured.returncode == 0, measured.stderr
    levels = json.loads(measured.stdout)["levels"]
    assert [(level["users"], level["requests"]["errored"]) for level in levels] == [(1, 0), (2, 0)]

    down = rig.run("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert "freed" in down.stdout
    rig.assert_nothing_left(within_s=2)

    run = next(r for r in rig.runs() if "-up-" in r.name)
    checks = facts(run, "verified")[0]["checks"]
    assert [(c["host"], c["verdict"]) for c in checks] == [("beta", "as planned"), ("alpha", "as planned")]
    assert sum(c["layers_seen"] for c in checks) == 31
    for card in facts(run, "freed")[0]["checks"]:
        assert (card["before_bytes"], card["after_bytes"], card["verdict"]) == (0, 0, "freed")
        assert card["during_bytes"] > 100 << 20
    assert sorted(p.parent.name for p in (run / "logs").glob("*/*.log")) == ["alpha", "alpha", "beta"]
    report = rig.run("report", run.name)
    assert report.returncode == 0
    assert (run / "report.html").read_text().startswith("<!doctype html>")
