"""Counts and spreads for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.report.words import figure

if TYPE_CHECKING:
    from evener.records.plan import Value


def count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def spread(value: Value | None) -> str:
    """A figure with its interval on the line below; "-" for unknown."""
    return "-" if value is None else f"{figure(value.value)}\n[dim]{figure(value.low)}-{figure(value.high)}[/]"
