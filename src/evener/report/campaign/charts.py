"""The campaign's charts: rates as dots, curves of users, what further machines did, quality against speed. Pure.

Whoever stands in several charts has one style throughout; names and figures stand in the drawing, colour says nothing
alone. Drawn by `drawing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evener.report.campaign.cells import chosen
from evener.report.campaign.parts import (
    CampaignStory,
    LevelStory,
    NoiseFigure,
    ParetoPoint,
    ParetoStory,
    PlaceStory,
    Reading,
    SecondMachine,
)
from evener.report.charts import Point, Series, line_chart
from evener.report.drawing import FAINT, INK, MARKERS, PAPER, colour_of, dress, svg
from evener.report.language import Say
from evener.report.words import number, plain, shorten, signed_percent, span

_ROW = 0.5  # inches
_LONGEST_NAME = 44
_SIDES = ((1, 4), (-1, 4), (1, -12), (-1, -12), (1, 16), (-1, 16))  # of a mark, for its name; in points
_HIGH = 11  # a name, in points
_LABEL = {"fontsize": 9, "parse_math": False, "color": INK}


def rates(places: Sequence[PlaceStory], say: Say, *, name: str) -> str:
    """One user's rate in every place, from nothing: a dot and its interval; behind it what was predicted."""
    shown = [place for place in places if place.one_user and place.one_user.value is not None]
    if not shown:
        return ""
    most = max(_ends(place) for place in shown) * 1.04

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for row, place in enumerate(shown):
            _rate(axes, row, place, most)
        _rows(axes, len(shown), (0, most), say("tok/s for one user"))

    told = "; ".join(f"{_name(place)} {_figures(place.one_user)}" for place in shown)
    return svg(draw, size=(5.4, 0.6 + _ROW * len(shown)), name=name, told=told, css="chart forest")


def _ends(place: PlaceStory) -> float:
    found = place.one_user
    ends: list[float] = [found.value or 0.0, *(found.interval or ())] if found else []
    return max([*ends, place.predicted.high if place.predicted else 0.0])


def _rate(axes: Any, row: int, place: PlaceStory, most: float) -> None:
    found = place.one_user
    assert found is not None
    if place.predicted:
        low, high = place.predicted.low, place.predicted.high
        axes.plot([low, high], [row, row], color=FAINT, linewidth=9, solid_capstyle="butt", zorder=0)
    colour = colour_of(0) if place.is_ranked else INK
    if found.interval:
        axes.plot(found.interval, [row, row], color=colour, linewidth=2.2, marker="|", markersize=7)
    face = colour if found.interval else PAPER
    axes.plot([found.value], [row], color=colour, marker="o", markersize=6.5, markerfacecolor=face, linestyle="",
              markeredgewidth=1.6)  # fmt: skip
    axes.text(0, row - 0.2, shorten(plain(_name(place)), _LONGEST_NAME), ha="left", va="bottom",
              weight="bold" if place.is_ranked else "normal", **_LABEL)  # fmt: skip
    axes.text(most, row - 0.2, _figures(found), ha="right", va="bottom", **_LABEL)


def _name(place: PlaceStory) -> str:
    return f"{place.contestant}, {place.label}"


def _figures(found: Reading | None) -> str:
    if found is None:
        return "-"
    return f"{number(found.value)} ({span(found.interval)}), n={found.n}"


def _rows(axes: Any, rows: int, window: tuple[float, float], label: str) -> None:
    axes.set_xlim(*window)
    axes.set_ylim(rows - 0.6, -0.75)
    axes.set_yticks([])
    axes.set_xlabel(label)
    dress(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)


# ---- users


def curves(
    places: Sequence[PlaceStory], profile: str, style: Mapping[str, int], say: Say, *, name: str
) -> tuple[str, str]:
    """Of one contestant: each one's rate, and the wait for the first token, by user count; a line per place."""
    people = any(level.people for place in places for level in place.levels if level.profile == profile)
    who = say("people") if people else say("users")
    each = _series(places, profile, style, lambda level: level.each)
    wait = _series(places, profile, style, lambda level: level.ttft)
    return (
        line_chart(each, name=f"{name}-each", told=_told(places, style, each), unit=say("tok/s for each"), who=who),
        line_chart(wait, name=f"{name}-wait", told=_told(places, style, wait), unit=say("ms to the first token"),
                   who=who, may_be_log=True, log_word=say("logarithmic")),
    )  # fmt: skip


def _series(
    places: Sequence[PlaceStory], profile: str, style: Mapping[str, int], of: Callable[[LevelStory], Reading]
) -> tuple[Series, ...]:
    found = []
    for place in places:
        points = [
            Point(
                users=level.users, value=reading.value, interval=reading.interval if reading.basis == "95 %" else None
            )
            for level in place.levels
            if level.profile == profile and (reading := of(level)).value is not None
        ]
        if points:
            found.append(Series(style=style[place.label], points=tuple(points)))
    return tuple(found)


def _told(places: Sequence[PlaceStory], style: Mapping[str, int], series: Sequence[Series]) -> str:
    label = {style[place.label]: place.label for place in places}
    return "; ".join(
        f"{label[s.style]}: " + ", ".join(f"{number(p.value)} @ {p.users}" for p in s.points) for s in series
    )


# ---- what further machines did


