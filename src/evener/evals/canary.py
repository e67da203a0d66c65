"""Whether two layouts of one model compute the same: their greedy answers to the canary's prompts, side by side. Pure.

llama.cpp at temperature 0 rounds differently in other batch shapes, so two right layouts may part late in an answer. A
layout is therefore first compared with itself; what it differs from itself is the noise floor. Knows no reference
answers: a model that answers badly passes when it answers equally badly everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evener.records.answers import Answer
from evener.records.verdicts import CanaryVerdict, CanaryWord

SUITE = "canary"  # the name of suites that are compared so, and never scored
ALLOWED = 1 / 6  # of the prompts: so many more than the noise floor may part; two of twelve
LEAST = 6  # prompts that both answered; with fewer nothing is said
SHOWN = 40  # characters from the place on


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where two answers to one prompt part: at the character `at`, from 0. `ours` and `theirs` go on from there."""

    question: str
    at: int
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """`n` prompts were answered by both, `missing` only by one or by none."""

    n: int
    missing: int
    partings: tuple[Parting, ...]


def compare(ours: Sequence[Answer], theirs: Sequence[Answer]) -> Compared:
    """Two sets of answers, prompt by prompt. An answer cut short at the same length counts, an error does not."""
    mine, other = _texts(ours), _texts(theirs)
    asked = {answer.asked.question for answer in (*ours, *theirs)}
    both = [name for name in mine if name in other]
    found = [_parting(name, mine[name], other[name]) for name in both]
    return Compared(
        n=len(both), missing=len(asked) - len(both), partings=tuple(one for one in found if one is not None)
    )


def verdict(across: Compared, itself: Compared | None, *, allowed: float = ALLOWED) -> CanaryWord:
    """What a comparison says, given what the reference layout differs from itself.

    "same": no answer parts. "within tolerance": no greater share of the prompts parts than in `itself`, plus `allowed`.
    "unknown": too few prompts, or no noise floor where answers part, or one so high that it would pass everything.
    """
    if across.n < LEAST:
        return "unknown"
    if not across.partings:
        return "same"
    if itself is None or itself.n < LEAST:
        return "unknown"
    most = len(itself.partings) / itself.n + allowed
    if most >= 1:
        return "unknown"
    return "within tolerance" if len(across.partings) / across.n <= most else "differs"


def canary_verdict(first: str, second: str, across: Compared, itself: Compared | None) -> CanaryVerdict:
    """What two candidates' canaries say, with the noise floor where one of them was asked twice."""
    floor = "asked once each, so there is no noise floor: run one of them again under the same name"
    if itself is not None:
        floor = f"noise floor, one of them against itself: {len(itself.partings)} of {itself.n} differ"
    return CanaryVerdict(
        first=first,
        second=second,
        word=verdict(across, itself),
        n=across.n,
        missing=across.missing,
        parted=tuple(one.question for one in across.partings),
        itself=None if itself is None else len(itself.partings),
        itself_n=None if itself is None else itself.n,
        sentence=f"{told(across)}; {floor}" if across.partings else told(across),
    )


def told(compared: Compared) -> str:
    """One line: how many are the same, and the place where the earliest parts."""
    line = f"{compared.n - len(compared.partings)} of {compared.n} answers are the same"
    if compared.missing:
        line += f", {compared.missing} could not be compared"
    if not compared.partings:
        return line
    first = min(compared.partings, key=lambda one: one.at)
    return f"{line}; {first.question} parts at character {first.at}: {first.ours!r} against {first.theirs!r}"


def _texts(answers: Sequence[Answer]) -> dict[str, str]:
    """The first epoch's single answers; what thinking or an error left without text is none."""
    return {
        one.asked.question: one.text
        for one in answers
        if one.outcome in ("ok", "truncated") and one.asked.arm == "single" and one.asked.epoch == 0
    }


def _parting(question: str, ours: str, theirs: str) -> Parting | None:
    if ours == theirs:
        return None
    pairs = enumerate(zip(ours, theirs, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
    return Parting(question=question, at=at, ours=ours[at : at + SHOWN], theirs=theirs[at : at + SHOWN])
