"""Ages and counts for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evener.records.plan import Value


def age(seconds: float) -> str:
    """ "40 s", "12 min", "3 h", "5 d": one unit is enough to tell yesterday's test from a neighbour at work."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def figure(value: float) -> str:
    """One digit behind the point where it means something."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def spread(value: Value | None) -> str:
    """A figure with its interval on the line below; "-" for unknown."""
    return "-" if value is None else f"{figure(value.value)}\n[dim]{figure(value.low)}-{figure(value.high)}[/]"
