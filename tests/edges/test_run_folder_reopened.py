"""A run that goes on: in its own folder, behind what was written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from evener.edges.run_folder import RunFolder, open_run
from evener.records.conditions import Conditions
from evener.records.load import Request
from evener.records.run import Run, Summary

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def request(number: int) -> Request:
    return Request(id=number, users=1, user=0, sent_s=0.5)


def begun(tmp_path: Path) -> RunFolder:
    run = Run(id="20261201T120000Z-users-00a1", what="users", started_at=NOON, conditions=Conditions())
    folder = RunFolder.create(tmp_path, run)
    folder.fact("load", {})
    folder.requests([request(1)])
    folder.finish(Summary(ended_at=NOON, partial="interrupted"))
    return folder


def test_facts_go_on_counting_and_requests_are_appended(tmp_path: Path) -> None:
    path = begun(tmp_path).path
    again = RunFolder.reopen(open_run(path))
    again.fact("resumed", {})
    again.requests([request(2)])
    data = open_run(path)
    assert [(fact.sequence, fact.kind) for fact in data.facts] == [(1, "load"), (2, "resumed")]
    assert [one.id for one in data.requests] == [1, 2]


def test_it_counts_as_unfinished_until_it_has_ended_again(tmp_path: Path) -> None:
    path = begun(tmp_path).path
    again = RunFolder.reopen(open_run(path))
    assert open_run(path).summary is None
    again.finish(Summary(ended_at=NOON))
    summary = open_run(path).summary
    assert summary is not None
    assert summary.partial is None


def test_half_a_line_of_a_crash_is_cut_off_before_more_is_written(tmp_path: Path) -> None:
    path = begun(tmp_path).path
    for name in ("events.jsonl", "requests.jsonl"):
        with (path / name).open("a") as file:
            file.write('{"half": ')
    again = RunFolder.reopen(open_run(path))
    again.fact("resumed", {})
    again.requests([request(2)])
    data = open_run(path)
    assert [fact.sequence for fact in data.facts] == [1, 2]
    assert [one.id for one in data.requests] == [1, 2]
