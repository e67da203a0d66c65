"""Curves of users: speed, share of one user's speed and first token, with the limits people set. Drawn by `drawing`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evener.records.load import Level, Spread
from evener.report.drawing import INK, MARKERS, PAPER, colour_of, dash_of, dress, svg
from evener.report.parts import Layout
from evener.report.words import number

_LOG_FROM = 20  # greatest / least value, from which on a linear axis hides the small ones


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A limit that people set: a line across the chart."""

    value: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The largest user count at which a layout is comfortable."""

    style: int
    users: int


def total(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Tokens per second of all users together. A single measurement each: no interval exists."""
    return _series(layouts, lambda level: _plain(level.users, level.total_tokens_per_s))


def per_user(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Median decode tokens per second of one user."""
    return _series(layouts, lambda level: _median(level.users, level.per_user_tokens_per_s))


def degradation(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Each user's speed in percent of what one user alone gets; only where there is more than the one user."""
    found = _series(layouts, lambda level: _plain(level.users, _percent(level)))
    return found if any(point.users > 1 for each in found for point in each.points) else ()


def ttft(layouts: Sequence[Layout]) -> tuple[Series, ...]:
    """Median time to first token, ms, with p90 where n allows it."""
    return _series(layouts, lambda level: _median(level.users, level.ttft_ms))


def rate_rules(layouts: Sequence[Layout]) -> tuple[Rule, ...]:
    """The slowest decode rate that the limits allow."""
    limits = [1000 / x.crowd.limits.tpot_ms for x in layouts if x.crowd and x.crowd.limits and x.crowd.limits.tpot_ms]
    return _rules(limits, "tok/s")


def ttft_rules(layouts: Sequence[Layout]) -> tuple[Rule, ...]:
    """The longest wait that the limits allow."""
    limits = [x.crowd.limits.ttft_ms for x in layouts if x.crowd and x.crowd.limits and x.crowd.limits.ttft_ms]
    return _rules(limits, "ms")


def _rules(limits: Iterable[float], unit: str) -> tuple[Rule, ...]:
    return tuple(Rule(value=value, label=f"limit {number(value)} {unit}") for value in sorted(set(limits)))


def marks(layouts: Sequence[Layout]) -> tuple[Mark, ...]:
    """One per layout that is known to be comfortable for somebody."""
    return tuple(
        Mark(style=style, users=x.crowd.comfortable.holds_for)
        for style, x in enumerate(layouts)
        if not x.invalid and x.crowd and x.crowd.comfortable and x.crowd.comfortable.holds_for is not None
    )


def _series(layouts: Sequence[Layout], point: Callable[[Level], Point | None]) -> tuple[Series, ...]:
    """Layouts with an invalid result are not drawn."""
    drawn = []
    for style, layout in enumerate(layouts):
        points = [] if layout.invalid else [p for level in layout.levels if (p := point(level))]
        if points:
            drawn.append(Series(style=style, points=tuple(sorted(points, key=lambda p: p.users))))
    return tuple(drawn)


def _percent(level: Level) -> float | None:
    if level.degradation is None:
        return 100.0 if level.users == 1 and level.per_user_tokens_per_s.p50 is not None else None
    return level.degradation * 100


def _plain(users: int, value: float | None) -> Point | None:
    return None if value is None else Point(users=users, value=value)


def _median(users: int, spread: Spread) -> Point | None:
    if spread.p50 is None:
        return None
    return Point(users=users, value=spread.p50, interval=spread.interval, high=spread.p90)


def told(about: str, series: Sequence[Series], layouts: Sequence[Layout]) -> str:
    """A chart in words: every value, layout by layout."""
    lines = [
        f"{layouts[each.style].label}: " + ", ".join(f"{number(p.value)} at {p.users}" for p in each.points)
        for each in series
    ]
    return f"{about}. {'; '.join(lines)}"


def line_chart(
    series: Sequence[Series],
    *,
    name: str,
    told: str,
    unit: str,
    who: str = "users",
    hollow: bool = True,
    rules: Sequence[Rule] = (),
    marks: Sequence[Mark] = (),
    may_be_log: bool = False,
    log_word: str = "logarithmic",
) -> str:
    """An inline `<svg>`, "" where there is nothing to draw. `name` keeps its ids apart from other charts' on the page.

    `told` is the chart in words, for those who cannot see it. `hollow` marks points that lack an interval.
    """
    if not series:
        return ""

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for each in series:
            _draw(axes, each, among=len(series), hollow=hollow)
        values = _values(series, rules)
        log = may_be_log and min(values) > 0 and max(values) / min(values) > _LOG_FROM
        _dress(axes, series, f"{unit}, {log_word}" if log else unit, who=who, values=values, log=log)
        for rule in rules:
            _rule(axes, rule)
        for mark in marks:
            _mark(axes, mark)

    return svg(draw, size=(3.7, 2.7), name=name, told=told)


def _draw(axes: Any, series: Series, *, among: int, hollow: bool) -> None:
    colour, marker = colour_of(series.style), MARKERS[series.style % len(MARKERS)]
    shift = _shift(series, among)
    x = [point.users + shift for point in series.points]
    axes.plot(x, [p.value for p in series.points], color=colour, linewidth=1.8, linestyle=dash_of(series.style))
    for at, point in zip(x, series.points, strict=True):
        if point.interval:
            low, high = point.interval
            axes.plot([at, at], [low, high], color=colour, linewidth=1.4, marker="_", markersize=7, markeredgewidth=1.4)
        if point.high is not None:
            axes.plot([at], [point.high], color=colour, marker="_", markersize=11, markeredgewidth=2, linestyle="")
        axes.plot(
            [at], [point.value], color=colour, marker=marker, markersize=6.5, linestyle="", markeredgewidth=1.6,
            markerfacecolor=PAPER if hollow and point.interval is None else colour,
        )  # fmt: skip


def _shift(series: Series, among: int) -> float:
    """Keeps whiskers of different layouts at the same user count beside each other."""
    widest = series.points[-1].users - series.points[0].users or 1
    return 0.0 if among == 1 else widest * 0.016 * (series.style - (among - 1) / 2)


def _dress(axes: Any, series: Sequence[Series], unit: str, *, who: str, values: Sequence[float], log: bool) -> None:
    users = sorted({point.users for each in series for point in each.points})
    axes.set_xticks(users, labels=[str(n) for n in users])
    edge = (users[-1] - users[0] or 1) * 0.08
    axes.set_xlim(users[0] - edge, users[-1] + edge)
    if log:
        _log_axis(axes, values)
    else:
        axes.set_ylim(bottom=0, top=max(values) * 1.08 or 1.0)
    axes.set_xlabel(who)
    axes.set_ylabel(unit)
    dress(axes)


def _log_axis(axes: Any, values: Sequence[float]) -> None:
    """Ticks at 1, 2 and 5, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.set_ylim(bottom=min(values) * 0.8, top=max(values) * 1.25)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _values(series: Sequence[Series], rules: Sequence[Rule]) -> list[float]:
    points = [point for each in series for point in each.points]
    ends = [v for p in points for v in (p.value, p.high, *(p.interval or ())) if v is not None]
    return [*ends, *(rule.value for rule in rules)]


def _rule(axes: Any, rule: Rule) -> None:
    axes.axhline(rule.value, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        rule.label, (0.0, rule.value), xycoords=("axes fraction", "data"), xytext=(2, 3), textcoords="offset points",
        ha="left", va="bottom", fontsize=8,
    )  # fmt: skip


def _mark(axes: Any, mark: Mark) -> None:
    axes.axvline(mark.users, color=colour_of(mark.style), linewidth=6, alpha=0.22, zorder=0)
    axes.annotate(
        f"good for {mark.users}", (mark.users, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, annotation_clip=False,
    )  # fmt: skip
