"""What a judge found, and how far it is to be believed. Shares are 0 to 1; None is "not asked" or "not defined"."""

from __future__ import annotations

from dataclasses import dataclass, field

from evener.records.answers import JudgeIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """`hits` of `n`, with the 95 % interval that n allows."""

    hits: int
    n: int
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passport:
    """How a judge did on questions whose answer is known, and on tricks. None where a probe was not asked."""

    known: Hits | None  # right answers called right and wrong ones called wrong
    known_right: Hits | None  # of the right ones, called right
    known_wrong: Hits | None  # of the wrong ones, called wrong
    retest: Hits | None  # the same question again: the same verdict
    order: Hits | None  # a pair in both orders: the same winner
    identical: Hits | None  # an answer against itself: a tie
    length: Hits | None  # an answer against itself, padded: not the padded one
    people: Hits | None  # verdicts that people agree with
    kappa: float | None = None  # with people
    ac1: float | None = None  # with people


@dataclass(frozen=True, slots=True, kw_only=True)
class MqmResult:
    """Penalty per 1000 source units of one candidate in one direction; lower is better."""

    candidate: str
    direction: str
    per_1000: float
    interval: tuple[float, float] | None
    segments: int
    documents: int
    errors: dict[str, int]  # severity -> errors
    invented: int  # quotes that are not in the translation: they count for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricResult:
    """Answers that met their rubric."""

    candidate: str
    passed: Hits


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudged:
    """One candidate against another, each question in both orders; a winner that changes with the order is a tie."""

    first: str
    second: str
    first_wins: int
    second_wins: int
    ties: int
    order_changed: int  # of the ties, those where each order had its winner
    p: float | None  # two-sided, over questions (clusters, where questions belong together) with a winner


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeResult:
    """The answer of `evener judge`. `marks` say what speaks against this judge: its own family, a probe that failed."""

    judge: JudgeIdentity
    asked: int  # requests sent now
    from_cache: int
    unparseable: int
    failed: int
    tokens: int | None
    seconds: float
    mqm: tuple[MqmResult, ...] = ()
    rubric: tuple[RubricResult, ...] = ()
    pairs: tuple[PairJudged, ...] = ()
    passport: Passport | None = None
    marks: tuple[str, ...] = ()
    partial: str | None = None
    notes: tuple[str, ...] = field(default=())
