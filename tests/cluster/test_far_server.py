"""A model that one far machine holds alone: llama-server runs there, on its address, with its own copy."""

import json
import urllib.error

import pytest

from tests.cluster.conftest import chat
from tests.loopback.test_story import facts

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
KEY = "sesame-314159"


@pytest.fixture
def copies(rig):
    """The far host's models folder; empty again afterwards."""
    folder = rig.bed["beta"].home / ".cache/evener/models"
    yield folder
    for path in folder.glob("*"):
        path.unlink()


def planned(rig, *more):
    done = rig.run("plan", "demo", "--rig", str(rig.path), "--json", *more)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_a_host_without_a_copy_is_no_choice_and_says_what_brings_one(rig, model, copies):
    candidates = {c["name"]: c for c in planned(rig)["candidates"]}
    assert candidates["beta"]["fits"] is False
    assert candidates["beta"]["why_not"] == (
        f"beta has no copy of the model; evener models push {model} beta brings it there"
    )
    assert candidates["cluster"]["fits"] is True, "workers need no copy"
    done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "beta")
    assert done.returncode == 1
    assert "beta has no copy of the model" in " ".join(done.stderr.split())
    assert "smaller quantisation" not in done.stderr
    rig.assert_nothing_left(within_s=2)


def test_a_pushed_model_is_served_there_with_a_key(rig, model, copies):
    pushed = rig.run("models", "push", str(model), "beta", "--rig", str(rig.path))
    assert pushed.returncode == 0, pushed.stderr
    assert (copies / model.name).stat().st_size == model.stat().st_size

    up = ["up", "demo", "--rig", str(rig.path), "--layout", "beta", "-d"]
    beta = rig.bed["beta"]
    refused = rig.run(*up)
    assert refused.returncode == 2
    assert f"{beta.address}: the model would be open to the network without a key" in refused.stderr

    rig.path.write_text(rig.path.read_text().replace("[serve]", '[serve]\napi_key_env = "EVENER_TEST_KEY"'))
    rig.environment["EVENER_TEST_KEY"] = KEY
    done = rig.run(*up)
    assert done.returncode == 0, done.stderr
    deployment = rig.deployment()
    assert deployment["url"] == f"http://{beta.address}:{rig.serve}"
    assert [(p["role"], p["host"]) for p in deployment["processes"]] == [("head", "beta")]
    assert str(copies / model.name) in deployment["processes"][0]["argv"]
    assert chat(deployment["url"], key=KEY) >= 1
    with pytest.raises(urllib.error.HTTPError, match="401"):
        chat(deployment["url"])
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)
    assert [c["verdict"] for c in facts(rig.the_run(), "verified")[0]["checks"]] == ["as planned"]
    for path in rig.state.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_cluster_is_served_from_the_far_machine_too(rig, model, copies):
    beta = rig.bed["beta"]
    candidates = {c["name"]: c for c in planned(rig)["candidates"]}
    assert candidates["cluster-on-beta"]["why_not"].startswith("beta has no copy of the model; ")
    assert rig.run("models", "push", str(model), "beta", "--rig", str(rig.path)).returncode == 0
    up = ["up", "demo", "--rig", str(rig.path), "--layout", "cluster-on-beta", "--no-baseline", "-d"]
    refused = rig.run(*up)
    assert refused.returncode == 2
    assert f"{beta.address}: the model would be open to the network without a key" in refused.stderr

    rig.path.write_text(rig.path.read_text().replace("[serve]", '[serve]\napi_key_env = "EVENER_TEST_KEY"'))
    rig.environment["EVENER_TEST_KEY"] = KEY
    done = rig.run(*up)
    assert done.returncode == 0, done.stderr
    deployment = rig.deployment()
    assert deployment["url"] == f"http://{beta.address}:{rig.serve}"
    # The CPU of a head cannot be named to the engine, so there a worker serves it.
    assert [(p["role"], p["host"]) for p in deployment["processes"]] == [
        ("worker", "alpha"), ("worker", "beta"), ("head", "beta"),
    ]  # fmt: skip
    assert chat(deployment["url"], key=KEY) >= 1
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left(within_s=2)
    (verified,) = facts(rig.the_run(), "verified")
    assert [c["verdict"] for c in verified["checks"]] == ["as planned", "as planned"]
    assert {c["host"] for c in verified["checks"]} == {"alpha", "beta"}
    (freed,) = facts(rig.the_run(), "freed")
    assert [c["verdict"] for c in freed["checks"]] == ["freed", "freed"]
