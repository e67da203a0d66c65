"""What hosts did, a line each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.report.bench_samples import TELEMETRY

from evener.records.conditions import Conditions
from evener.records.run import Run, Stage
from evener.report.rows import layouts
from evener.report.watched import watched_lines


def test_who_was_lost_and_who_joined_is_in_the_report() -> None:
    said = "beta was not seen from 12 s to 18 s: silent for 5 s"
    run = Run(id="r", what="users", started_at=datetime(2026, 1, 2, tzinfo=UTC), conditions=Conditions())
    (layout,) = layouts(run, [Stage(layout="alpha", telemetry=replace(TELEMETRY, notes=(said,)))])
    assert list(watched_lines(layout))[-1] == said
