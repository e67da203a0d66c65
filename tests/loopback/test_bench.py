"""`evener bench` against deployments: a pool of context too small for two, and a server against itself."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.engine]


def test_a_pool_that_runs_full_is_its_own_class_and_the_user_count_is_named(rig):
    done = rig.run(
        "up", "demo", "--rig", str(rig.path), "--layout", "alpha", "--unified", "--context", "256", "-d",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    asked = ("bench", "users", "-c", "1,2", "--isl", "100", "--osl", "60", "--num-prompts", "2", "--no-self-test")
    measured = rig.run(*asked, "--json")
    assert measured.returncode == 0 or "this client was saturated" in measured.stderr, measured.stderr
    told = json.loads(measured.stdout)
    one, two = told["levels"]
    assert one["requests"]["by_class"] == {}
    assert set(two["requests"]["by_class"]) == {"kv_exhausted"}
    assert told["kv_exhausted_from"] == 2
    shown = rig.run("report", "last", "--no-html").stdout
    assert "kv exhausted" in " ".join(shown.split()).replace("_", " ")
    assert rig.run("down").returncode == 0


def test_a_deployment_does_not_differ_from_itself(rig):
    up = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "alpha", "-d")
    assert up.returncode == 0, up.stderr
    name = rig.deployment()["name"]
    tiny = ("--isl", "32", "--osl", "8", "--num-prompts", "2", "--margin", "30", "--pairs", "6")
    done = rig.run("bench", "pair", name, name, *tiny, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["outcome"] in ("cannot be separated", "no difference that matters"), told["basis"]
    assert told["differing"] == []
    assert rig.run("down").returncode == 0
