"""What a list needs of `run.json` and `summary.json`: a tenth of them, and read in a fraction of the time.

Keys are those of the whole records, and so is their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evener.records.plan import ModelSummary
from evener.records.run import SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Any result: what the server called its model."""

    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHead:
    """Of `Plan`."""

    model: ModelSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """Of `Run`."""

    id: str
    what: str
    started_at: datetime
    plan: PlanHead | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class StageHead:
    """Of `Stage`."""

    layout: str
    users: Served | None = None
    speed: Served | None = None
    context: Served | None = None
    evaluation: Served | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairHead:
    """Of `PairResult`."""

    a: Served
    b: Served


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryHead:
    """Of `Summary`."""

    stages: tuple[StageHead, ...] = ()
    partial: str | None = None
    pair: PairHead | None = None
    schema: int = SCHEMA
