"""Figures as the page writes them."""

from __future__ import annotations

from evener.records.plan import Value

GIB = 1 << 30
MIB = 1 << 20


def gib(count: int | None) -> str:
    """ "7.4 GiB", "128 MiB", "?" for what nobody knows."""
    if count is None:
        return "?"
    return f"{count / MIB:.0f} MiB" if abs(count) < GIB else f"{count / GIB:.1f} GiB"


def figure(value: float) -> str:
    """One digit behind the point where it means something."""
    return f"{value:.1f}" if abs(value) < 10 else f"{value:.0f}"


def spread(value: Value | None) -> str:
    return "?" if value is None else f"{figure(value.value)} ({figure(value.low)}–{figure(value.high)})"


def age(seconds: float) -> str:
    """One unit is enough to tell yesterday's test from a neighbour at work."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
