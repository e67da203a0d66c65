"""User curves as inline SVG that follow the page: its colours, its font, light or dark. Needs matplotlib only to draw.

Colours are drawn as stand-ins and replaced by CSS variables, so that one drawing serves both colour schemes. Series
differ in marker and dash as well: a grey print can be read. The same data gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from evener.records.load import Level, Spread
from evener.report.parts import Layout
from evener.report.words import plain

MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 2", "10 4")
_SERIES = ("#e1000a", "#e2000a", "#e3000a", "#e4000a", "#e5000a", "#e6000a")
_INK, _FAINT, _PAPER = "#e7000a", "#e8000a", "#e9000a"
_VARIABLES = {
    **{stand_in: f"var(--series-{i})" for i, stand_in in enumerate(_SERIES, start=1)},
    _INK: "var(--ink)",
    _FAINT: "var(--line)",
    _PAPER: "var(--paper)",
}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "evener",
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One user count of one layout. `interval` None: n was too small, drawn hollow. `high` is a second mark (p90)."""

    users: int
    value: float
    interval: tuple[float, float] | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line; `style` is the layout's place in the run, so that it looks the same in every chart."""

    style: int
    points: tuple[Point, ...]


def total(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Tokens per second of all users together. A single measurement each: no interval exists."""
    return _series(layouts, lambda level: _plain(level.users, level.total_tokens_per_s))


def per_user(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Median decode tokens per second of one user."""
    return _series(layouts, lambda level: _median(level.users, level.per_user_tokens_per_s))


def ttft(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Median time to first token, ms, with p90 where n allows it."""
    return _series(layouts, lambda level: _median(level.users, level.ttft_ms))


def _series(layouts: Sequence[Layout], point: Callable[[Level], Point | None]) -> tuple[Series, ...]:
    """Layouts with an invalid result are not drawn."""
    drawn = []
    for style, layout in enumerate(layouts):
        points = [] if layout.invalid else [p for level in layout.levels if (p := point(level))]
        if points:
            drawn.append(Series(style=style, points=tuple(sorted(points, key=lambda p: p.users))))
    return tuple(drawn)


def _plain(users: int, value: float | None) -> Point | None:
    return None if value is None else Point(users=users, value=value)


def _median(users: int, spread: Spread) -> Point | None:
    if spread.p50 is None:
        return None
    return Point(users=users, value=spread.p50, interval=spread.interval, high=spread.p90)


def line_chart(series: Sequence[Series], *, name: str, told: str, unit: str, hollow: bool = True) -> str:
    """An inline `<svg>`, "" where there is nothing to draw. `name` keeps its ids apart from other charts' on the page.

    `told` is the chart in words, for those who cannot see it. `hollow` marks points that lack an interval.
    """
    if not series:
        return ""
    from matplotlib import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with style.context(["default", _SETTINGS], after_reset=True):  # not the reader's matplotlibrc
        figure = Figure(figsize=(3.7, 2.7), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for each in series:
            _draw(axes, each, among=len(series), hollow=hollow)
        _dress(axes, series, unit)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return _inline(buffer.getvalue(), name=name, told=told)


def _draw(axes: Any, series: Series, *, among: int, hollow: bool) -> None:
    look = series.style % len(_SERIES)
    colour = _SERIES[look]
    shift = _shift(series, among)
    x = [point.users + shift for point in series.points]
    dash: Any = tuple(float(n) for n in DASHES[look].split())
    axes.plot(x, [p.value for p in series.points], color=colour, linewidth=1.8, linestyle=(0, dash) if dash else "-")
    for at, point in zip(x, series.points, strict=True):
        if point.interval:
            low, high = point.interval
            axes.plot([at, at], [low, high], color=colour, linewidth=1.4, marker="_", markersize=7, markeredgewidth=1.4)
        if point.high is not None:
            axes.plot([at], [point.high], color=colour, marker="_", markersize=11, markeredgewidth=2, linestyle="")
        axes.plot(
            [at], [point.value], color=colour, marker=MARKERS[look], markersize=6.5, linestyle="", markeredgewidth=1.6,
            markerfacecolor=_PAPER if hollow and point.interval is None else colour,
        )  # fmt: skip


def _shift(series: Series, among: int) -> float:
    """Keeps whiskers of different layouts at the same user count beside each other."""
    widest = series.points[-1].users - series.points[0].users or 1
    return 0.0 if among == 1 else widest * 0.016 * (series.style - (among - 1) / 2)


def _dress(axes: Any, series: Sequence[Series], unit: str) -> None:
    users = sorted({point.users for each in series for point in each.points})
    axes.set_xticks(users, labels=[str(n) for n in users])
    edge = (users[-1] - users[0] or 1) * 0.08
    axes.set_xlim(users[0] - edge, users[-1] + edge)
    axes.set_ylim(bottom=0, top=_top(series))
    axes.set_xlabel("users")
    axes.set_ylabel(unit)
    axes.grid(axis="y", color=_FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _top(series: Sequence[Series]) -> float:
    points = [point for each in series for point in each.points]
    tops = [value for p in points for value in (p.value, p.high, p.interval[1] if p.interval else None) if value]
    return max(tops, default=1.0) * 1.08


_SIZE = re.compile(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>')
_ID = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')
_PAGE_WIDE_STYLE = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_FONT = re.compile(r"font-family: [^;\"]+")


def _inline(document: str, *, name: str, told: str) -> str:
    """A stand-alone SVG document as a part of a page."""
    found = _SIZE.search(document)
    if found is None:
        raise AssertionError("matplotlib wrote an SVG without a viewBox")
    body = document[found.end() : document.rindex("</svg>")]
    body = _PAGE_WIDE_STYLE.sub("", body, count=1)
    body = _FONT.sub("font-family: inherit", _ID.sub(rf"\1{name}-\2", body))
    for stand_in, variable in _VARIABLES.items():
        body = body.replace(stand_in, variable)
    head = f'<svg class="chart" viewBox="{found.group(1)}" role="img" aria-labelledby="{name}-told">'
    return f'{head}<title id="{name}-told">{escape(plain(told))}</title>{body}</svg>'
