"""Every figure that a run gave, with what stands behind it, and whether two of them can be told apart. Pure.

Medians are told apart when their 95 % intervals do not overlap, repetitions when all of one run lie beyond all of the
other's and chance would do so less than once in twenty (rank sums, exactly: 2 / C(n + m, n) < 0.05).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Literal

from evener.records.context_limits import Scored
from evener.records.load import Spread
from evener.records.speed_rows import Repeated
from evener.report.against_parts import SideFigure
from evener.report.parts import Layout
from evener.report.words import count, kilo

Kind = Literal["users", "speed", "context"]
Apart = Literal["better", "worse", "cannot be separated", "unknown"]

_RARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One figure. `about` says of what: a user count, a test, a length; `at` is what else must be the same.

    `users` is the user count as a number, for curves.
    """

    name: str
    about: str
    unit: str
    figure: SideFigure
    more_is_better: bool
    at: Hashable = None
    users: int | None = None

    @property
    def key(self) -> Hashable:
        """Figures with the same key are figures of the same thing."""
        return self.name, self.about, self.at


def measured(layout: Layout, kind: Kind | None = None) -> Iterator[Measured]:
    """What was measured on a layout, in the order of a report; `kind` None: all of it."""
    if kind in (None, "users"):
        yield from _levels(layout)
        yield from _comfort(layout)
    if kind in (None, "speed"):
        yield from _rows(layout)
    if kind in (None, "context"):
        yield from _lengths(layout)


def told_apart(one: SideFigure, other: SideFigure, *, more_is_better: bool, comparisons: int = 1) -> Apart:
    """What `other` is against `one`. Repetitions are told apart with chance divided by so many `comparisons`."""
    if one.value is None or other.value is None or one.interval is None or other.interval is None:
        return "unknown"
    if one.basis == "range" and not _enough(one.n, other.n, comparisons):
        return "unknown"
    if one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]:
        return "cannot be separated"
    return "better" if (other.value > one.value) == more_is_better else "worse"


def change(one: SideFigure, other: SideFigure) -> float | None:
    """other / one - 1"""
    return other.value / one.value - 1 if one.value and other.value is not None else None


def _enough(n: int | None, m: int | None, comparisons: int) -> bool:
    """Whether two ranges without overlap are rarer than one in twenty when nothing differs: from 4 and 4 on."""
    return bool(n and m) and comparisons * 2 / comb((n or 0) + (m or 0), n or 0) < _RARE


def _levels(layout: Layout) -> Iterator[Measured]:
    for level in layout.levels:
        about = count(level.users, "user")
        for name, unit, figure, more_is_better in (
            ("total", "tok/s", single(level.total_tokens_per_s), True),
            ("each", "tok/s", median(level.per_user_tokens_per_s), True),
            ("first token", "ms", median(level.ttft_ms), False),
        ):
            yield Measured(
                name=name, about=about, unit=unit, figure=figure, more_is_better=more_is_better, users=level.users
            )


def _comfort(layout: Layout) -> Iterator[Measured]:
    """For how many it is comfortable, at the limits asked."""
    found = layout.crowd.comfortable if layout.crowd else None
    if found:
        yield Measured(
            name="comfortable for",
            about=found.unit,
            unit=found.unit,
            figure=single(found.holds_for),
            more_is_better=True,
            at=(found.limits, found.target_share),
        )


def _rows(layout: Layout) -> Iterator[Measured]:
    for row in layout.speed.rows if layout.speed else ():
        yield Measured(name="speed", about=row.test, unit="tok/s", figure=repeated(row.client), more_is_better=True)


def _lengths(layout: Layout) -> Iterator[Measured]:
    if layout.context is None:
        return
    for ceiling in layout.context.ceilings:
        yield Measured(
            name="ceiling", about=ceiling.name, unit="tokens", figure=single(ceiling.tokens), more_is_better=True
        )
    for length in layout.context.lengths:
        about = f"{kilo(length.tokens)} tokens"
        for name, figure, unit in (
            ("prompt", repeated(length.prefill_tokens_per_s), "tok/s"),
            ("answer", repeated(length.decode_tokens_per_s), "tok/s"),
            ("needles found", share(length.needles), "share"),
        ):
            yield Measured(name=name, about=about, unit=unit, figure=figure, more_is_better=True)


def single(value: float | None) -> SideFigure:
    return SideFigure(value=value, interval=None, n=None, basis="single")


def median(spread: Spread) -> SideFigure:
    return SideFigure(value=spread.p50, interval=spread.interval, n=spread.n, basis="95 %")


def repeated(figure: Repeated) -> SideFigure:
    ends = (min(figure.values), max(figure.values)) if figure.values else None
    return SideFigure(value=figure.mean, interval=ends, n=figure.n, basis="range")


def share(scored: Scored) -> SideFigure:
    value = scored.right / scored.n if scored.n else None
    return SideFigure(value=value, interval=scored.interval, n=scored.n, basis="95 %")
