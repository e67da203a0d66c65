"""Scores as a forest: per candidate a dot, its interval and its n; groups as brackets. Drawn by `drawing`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evener.report.drawing import FAINT, INK, PAPER, colour_of, dress, svg
from evener.report.evals_rows import interval, points
from evener.report.words import plain, shorten

SCALE = "points of 100, with 95 % intervals"
_LONGEST_NAME = 36
_LONGEST_ENDED = 70
_LEAST_SPAN = 20.0  # points: a smaller window would make noise look like a gap
_ROW, _ROW_ENDED = 0.52, 0.66  # inches; with room for how answers ended
_FAINT_ALPHA = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One candidate. Shares are 0 to 1; `interval` None is drawn hollow, `dim` is ruled out. `ended` says how answers
    ended that are not "ok"."""

    name: str
    mean: float
    interval: tuple[float, float] | None
    n: int
    dim: bool = False
    ended: str = ""


def forest(
    lines: Sequence[Line],
    *,
    name: str,
    groups: Sequence[Sequence[str]] = (),
    scale: str = SCALE,
    told: str | None = None,
) -> str:
    """An inline `<svg>`; "" without a line. `groups` hold names that cannot be told apart; of one name draw nothing.

    `scale` stands below the axis, `told` is the drawing in words where it is not in English.
    """
    if not lines:
        return ""
    brackets = _brackets(lines, groups)

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        low, high = _window(lines)
        for place, line in enumerate(lines):
            _line(axes, place, line, low, high)
        for column, (first, last) in enumerate(brackets):
            _bracket(axes, column, first, last)
        _dress(axes, len(lines), low, high, scale)

    row = _ROW_ENDED if any(line.ended for line in lines) else _ROW
    size = (4.8 + 0.16 * len(brackets), 0.6 + row * len(lines))
    return svg(draw, size=size, name=name, told=told or _told(lines, groups), css="chart forest")


def _line(axes: Any, place: int, line: Line, low: float, high: float) -> None:
    colour = INK if line.dim else colour_of(0)
    alpha = _FAINT_ALPHA if line.dim else 1.0
    mean = line.mean * 100
    if line.interval:
        ends = [line.interval[0] * 100, line.interval[1] * 100]
        axes.plot(ends, [place, place], color=colour, linewidth=2.2, marker="|", markersize=7, alpha=alpha)
    axes.plot(
        [mean], [place], color=colour, marker="o", markersize=6.5, linestyle="", markeredgewidth=1.6, alpha=alpha,
        markerfacecolor=colour if line.interval else PAPER,
    )  # fmt: skip
    weight = "normal" if line.dim else "bold"
    label = {"fontsize": 9, "va": "bottom", "alpha": alpha, "parse_math": False, "color": INK}
    axes.text(low, place - 0.2, shorten(plain(line.name), _LONGEST_NAME), ha="left", weight=weight, **label)
    axes.text(high, place - 0.2, _figures(line), ha="right", **label)
    if line.ended:
        small = label | {"fontsize": 7.5, "va": "top"}
        axes.text(low, place + 0.1, shorten(plain(line.ended), _LONGEST_ENDED), ha="left", **small)


def _figures(line: Line) -> str:
    ends = f" ({interval(line.interval)})" if line.interval else ""
    return f"{points(line.mean)}{ends}, n={line.n}"


def _brackets(lines: Sequence[Line], groups: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """(first, last) place of each group of at least two that are drawn."""
    place = {line.name: n for n, line in enumerate(lines)}
    found = [[place[name] for name in group if name in place] for group in groups]
    return [(min(places), max(places)) for places in found if len(places) > 1]


def _bracket(axes: Any, column: int, first: int, last: int) -> None:
    """To the right of the axes; groups that overlap stand beside each other."""
    at = 1.025 + 0.03 * column
    place = axes.get_yaxis_transform()
    axes.plot(
        [at - 0.012, at, at, at - 0.012], [first - 0.3, first - 0.3, last + 0.2, last + 0.2], transform=place,
        color=colour_of(1), linewidth=1.6, clip_on=False,
    )  # fmt: skip


def _window(lines: Sequence[Line]) -> tuple[float, float]:
    """Points from where to where: all intervals, and never less than what keeps a small gap small."""
    ends = [100 * end for line in lines for end in (line.mean, *(line.interval or ()))]
    low, high = min(ends), max(ends)
    short = max(0.0, _LEAST_SPAN - (high - low))
    room = short / 2 + (high - low) * 0.04
    return low - room, high + room


def _dress(axes: Any, rows: int, low: float, high: float, scale: str) -> None:
    axes.set_xlim(low, high)
    axes.set_ylim(rows - 0.6, -0.75)
    axes.set_yticks([])
    axes.set_xlabel(scale)
    dress(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)


def _told(lines: Sequence[Line], groups: Sequence[Sequence[str]]) -> str:
    told = "; ".join(
        ", ".join(
            part for part in (f"{line.name} {_figures(line)}", "ruled out" if line.dim else "", line.ended) if part
        )
        for line in lines
    )
    alike = [" and ".join(group) for group in groups if len(group) > 1]
    return told + (f". Not told apart: {'; '.join(alike)}" if alike else "")
