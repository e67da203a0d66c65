"""One thing measured several times, in three numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from evener.records.link import Measured


def measured(values: Sequence[float]) -> Measured:
    """Of at least one value."""
    return Measured(n=len(values), p50=median(values), low=min(values), high=max(values))
