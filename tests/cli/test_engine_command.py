from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evener.cli.main import app
from tests.engine.toys import script, toy_engine


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EVENER_ENGINE", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def evener(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["engine", *arguments])


def test_list_without_an_engine_says_what_to_do() -> None:
    done = evener("list")
    assert (done.exit_code, done.stdout) == (0, "no engine to use: evener engine install\n")


def test_list_shows_the_one_in_use_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = toy_engine(tmp_path / "mine")
    monkeypatch.setenv("EVENER_ENGINE", str(folder))
    done = evener("list")
    first, second = done.stdout.splitlines()
    assert first == f"used  {folder}"
    assert second.startswith("      llama.cpp b11434 (b0a2feb), RPC 7.0.0, ")
    assert second.endswith("EVENER_ENGINE: named by EVENER_ENGINE")


def test_list_json_has_its_documented_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_ENGINE", str(toy_engine(tmp_path / "mine")))
    (one,) = json.loads(evener("list", "--json").stdout)
    assert set(one) == {"folder", "source", "used", "why", "bytes", "built", "capability"}
    assert set(one["capability"]) == {
        "folder", "build", "commit", "compiler", "protocol", "flags", "fit_flags", "worker_flags", "lacks",
    }  # fmt: skip


def test_a_wish_that_cannot_be_met_is_said_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_ENGINE", "/no/such/folder")
    done = evener("list")
    assert "no llama-server in it" in done.stdout
    assert done.stdout.endswith("no engine to use: a folder that you name is never replaced by another\n")


def test_check_of_a_good_engine_exits_zero(tmp_path: Path) -> None:
    done = evener("check", str(toy_engine(tmp_path / "mine")))
    assert done.exit_code == 0
    assert done.stdout.startswith("llama.cpp b11434 (b0a2feb), RPC 7.0.0, CPU, ")


def test_check_of_an_engine_that_lacks_something_exits_one(tmp_path: Path) -> None:
    folder = toy_engine(tmp_path / "mine")
    script(folder / "llama-fit-params", "echo '--rpc S'")
    done = evener("check", str(folder), "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert set(answer) == {"folder", "capability", "backends", "token_ms", "devices", "unseen", "problems", "ok"}
    assert (answer["ok"], answer["problems"][0]) == (False, "lacks llama-fit-params --device")


def test_check_without_an_engine_is_one_line_and_a_hint() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evener", "engine", "check"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "error: no llama.cpp engine for this machine",
        "hint: evener engine install (a CPU build takes 3 to 11 minutes on 2 cores and 1 GB of disk while it builds)",
    ]
