from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evener.cli.main import app
from evener.errors import ConfigurationError, NameUnknown
from tests.engine.test_release import tar_archive
from tests.engine.toys import script, toy_engine


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("EVENER_RIG", raising=False)
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


RIG = """
[[hosts]]
name = "alpha"
connection = "local"

[[hosts]]
name = "beta"
connection = "local"
address = "127.0.0.2"
engine = "{engine}"
ports = "{port}"
"""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hosts on this machine: one takes the engine that we name, the other names its own."""
    monkeypatch.setenv("EVENER_ENGINE", str(toy_engine(tmp_path / "mine")))
    path = tmp_path / "rig.toml"
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    path.write_text(RIG.format(engine=toy_engine(tmp_path / "theirs"), port=port))
    return path


def test_check_compares_all_hosts_of_the_rig(rig: Path, tmp_path: Path) -> None:
    done = evener("check", "--rig", str(rig))
    assert (done.exit_code, done.stderr) == (0, "")
    alpha, beta = done.stdout.splitlines()
    assert alpha.startswith("alpha  llama.cpp b11434 (b0a2feb), RPC 7.0.0, CPU, one token in ")
    assert beta.endswith(str(tmp_path / "theirs"))


def test_check_of_a_rig_as_json_has_its_documented_keys(rig: Path) -> None:
    answer = json.loads(evener("check", "--rig", str(rig), "--json").stdout)
    assert set(answer) == {"hosts", "workers", "problems", "notes", "ok"}
    assert set(answer["hosts"][0]) == {"host", "folder", "backend", "source_sha256", "check", "fault"}
    assert (answer["ok"], [one["host"] for one in answer["hosts"]]) == (True, ["alpha", "beta"])


def test_check_of_hosts_that_differ_exits_one(rig: Path, tmp_path: Path) -> None:
    script(tmp_path / "theirs/ggml-rpc-server", "echo 'Starting RPC server v6.1.0'")
    done = evener("check", "--rig", str(rig))
    assert done.exit_code == 1
    assert "beta: its worker speaks RPC 6.1.0, the head 7.0.0: evener engine push beta" in done.stderr
    (tmp_path / "theirs/llama-server").unlink()
    done = evener("check", "--rig", str(rig))
    assert done.exit_code == 1
    assert "problem: beta: " in done.stderr
    assert "no llama-server in it" in done.stderr


def test_a_release_archive_is_installed_from_a_file(tmp_path: Path) -> None:
    folder = toy_engine(tmp_path / "product")
    files = {f"llama-b11434/{file.name}": file.read_bytes() for file in folder.iterdir()}
    archive = tar_archive(tmp_path / "llama-b11434-bin-ubuntu-x64.tar.gz", files)
    done = evener("install", "--from", str(archive))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("llama.cpp b11434 (b0a2feb), cpu: there after ")
    assert "nobody has vouched for this: llama-b11434-bin-ubuntu-x64.tar.gz has sha256 " in done.stderr
    listed = json.loads(evener("list", "--json").stdout)
    assert [(one["used"], one["why"]) for one in listed] == [(True, "official release for cpu")]


def test_an_official_release_needs_a_backend() -> None:
    with pytest.raises(ConfigurationError, match="--from official needs to know for what"):
        CliRunner().invoke(app, ["engine", "install", "--from", "official"], catch_exceptions=False)


def test_a_host_that_is_not_in_the_rig_is_refused(rig: Path) -> None:
    for arguments in (["push", "gamma"], ["install", "--host", "gamma"]):
        with pytest.raises(NameUnknown, match="gamma: no such host"):
            CliRunner().invoke(app, ["engine", *arguments, "--rig", str(rig)], catch_exceptions=False)
