"""Which requests of a run stand when it goes on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.api.bench_resume import folder_of, standing
from evener.edges.run_folder import RunData
from evener.records.conditions import Conditions
from evener.records.load import FailureClass, Request
from evener.records.run import Run, Summary

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RUN = Run(id="20261201T120000Z-users-00a1", what="users", started_at=NOON, conditions=Conditions())


def request(users: int, failure: FailureClass | None = None) -> Request:
    return Request(id=0, users=users, user=0, sent_s=0.0, failure=failure)


def data(*requests: Request, partial: str | None) -> RunData:
    summary = Summary(ended_at=NOON, partial=partial)
    return RunData(path=Path("run"), run=RUN, facts=(), requests=requests, summary=summary)


def test_a_level_in_which_the_server_died_counts_for_nothing() -> None:
    run = data(request(1), request(2), request(2, "connection_cut"), partial="the server went away")
    assert [(r.users, r.warm_up) for r in standing(run)] == [(1, False), (2, True), (2, True)]


def test_a_level_that_was_only_cut_short_is_left_to_its_count() -> None:
    run = data(request(1), request(2), partial="interrupted")
    assert standing(run) == run.requests


def test_failures_of_a_run_that_came_to_its_end_are_its_answer() -> None:
    run = data(request(1), request(2, "kv_exhausted"), partial=None)
    assert standing(run) == run.requests


def test_the_last_run_is_the_last_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    for name in ("20261201T120000Z-users-00a1", "20261201T120500Z-up-00b2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    assert folder_of("last").name == "20261201T120000Z-users-00a1"
    assert folder_of("00b2").name == "20261201T120500Z-up-00b2"
