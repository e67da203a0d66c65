"""Runs of every schema that evener has ever written: they open, are listed, reported, and gone on with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest

from evener.api import runs, store
from evener.edges.run_folder import RunFolder, open_run, read_answers, with_token_times
from evener.records.run import SCHEMA

CAPTURES = Path(__file__).parents[1] / "captures" / "runs"
FOLDERS = sorted(CAPTURES.glob("v*/*"))
# The headline; requests, answers, and tokens that have a time.
KEPT = {
    "v1/20261101T123000Z-demo-7f3a": (
        "alpha alone: 61.0 tok/s for one user; alpha + beta: 34.0 tok/s: the second host cost 44 %",
        (5, 0, 0),
    ),
    "v1/20261101T140000Z-users-90a1": (
        "Not known to be comfortable for anybody (90% of requests with TTFT within 2000 ms); "
        "1 were measured only in part",
        (10, 0, 240),
    ),
    "v1/20261101T141000Z-speed-7076": (
        "The result is invalid (this client was saturated: its loop woke up 22.26 ms late (p95))",
        (6, 0, 30),
    ),
    "v1/20261101T142000Z-pair-dc6d": (
        "http://localhost:26877 (B) and http://127.0.0.1:26877 (A) cannot be separated for one user",
        (23, 0, 132),
    ),
    "v1/20261101T143000Z-context-5e53": (
        "Under the allocation of this server (4 slots) what the server gives to one sequence binds, at 2048 tokens: "
        "trained 8192, memory unknown, no ceiling by quality",
        (9, 0, 135),
    ),
    "v1/20261201T033716Z-eval-031f": ("restraint 33.3, translation 4.7 of 100 points", (0, 10, 0)),
    "v2/20261201T033743Z-users-68b0": (
        "41.7 tok/s for one user; 2 users together 19.1 tok/s, each 13.4",
        (12, 0, 116),
    ),
    "v2/20261201T033801Z-pair-e03e": (
        "http://127.0.0.1:23871 (B) and http://127.0.0.1:23871 (A) cannot be separated for one user",
        (24, 0, 126),
    ),
    "v2/20261201T033822Z-eval-8876": ("restraint 33.3, translation 4.7 of 100 points", (0, 10, 0)),
}


def version(folder: Path) -> int:
    return int(folder.parent.name.removeprefix("v"))


def test_every_schema_has_runs_that_are_kept() -> None:
    """Raise SCHEMA, and a small real run of the new one belongs into tests/captures/runs/v<SCHEMA>."""
    assert {version(folder) for folder in FOLDERS} == set(range(1, SCHEMA + 1))
    assert all(open_run(folder).run.schema == version(folder) for folder in FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_run_of_every_schema_opens_and_reports_in_every_form(folder: Path) -> None:
    data = open_run(folder)
    told = runs.tell(data)
    tokens = sum(len(one.token_times) for one in with_token_times(data).requests)
    counted = (len(data.requests), len(read_answers(folder)), tokens)
    assert (told.headline, counted) == KEPT[f"{folder.parent.name}/{folder.name}"]
    assert (told.timeline is not None) == (data.run.what in ("users", "speed", "context"))
    for form in get_args(runs.Form):
        assert runs.written(data, told, form)
    assert runs.written(data, told, "html").startswith("<!doctype html>")


def test_runs_of_every_schema_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for schema in range(1, SCHEMA + 1):
        monkeypatch.setenv("EVENER_RUNS", str(CAPTURES / f"v{schema}"))
        rows = store.listed()
        assert [row.id for row in rows] == [folder.name for folder in reversed(FOLDERS) if version(folder) == schema]
        assert not any(row.fault for row in rows)
        assert all("SmolLM2" in (row.model or "") for row in rows)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_run_of_every_schema_can_be_gone_on_with_and_becomes_one_of_ours(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / folder.name)
    before = with_token_times(open_run(copy))
    again = RunFolder.reopen(open_run(copy))
    after = with_token_times(open_run(copy))
    assert (after.run.schema, after.summary) == (SCHEMA, None)
    assert (after.facts, after.requests) == (before.facts, before.requests)
    if before.requests:
        again.requests(before.requests[-1:])
        assert with_token_times(open_run(copy)).requests == (*before.requests, before.requests[-1])
