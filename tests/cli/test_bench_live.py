"""What is seen while users are measured: a growing table on a terminal, lines in a log."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from evener.cli import bench_live
from evener.cli.bench_live import UsersLive
from evener.records.events import Progress
from evener.records.load import Request
from tests.bench.test_pair import seen


def request(failure: str | None = None) -> Request:
    return Request(id=1, users=2, user=0, sent_s=0.0, tokens=40, failure=failure)  # type: ignore[arg-type]


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, quiet: bool = False) -> str:
    to = io.StringIO()
    monkeypatch.setattr(bench_live, "err", Console(file=to, force_terminal=terminal, width=100, highlight=False))
    with UsersLive(quiet=quiet) as live:
        live.report(Progress(what="2 users", done=3, of=6))
        live.request(request())
        live.request(request("kv_exhausted"))
        live.level(seen(61.0, users=1, total=58.0))
        if terminal and not quiet:
            assert live._live is not None
            live._live.refresh()
    return to.getvalue()


def test_on_a_terminal_the_table_grows_above_what_goes_on_now(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, terminal=True)
    assert "61.0" in said
    assert "2 users: 3 of 6, for 0 s" in said
    assert "1 failed" in said
    assert "tok/s" in said


def test_in_a_log_there_is_a_line_per_level_and_no_control_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False).splitlines() == [
        "2 users: 3 of 6",
        "1 user: 58.0 tok/s together, 61.0 each, TTFT 200 ms, 0 failed",
    ]


def test_where_users_are_people_they_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    to = io.StringIO()
    monkeypatch.setattr(bench_live, "err", Console(file=to, width=100, highlight=False))
    result = seen(61.0, users=2, total=58.0)
    (level,) = result.levels
    with UsersLive(quiet=False) as live:
        live.level(replace(result, levels=(replace(level, people=2),)))
    assert to.getvalue().startswith("2 people: 58.0 tok/s together")


def test_beside_json_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=True, quiet=True) == ""
