"""`evener doctor` as a user calls it, on this machine and on what it would say of others."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.cli.doctor import lines, summary
from evener.records.finding import Examined, Finding
from tests.cli.test_scan import evener

STOPS = Finding(check="ports", level="stops", where="beta", what="no port is free", why="they leak", remedy="stop them")
FINE = Finding(check="disk", level="fine", where="beta", what="500 GiB of disk free")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no engine in sight."""
    monkeypatch.chdir(tmp_path)
    for name in ("EVENER_STATE", "EVENER_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("EVENER_RIG", "EVENER_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_finding_is_a_line_then_why_then_what_to_do() -> None:
    assert [line.plain for line in lines(STOPS)] == [
        "✗ stops  beta: no port is free",
        "           they leak",
        "         → stop them",
    ]
    assert [line.plain for line in lines(FINE)] == ["✓ fine   beta: 500 GiB of disk free"]


def test_the_last_line_is_the_verdict() -> None:
    def examined(*findings: Finding, ok: bool) -> Examined:
        return Examined(taken_at=datetime(2026, 1, 2, tzinfo=UTC), took_s=1.25, model=None, findings=findings, ok=ok)

    assert summary(examined(STOPS, FINE, ok=False)) == "stops a load: 1; costs: 0, notes: 0, fine: 1 (1.2 s)"
    assert summary(examined(FINE, ok=True)) == "nothing stops a load; costs: 0, notes: 0, fine: 1 (1.2 s)"


def test_a_machine_without_an_engine_is_told_how_to_get_one(here: Path) -> None:
    done = evener("doctor", "--quiet")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0].endswith(": no llama.cpp engine")
    assert done.stdout.splitlines()[1] == "         → evener engine install"
    assert "✓" not in done.stdout


def test_json_is_one_document_without_progress(here: Path) -> None:
    done = evener("doctor", "--json")
    examined = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (1, "")
    assert examined["ok"] is False
    assert [f["check"] for f in examined["findings"] if f["level"] == "stops"] == ["engine"]


def test_variables_of_this_terminal_are_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "512")
    assert "set there: LLAMA_ARG_CTX_SIZE" in evener("doctor").stdout


def test_a_model_that_nobody_knows_is_an_error_before_the_rig_is_looked_at(here: Path) -> None:
    done = evener("doctor", "no-such-model.gguf")
    assert done.returncode == 3
    assert "no such model" in done.stderr


def test_case_12_a_rig_file_that_names_the_head_as_an_endpoint_is_refused(here: Path) -> None:
    (here / "rig.toml").write_text(
        '[[hosts]]\nname = "alpha"\nconnection = "local"\n'
        '[[hosts]]\nname = "other"\nconnection = "endpoint"\nendpoints = ["127.0.0.1:50052"]\n'
    )
    done = evener("doctor")
    assert done.returncode == 2
    assert "is the head itself" in done.stderr
