"""Figures as the page writes them."""

from __future__ import annotations

from evener.records.plan import Value
from evener.report.words import figure


def spread(value: Value | None) -> str:
    return "?" if value is None else f"{figure(value.value)} ({figure(value.low)}–{figure(value.high)})"
