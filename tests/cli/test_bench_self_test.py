"""`evener bench self-test` as a user calls it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.api.self_test import this_machine
from evener.cli.main import app
from evener.edges import measured
from evener.records.client import ClientCheck


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClientCheck:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))
    check = ClientCheck(
        users=16, requests=64, added_ttft_ms=0.21, added_ttft_p95_ms=0.57, added_ttft_most_ms=0.7,
        itl_error_percent=0.01, cpu_share=0.03, lag_p95_ms=1.1, saturated=False, machine=this_machine(),
        taken_at=datetime(2026, 11, 2, 12, tzinfo=UTC),
    )  # fmt: skip
    measured.save_client(check)
    measured.save_client(replace(check, users=64, saturated=True, fault="with 64 streams this client is saturated"))
    return check


def test_what_is_kept_is_shown_with_its_age(kept: ClientCheck) -> None:
    ended = CliRunner().invoke(app, ["bench", "self-test", "-c", "16"])
    assert ended.exit_code == 0
    assert "16 64" in ended.output
    assert "0.21 0.57 0.70" in ended.output
    assert "measured 2026-11-02 12:00 UTC" in ended.output


def test_json_has_a_check_per_user_count(kept: ClientCheck) -> None:
    ended = CliRunner().invoke(app, ["bench", "self-test", "-c", "16", "--json"])
    (check,) = json.loads(ended.output)["checks"]
    assert (check["users"], check["added_ttft_ms"], check["fault"]) == (16, 0.21, None)


def test_a_client_that_must_not_be_used_is_shown_and_exits_with_4(kept: ClientCheck) -> None:
    ended = CliRunner().invoke(app, ["bench", "self-test", "-c", "16,64"])
    assert "must not be used: with 64 streams" in ended.output
    assert getattr(ended.exception, "exit_code", ended.exit_code) == 4


def test_a_wrong_count_measures_nothing() -> None:
    ended = CliRunner().invoke(app, ["bench", "self-test", "-c", "many"])
    assert getattr(ended.exception, "exit_code", ended.exit_code) == 2
