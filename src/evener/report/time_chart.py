"""Everything that has a time, above one axis: speed, then what cards and cables did. Drawn by `drawing`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from evener.records.telemetry import Drift
from evener.report.drawing import FAINT, INK, colour_of, dash_of, dress, svg
from evener.report.parts import Curve, Panel, Timeline
from evener.report.words import count, number

_WIDTH, _TALL, _LOW = 7.6, 1.9, 1.25  # inches; the first panel is the tall one
_MINUTES_FROM_S = 300.0


def time_chart(timeline: Timeline, *, name: str, who: str = "users") -> str:
    """An inline `<svg>` with one panel under the other. Bands and numbers above say how many users there were."""
    panels = timeline.panels
    in_minutes = timeline.to_s - timeline.from_s >= _MINUTES_FROM_S

    def draw(figure: Any) -> None:
        heights = [_TALL] + [_LOW] * (len(panels) - 1)
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
        for axes, panel in zip(grid[:, 0], panels, strict=True):
            for curve in panel.curves:
                _curve(axes, curve, timeline.from_s, 60 if in_minutes else 1)
            _dress(axes, panel)
            _bands(axes, timeline, 60 if in_minutes else 1)
        _counts(grid[0, 0], timeline, 60 if in_minutes else 1)
        grid[-1, 0].set_xlabel("minutes" if in_minutes else "seconds")
        figure.align_ylabels()

    size = (_WIDTH, 0.5 + _TALL + _LOW * (len(panels) - 1))
    return svg(draw, size=size, name=name, told=_told(timeline, who), css="chart wide")


def _curve(axes: Any, curve: Curve, from_s: float, unit_s: float) -> None:
    x = [(at - from_s) / unit_s for at, _ in curve.points]
    y = [float("nan") if value is None else value for _, value in curve.points]
    axes.plot(x, y, color=colour_of(curve.style), linewidth=1.5, linestyle=dash_of(curve.style))


def _dress(axes: Any, panel: Panel) -> None:
    values = [value for curve in panel.curves for _, value in curve.points if value is not None]
    if panel.name == "temperature":  # from zero, every card would be a flat line
        axes.set_ylim(bottom=min(values) - 3, top=max(values) + 3)
    else:
        axes.set_ylim(bottom=0, top=105 if panel.unit == "%" else (max(values) or 1) * 1.08)
    axes.margins(x=0.01)
    axes.set_ylabel(f"{panel.name}\n{panel.unit}")
    dress(axes)


def _bands(axes: Any, timeline: Timeline, unit_s: float) -> None:
    """Every other user count has a ground of its own."""
    for span in timeline.spans[::2]:
        ends = ((span.from_s - timeline.from_s) / unit_s, (span.to_s - timeline.from_s) / unit_s)
        axes.axvspan(*ends, color=FAINT, alpha=0.35, linewidth=0, zorder=0)


def _counts(axes: Any, timeline: Timeline, unit_s: float) -> None:
    """How many users, above the middle of their time; those without room for their number go without.

    A single count is told elsewhere.
    """
    if len(timeline.spans) < 2:
        return
    least = (timeline.to_s - timeline.from_s) / 40
    for span in timeline.spans:
        if span.to_s - span.from_s < least:
            continue
        middle = ((span.from_s + span.to_s) / 2 - timeline.from_s) / unit_s
        axes.annotate(
            str(span.users), (middle, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", fontsize=8, annotation_clip=False,
        )  # fmt: skip


def _told(timeline: Timeline, who: str) -> str:
    parts = [f"{count(round(timeline.to_s - timeline.from_s), 'second')} of measurement"]
    for panel in timeline.panels:
        for curve in panel.curves:
            values = [value for _, value in curve.points if value is not None]
            low, high = number(min(values)), number(max(values))
            parts.append(f"{panel.name} of {curve.label} between {low} and {high} {panel.unit}")
    counts = [users for users, _ in groupby(span.users for span in timeline.spans)]
    if counts:
        parts.append(f"{who} in turn: {', '.join(map(str, counts))}")
    return "; ".join(parts)


def drift_chart(drift: Drift, *, name: str) -> str:
    """The speed of a sustained load over time, with the means of its first and last third; "" without a curve."""
    if not drift.curve:
        return ""
    start = drift.curve[0][0] - drift.window_s / 2

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        x, y = [(at - start) / 60 for at, _ in drift.curve], [value for _, value in drift.curve]
        axes.plot(x, y, color=colour_of(0), linewidth=1.8)
        _thirds(axes, drift, x)
        axes.set_ylim(bottom=0, top=max(y) * 1.1 or 1.0)
        axes.set_xlabel("minutes")
        axes.set_ylabel("tok/s, total")
        dress(axes)

    return svg(draw, size=(_WIDTH, 2.4), name=name, told=drift.sentence, css="chart wide")


def _thirds(axes: Any, drift: Drift, x: Sequence[float]) -> None:
    third = (x[-1] - x[0]) / 3
    ends = ((x[0], x[0] + third, drift.first_tokens_per_s), (x[-1] - third, x[-1], drift.last_tokens_per_s))
    for left, right, mean in ends:
        if mean is not None:
            axes.plot([left, right], [mean, mean], color=INK, linewidth=1.6, linestyle=(0, (4, 3)))
