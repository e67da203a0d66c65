"""The door with a real engine: who enters, what is counted, orders, a death, and an end that leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.loopback.conftest import Rig, eventually, is_running, listens

pytestmark = pytest.mark.engine

SERVE = ("serve", "demo", "--layout", "alpha", "--users", "2", "--context", "512")
WITHIN_S = 120.0
SAYS = [{"role": "user", "content": "What is two and two?"}]


def now(rig: Rig) -> dict[str, Any]:
    """The one deployment behind the door; nothing while there is no door."""
    door = json.loads(rig.run("status", "--json").stdout)["door"]
    return door["behind"][0] if door else {}


@contextmanager
def open_door(rig: Rig, *more: str) -> Iterator[subprocess.Popen[str]]:
    process = rig.start(*SERVE, "--rig", str(rig.path), *more)
    eventually(lambda: now(rig).get("state") == "ready" or process.poll() is not None, within_s=WITHIN_S)
    assert process.poll() is None, process.communicate()
    yield process


def heads(process: subprocess.Popen[str]) -> list[int]:
    """Engines that this door serves with: through their leash they are its grandchildren. A look asks them, too."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    below = {process.pid}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return [pid for pid in below if is_head(words(pid)) and is_running(pid)]


def is_head(argv: list[str]) -> bool:
    return bool(argv) and argv[0].endswith("llama-server") and "--port" in argv


def words(pid: int) -> list[str]:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def ask(rig: Rig, path: str, key: str | None, body: dict[str, Any]) -> tuple[int, str]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    url = f"http://127.0.0.1:{rig.serve}{path}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def chat(rig: Rig, key: str | None, **more: Any) -> tuple[int, str]:
    return ask(rig, "/v1/chat/completions", key, {"messages": SAYS, "max_tokens": 8} | more)


def add(rig: Rig, name: str) -> str:
    return json.loads(rig.run("people", "add", name, "--json").stdout)["key"]


def used(rig: Rig) -> dict[str, Any]:
    rows = json.loads(rig.run("people", "usage", "--json").stdout)["usage"]
    return next((row for row in rows if row["person"] == "ann"), {})


def holds(folder: Path, secret: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.timeout(900)
def test_a_day_at_the_door(rig: Rig) -> None:
    ann, bob = add(rig, "ann"), add(rig, "bob")
    with open_door(rig) as process:
        # who enters, in every way that clients ask
        assert chat(rig, None)[0] == chat(rig, "ev-wrong")[0] == 401
        assert chat(rig, ann)[0] == 200
        _, stream = chat(rig, ann, stream=True)
        assert stream.endswith("data: [DONE]\n\n")
        assert ask(rig, "/v1/messages", ann, {"messages": SAYS, "max_tokens": 8, "stream": True})[0] == 200
        assert ask(rig, "/v1/responses", ann, {"input": "Hello", "max_output_tokens": 8, "stream": True})[0] == 200
        assert ask(rig, "/tokenize", ann, {"content": "hello"})[0] == 200
        status, said = ask(rig, "/v1/embeddings", ann, {"input": "hello"})
        assert status >= 400
        assert "message" in said, "the engine says itself that this model has none"
        eventually(lambda: used(rig).get("requests") == 6, within_s=40)
        assert used(rig)["uncounted"] == 0
        assert 4 <= used(rig)["output_tokens"] <= 32
        assert used(rig)["prompt_tokens"] > 4 * 5

        # keys are nowhere
        for secret in (ann, bob, heads_key(process)):
            assert holds(rig.state, secret) == []
            assert not any(secret in word for pid in Path("/proc").glob("[0-9]*") for word in words(int(pid.name)))

        # away for somebody else, who may have the machine, and back
        assert rig.run("pause", "alpha").returncode == 0
        assert now(rig)["state"] == "paused"
        assert heads(process) == []
        assert [name for name in rig.locks_held() if name.startswith("machine-")] == []
        status, said = chat(rig, ann)
        assert (status, "is paused" in said) == (503, True)
        refused = rig.run("switch")
        assert (refused.returncode, "is paused" in refused.stderr) == (3, True)
        assert rig.run("continue").returncode == 0
        assert chat(rig, ann)[0] == 200

        # anew, as often as anybody likes
        for more in ((), ("--model", "demo"), ()):
            assert rig.run("switch", *more).returncode == 0
        before = heads(process)
        refused = rig.run("switch", "--model", "no-such-model")
        assert refused.returncode == 3
        assert heads(process) == before, "nothing is drained for a model that is none"
        assert now(rig)["restarts"] == 0

        # a death
        os.kill(before[0], signal.SIGKILL)
        assert chat(rig, ann)[0] == 200, "it waits for the next life"
        assert now(rig)["restarts"] == 1
        (bundle,) = (rig.runs()[-1] / "deaths").iterdir()
        assert (bundle / "death.json").exists()
        assert holds(bundle, heads_key(process)) == []

        assert rig.run("people", "revoke", "ann").returncode == 0
        assert (chat(rig, ann)[0], chat(rig, bob)[0]) == (401, 200)

        assert rig.run("down").returncode == 0
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "died: the head on alpha" in out
        assert "Traceback" not in out + err
    assert heads(process) == []
    assert rig.locks_held() == []
    assert not listens("127.0.0.1", rig.serve)


def heads_key(process: subprocess.Popen[str]) -> str:
    (head,) = heads(process)
    environment = (Path("/proc") / str(head) / "environ").read_bytes().decode().split("\0")
    return next(word.partition("=")[2] for word in environment if word.startswith("LLAMA_API_KEY="))


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(rig: Rig) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", rig.serve))
        taken.listen()
        process = rig.start(*SERVE, "--rig", str(rig.path))
        started: list[int] = []
        eventually(lambda: started.extend(heads(process)) or process.poll() is not None, within_s=WITHIN_S)
    _, err = process.communicate()
    assert (process.returncode, started) == (3, [])
    assert "somebody listens there already" in err
    assert rig.locks_held() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_while_it_loads_leaves_nothing(rig: Rig, number: signal.Signals) -> None:
    process = rig.start(*SERVE, "--rig", str(rig.path))
    eventually(lambda: heads(process) or process.poll() is not None, within_s=WITHIN_S)
    assert process.poll() is None, process.communicate()
    head = heads(process)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert not any(is_running(pid) for pid in head)
    assert rig.locks_held() == []


def test_the_network_needs_a_key_before_anything_else(rig: Rig) -> None:
    done = rig.run(*SERVE, "--rig", str(rig.path), "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "evener people add" in done.stderr
