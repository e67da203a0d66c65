"""What a report says about one evaluation, as the story that every face shows. Pure; compares no candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.events import Fact
from evener.records.run import Run, Summary
from evener.report import rows
from evener.report.evals_parts import Evaluated
from evener.report.evals_rows import TRUNCATED_FROM, interval, named, outcomes, points
from evener.report.parts import Caution, Story
from evener.report.words import count, percent


def tell(run: Run, summary: Summary | None, facts: Sequence[Fact], found: Evaluated) -> Story:
    """The whole story of an evaluation, complete or not."""
    result = found.result
    return Story(
        id=run.id,
        what=run.what,
        title=f"{found.candidate}: eval",
        state=rows.state(summary),
        started_at=run.started_at,
        ended_at=summary.ended_at if summary else None,
        headline=_headline(found),
        basis=_basis(result) if result and result.validity == "valid" else "",
        headline_users=None,
        speeds=(),
        comparisons=(),
        findings=(),
        cautions=tuple(sorted(_cautions(found), key=lambda caution: not caution.grave)),
        layouts=(),
        conditions=rows.conditions(run.conditions),
        limits=tuple(_limits(found)),
        moments=rows.moments(facts),
        evaluation=found,
    )


def _headline(found: Evaluated) -> str:
    if found.result is None:
        return f"{count(found.answers, 'answer')} came before the run ended; nothing is scored yet"
    if found.result.validity != "valid":
        return f"The result is invalid ({found.result.validity})"
    told = ", ".join(f"{one.suite} {points(one.standing.mean)}" for one in _scored(found.result))
    return f"{told} of 100 points" if told else "Nothing of it has a score"


def _basis(result: EvalResult) -> str:
    return "; ".join(
        f"{one.suite}: n={one.standing.n} in {one.standing.clusters} clusters, 95% {interval(one.standing.interval)}"
        for one in _scored(result)
    )


def _scored(result: EvalResult) -> list[SuiteResult]:
    """What was asked once and has a score; a canary has none."""
    return [one for one in result.results if one.arm == "single" and one.standing.mean is not None]


def _cautions(found: Evaluated) -> Iterator[Caution]:
    result = found.result
    if result is None:
        ended = f" ({outcomes(found.outcomes, most=9)})" if outcomes(found.outcomes) else ""
        yield Caution(grave=True, text="This run is not finished: it still goes on, or was cut off")
        yield Caution(grave=True, text=f"{count(found.answers, 'answer')} kept{ended}: evener eval --resume goes on")
        return
    if result.validity != "valid":
        yield Caution(grave=True, text=f"These figures must not be used: {result.validity}")
    if result.partial:
        yield Caution(grave=True, text=f"This run is partial: {result.partial}")
    for one in result.results:
        yield from _suite(one, result)
    for judged in found.judged:
        for mark in judged.marks:
            yield Caution(grave=False, text=f"the judge {judged.judge.called}: {mark}")
    told = {
        f"{one.suite}: {one.truncated:.0%} of the answers were cut short" for one in result.results if one.truncated
    }
    for note in (*result.notes, *found.notes):
        if not note.startswith(tuple(told)):  # said above, with the arm
            yield Caution(grave=False, text=note)


def _suite(one: SuiteResult, result: EvalResult) -> Iterator[Caution]:
    name = named(one)
    if one.arm == "single" and one.answered < one.asked and not result.partial:
        yield Caution(grave=True, text=f"{name}: {one.answered} of {one.asked} answers came")
    if (one.truncated or 0.0) >= TRUNCATED_FROM:
        yield Caution(
            grave=True,
            text=f"{name}: {percent(one.truncated or 0.0)} of the answers were cut short at {result.most_tokens} "
            "tokens and are not scored: --max-tokens",
        )
    if one.thought and result.thinking_asked is False:
        yield Caution(
            grave=False, text=f"{name}: {percent(one.thought)} of the answers show thinking, which was asked to be off"
        )
    if one.standing.mean is not None and one.counted_wrong.mean is not None:
        lost = one.standing.mean - one.counted_wrong.mean
        if lost >= TRUNCATED_FROM:
            yield Caution(
                grave=False,
                text=f"{name}: {points(one.counted_wrong.mean)} instead of {points(one.standing.mean)} if answers that "
                "are no evidence are counted as wrong",
            )


def _limits(found: Evaluated) -> Iterator[str]:
    yield "How this candidate stands to others: evener verdict compares runs on the questions that they share."
    if found.result is not None and found.result.epochs == 1:
        yield "What the same candidate would answer when asked again: each question was asked in one epoch."
    if found.judged:
        yield "What another judge would say: no two judges are equivalent."
    yield "How it answers questions that these suites do not hold."
