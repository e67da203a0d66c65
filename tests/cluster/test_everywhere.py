"""An engine and a model carried to a host that has neither, over real ssh."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.loopback.conftest import eventually

pytestmark = [pytest.mark.engine, pytest.mark.cluster]


@pytest.fixture
def bare(rig):
    """The same rig, its far host without an engine in the rig file and with an empty cache."""
    rig.path.write_text("".join(line for line in rig.path.open() if not line.startswith("engine = ")))
    cache = rig.bed["beta"].home / ".cache/evener"
    shutil.rmtree(cache, ignore_errors=True)
    yield rig
    shutil.rmtree(cache, ignore_errors=True)


def evener(rig, *arguments):
    done = rig.run(*arguments, "--rig", str(rig.path), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_bare_host_gets_the_engine_and_the_model_and_is_then_like_the_head(bare, engine, model):
    before = bare.run("engine", "check", "--rig", str(bare.path))
    assert before.returncode == 1
    assert "problem: beta: no llama.cpp engine for this machine (evener engine install --host beta" in before.stderr

    pushed = evener(bare, "engine", "push", "beta")
    assert Path(pushed["folder"]).parent == bare.bed["beta"].home / ".cache/evener/engines"
    assert pushed["check"]["ok"]
    assert evener(bare, "engine", "push", "beta")["already"]

    answer = evener(bare, "engine", "check")
    assert [(one["host"], one["fault"]) for one in answer["hosts"]] == [("alpha", None), ("beta", None)]
    assert answer["ok"]

    carried = evener(bare, "models", "push", "demo", "beta")
    (there,) = carried["paths"]
    assert carried["by"] == "rsync"
    assert Path(there).read_bytes() == model.read_bytes()
    listed = evener(bare, "models", "list", "--host", "beta")
    assert [(one["file"], one["bytes"], one["store"]) for one in listed] == [
        (model.name, model.stat().st_size, "evener")
    ]
    bare.assert_nothing_left(within_s=5)


def test_a_worker_that_somebody_left_running_is_named_with_pid_and_binary(rig, engine, tmp_path):
    beta = rig.bed["beta"]
    stale = tmp_path / "old" / "ggml-rpc-server"
    stale.parent.mkdir()
    shutil.copy(engine / stale.name, stale)
    into = ["ip", "netns", "exec", beta.namespace]
    left = subprocess.Popen([*into, str(stale), "-H", beta.address, "-p", str(rig.first)], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: beta.listeners() == [f"{beta.address}:{rig.first}"])
        answer = rig.run("engine", "check", "--rig", str(rig.path))
    finally:
        left.kill()
        left.wait()
    assert answer.returncode == 1, answer.stdout
    assert f"(pid {left.pid}, {stale}) is not of the engine in use, {engine}: stop it" in answer.stderr