def changes(found: Sequence[SecondMachine], noise: Sequence[NoiseFigure], say: Say, *, name: str) -> str:
    """Every figure with an interval, against one machine; the band is what the same load differs from itself."""
    rows = [
        (f"{one.contestant}: {figure.name}{f' ({figure.about})' if figure.about else ''}", figure)
        for one in found
        for figure in chosen(one)
        if figure.interval and figure.change is not None
    ]
    if not rows:
        return ""
    floor = max((one.floor or 0.0 for one in noise), default=0.0) * 100
    ends = [100 * end for _, figure in rows for end in (*(figure.interval or ()), 0.0)]
    room = (max(ends) - min(ends)) * 0.06 or 1.0
    low, high = min(ends) - room, max(ends) + room

    def draw(figure_: Any) -> None:
        axes = figure_.add_subplot()
        axes.axvspan(-floor, floor, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
        axes.axvline(0, color=INK, linewidth=1)
        for row, (label, figure) in enumerate(rows):
            apart = figure.outcome in ("faster", "slower")
            bounds = [100 * end for end in figure.interval or ()]
            axes.plot(bounds, [row, row], color=colour_of(0), linewidth=2.2, marker="|", markersize=7)
            axes.plot([100 * (figure.change or 0)], [row], color=colour_of(0), marker="o", markersize=6.5, linestyle="",
                      markerfacecolor=colour_of(0) if apart else PAPER, markeredgewidth=1.6)  # fmt: skip
            axes.text(low, row - 0.2, shorten(plain(label), _LONGEST_NAME), ha="left", va="bottom", **_LABEL)
            axes.text(high, row - 0.2, signed_percent(figure.change or 0), ha="right", va="bottom", **_LABEL)
        _rows(axes, len(rows), (low, high), say("change against one machine, %"))

    told = "; ".join(f"{label} {signed_percent(figure.change or 0)}" for label, figure in rows)
    return svg(draw, size=(5.4, 0.6 + _ROW * len(rows)), name=name, told=told, css="chart forest")


# ---- quality against speed


def pareto(found: ParetoStory, style: Mapping[str, int], say: Say, *, name: str) -> str:
    """A mark per contestant with both intervals; a line joins the front, a hollow one is known to be beaten in both."""

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        front = sorted((p for p in found.points if p.front), key=lambda p: p.rate)
        axes.plot([p.rate for p in front], [100 * p.score for p in front], color=FAINT, linewidth=1.6, zorder=0)
        for point in found.points:
            _point(axes, point, style[point.contestant])
        for point, (side, up) in zip(found.points, _beside_each_other(found.points), strict=True):
            axes.annotate(plain(point.contestant), (point.rate, 100 * point.score), xytext=(7 * side, up),
                          textcoords="offset points", ha="left" if side > 0 else "right", parse_math=False, fontsize=9,
                          annotation_clip=False)  # fmt: skip
        axes.set_xlim(0, max(p.rate for p in found.points) * 1.25)
        axes.set_xlabel(say("tok/s for one user"))
        axes.set_ylabel(say("points of 100"))
        dress(axes)
        axes.grid(axis="x", color=FAINT, linewidth=0.8)

    told = "; ".join(f"{p.contestant} {number(p.rate)} tok/s, {p.score * 100:.0f}" for p in found.points)
    return svg(draw, size=(3.9, 3.1), name=name, told=told)


def _point(axes: Any, point: ParetoPoint, style: int) -> None:
    colour, y = colour_of(style), 100 * point.score
    if point.rate_interval:
        axes.plot(point.rate_interval, [y, y], color=colour, linewidth=1.3)
    if point.score_interval:
        axes.plot([point.rate] * 2, [100 * end for end in point.score_interval], color=colour, linewidth=1.3)
    axes.plot([point.rate], [y], color=colour, marker=MARKERS[style % len(MARKERS)], markersize=7, linestyle="",
              markerfacecolor=PAPER if point.dominated_by else colour, markeredgewidth=1.6)  # fmt: skip


def _beside_each_other(points: Sequence[ParetoPoint]) -> list[tuple[int, int]]:
    """(side, points up) of each name, so that it lies on no mark and on no other name; roughly, by their length."""
    wide, high = 225 / (max(p.rate for p in points) * 1.25), 170 / _points_apart(points)
    marks = [(p.rate * wide, 100 * p.score * high) for p in points]
    taken = [(x - 5, x + 5, y) for x, y in marks]  # left, right, middle
    chosen = []
    for point, (x, y) in zip(points, marks, strict=True):
        long = 5.4 * len(point.contestant)
        boxes = {(side, up): (x + 7 if side > 0 else x - 7 - long, x + 7 + long if side > 0 else x - 7, y + up)
                 for side, up in _SIDES}  # fmt: skip
        free = (at for at, box in boxes.items() if box[0] >= 0 and not any(_overlap(box, other) for other in taken))
        at = next(free, _SIDES[0])
        taken.append(boxes[at])
        chosen.append(at)
    return chosen


def _overlap(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and abs(a[2] - b[2]) < _HIGH


def _points_apart(points: Sequence[ParetoPoint]) -> float:
    ends = [100 * end for p in points for end in (p.score_interval or (p.score, p.score))]
    return max(ends) - min(ends) or 1.0


def styles(story: CampaignStory) -> tuple[dict[str, int], dict[str, int]]:
    """The style of each layout, and of each contestant."""
    labels = dict.fromkeys(place.label for place in story.places if place.is_ranked)
    return {label: n for n, label in enumerate(labels)}, {c.name: n for n, c in enumerate(story.contestants)}
