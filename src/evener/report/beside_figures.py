"""What of a run can stand beside other runs: per kind of measurement its figures, and how they were measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evener.records.evaluation import EvalResult
from evener.records.foreign import ForeignBench
from evener.records.pair import PairResult
from evener.report.against_parts import SideFigure
from evener.report.crowd import how
from evener.report.evals_rows import how as how_asked
from evener.report.evals_rows import named
from evener.report.figures import Measured, measured, repeated, single
from evener.report.pair_view import METRICS
from evener.report.parts import Layout, Story
from evener.report.words import count

USERS, SPEED, CONTEXT, PAIR, LOAD, ANSWERS = (
    "speed for users", "speed, row by row", "how long a prompt may be", "pairs: B against A", "load and memory",
    "answers",
)  # fmt: skip
KINDS = (USERS, SPEED, CONTEXT, PAIR, ANSWERS, LOAD)
_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that a run measured. `layout` is what it was measured on, where there is one."""

    kind: str
    label: str
    about: str
    figures: tuple[Measured, ...]
    invalid: str | None
    layout: Layout | None = None


def parts(story: Story) -> Iterator[Part]:
    """Everything that one run measured, layout by layout."""
    for layout in story.layouts:
        yield from (part for part in _layout(layout) if part.figures)
    if story.pair:
        yield _pair(story.pair)
    if story.evaluation and story.evaluation.result:
        yield _answers(story.evaluation.result)


def _layout(layout: Layout) -> Iterator[Part]:
    def part(kind: str, about: str, figures: Iterator[Measured], invalid: str | None = layout.invalid) -> Part:
        made = tuple(figures)
        return Part(kind=kind, label=layout.label, about=about, figures=made, invalid=invalid, layout=layout)

    yield part(USERS, how(layout), measured(layout, "users"))
    yield part(SPEED, "one request at a time, by the client's clock", _speed(layout))
    yield part(CONTEXT, layout.context.allocation if layout.context else "", measured(layout, "context"))
    yield part(LOAD, "each measured once", _load(layout), None)


def _speed(layout: Layout) -> Iterator[Measured]:
    """The client's view, and below it llama-bench's where it ran too."""
    yield from measured(layout, "speed")
    for row in layout.speed.rows if layout.speed else ():
        if row.llama_bench:
            yield by_llama_bench(row.test, repeated(row.llama_bench))


def by_llama_bench(test: str, figure: SideFigure) -> Measured:
    return Measured(name="by llama-bench", about=test, unit="tok/s", figure=figure, more_is_better=True)


def _load(layout: Layout) -> Iterator[Measured]:
    """Seconds, and bytes of all cards together where every one of them is known."""
    if layout.load_s is not None:
        yield _once("loaded in", "the model", "s", layout.load_s)
    checks, left = layout.checks, [card.left_bytes for card in layout.cards if card.freed]
    for name, values in (
        ("planned", [check.planned_bytes for check in checks]),
        ("measured", [check.measured_bytes for check in checks]),
        ("left after stop", left),
    ):
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            yield _once(name, "all cards", "GiB", sum(known) / _GIB)


def _once(name: str, about: str, unit: str, value: float) -> Measured:
    return Measured(name=name, about=about, unit=unit, figure=single(value), more_is_better=False)


def _pair(result: PairResult) -> Part:
    """Each run's own paired difference: the change, its interval, and how many pairs it rests on."""
    return Part(
        kind=PAIR,
        label=f"{result.b.label} against {result.a.label}",
        about="medians of visits in turns, pair by pair",
        figures=tuple(
            Measured(
                name=METRICS[found.metric],
                about=count(found.users, "user"),
                unit="change",
                figure=SideFigure(value=found.change, interval=found.interval, n=len(found.pairs), basis="95 %"),
                more_is_better=found.metric != "ttft_ms",
            )
            for found in result.differences
        ),
        invalid=None if result.validity == "valid" else result.validity,
    )


def _answers(result: EvalResult) -> Part:
    return Part(
        kind=ANSWERS,
        label=result.candidate,
        about=how_asked(result),
        figures=tuple(
            Measured(
                name="score",
                about=named(one),
                unit="share",
                figure=SideFigure(
                    value=one.standing.mean, interval=one.standing.interval, n=one.standing.n, basis="95 %"
                ),
                more_is_better=True,
                at=(one.sha256, one.arm),
            )
            for one in result.results
            if one.standing.mean is not None
        ),
        invalid=None if result.validity == "valid" else result.validity,
    )


def foreign_figures(bench: ForeignBench, *, ours: frozenset[str]) -> tuple[tuple[Measured, float | None], ...]:
    """Each test with the deviation stated; `ours` are the tests that llama-bench also ran for a run of ours."""
    found = []
    for row in bench.rows:
        figure = SideFigure(value=row.mean, interval=None, n=row.n, basis="single")
        name = "by llama-bench" if row.test in ours else "speed"
        one = Measured(name=name, about=row.test, unit="tok/s", figure=figure, more_is_better=True)
        found.append((one, row.sd))
    return tuple(found)
