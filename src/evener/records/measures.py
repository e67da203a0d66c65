"""Figures of a suite beside its scores: of declining, of whole corpora, of questions answered several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["share", "index", "points", "edits per 100 words", "variance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A further figure of a suite. `value` is None where it is undefined, `interval` where nothing tells how it varies.

    A share is 0 to 1, an index at most 1, points are 0 to 100.
    """

    value: float | None
    interval: tuple[float, float] | None = None  # at 95 %, by clusters
    n: int | None = None  # questions that it is over; None in runs of an evener that did not keep it
    unit: Unit = "index"  # what the value counts
    how: str | None = None  # how it was computed: sacrebleu's signature
