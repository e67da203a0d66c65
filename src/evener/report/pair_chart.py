"""Pairs of measurements as dots: how B differs from A in each, and the interval of all together. Drawn by `drawing`."""

from __future__ import annotations

from typing import Any

from evener.records.pair import Difference
from evener.report.drawing import FAINT, INK, PAPER, colour_of, dress, svg
from evener.report.words import percent, signed_percent


def changes(found: Difference) -> tuple[float, ...]:
    """B / A - 1 of each pair, in the order measured."""
    return tuple(b / a - 1 for a, b in found.pairs if a > 0)


def dot_plot(found: Difference, *, margin: float, name: str) -> str:
    """An inline `<svg>`; "" without a pair. The band is what does not matter, the bar the interval of the change."""
    dots = changes(found)
    if not dots:
        return ""

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.axvspan(-margin * 100, margin * 100, color=FAINT, alpha=0.45, linewidth=0, zorder=0)
        axes.axvline(0, color=INK, linewidth=1)
        for place, dot in enumerate(dots, start=1):
            axes.plot([dot * 100], [place], color=colour_of(0), marker="o", markersize=5.5, linestyle="")
        if found.change is not None:
            _together(axes, found, len(dots))
        _dress(axes, dots, found, margin)

    told = f"B against A in {len(dots)} pairs: {', '.join(signed_percent(dot) for dot in dots)}"
    if found.interval:
        told += (
            f"; together {signed_percent(found.change or 0)}, 95 % {' to '.join(map(signed_percent, found.interval))}"
        )
    return svg(draw, size=(5.4, 1.1 + 0.2 * (len(dots) + 2)), name=name, told=told, css="chart middle")


def _together(axes: Any, found: Difference, pairs: int) -> None:
    if found.interval:
        low, high = found.interval
        axes.plot([low * 100, high * 100], [pairs + 2, pairs + 2], color=colour_of(1), linewidth=3)
    face = colour_of(1) if found.interval else PAPER
    axes.plot(
        [(found.change or 0) * 100], [pairs + 2], color=colour_of(1), marker="D", markersize=7, markerfacecolor=face,
        linestyle="",
    )  # fmt: skip


def _dress(axes: Any, dots: tuple[float, ...], found: Difference, margin: float) -> None:
    ends = [100 * x for x in (*dots, *(found.interval or ()), margin, -margin)]
    room = (max(ends) - min(ends)) * 0.06
    axes.set_xlim(min(ends) - room, max(ends) + room)
    together = [len(dots) + 2] if found.change is not None else []
    shown = list(range(1, len(dots) + 1)) if len(dots) <= 12 else [1, len(dots)]
    axes.set_yticks([*shown, *together], labels=[*(f"pair {n}" for n in shown), *(["together"] if together else [])])
    axes.set_ylim(len(dots) + 2.8, 0.2)
    axes.set_xlabel(f"B against A, %; the band: less than {percent(margin)}, which does not matter")
    dress(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
