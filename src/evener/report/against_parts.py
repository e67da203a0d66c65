"""The parts of two runs held against each other, as data: the JSON of `evener report A B --json`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evener.report.parts import Caution, RunState

# "unknown": no interval on one side, or too few repetitions. "not comparable": the runs asked different questions.
FigureOutcome = Literal["B is better", "B is worse", "cannot be separated", "unknown", "not comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """One of the two runs."""

    id: str
    what: str
    title: str  # its model and what was done
    state: RunState
    started_at: datetime
    headline: str  # of its own report


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A condition that is known of both and not the same, in words."""

    name: str
    a: str  # in run A
    b: str  # in run B


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFigure:
    """A figure of one run. `interval` is what `basis` says: its 95 % interval, or the range of its repetitions."""

    value: float | None
    interval: tuple[float, float] | None
    n: int | None
    basis: Literal["95 %", "range", "single"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure in both runs. `about` says of what: a user count, a test, a length. `change` is B / A - 1."""

    name: str
    about: str
    unit: str
    a: SideFigure  # in run A
    b: SideFigure  # in run B
    change: float | None
    outcome: FigureOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """Run B held against run A. `comparable` False: no outcome is drawn, and `cautions` say why.

    `differing` are conditions known to differ, `unknown` those that nobody knows of one of the two.
    """

    a: RunSide  # what is held against
    b: RunSide  # what is held against it
    comparable: bool
    sentence: str  # how many figures speak for which
    cautions: tuple[Caution, ...]
    differing: tuple[Differing, ...]
    unknown: tuple[str, ...]
    figures: tuple[Figure, ...]  # that both runs have
