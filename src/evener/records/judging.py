"""What a judge found, and how far it is to be believed. Shares are 0 to 1; None is "not asked" or "not defined"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evener.records.answers import JudgeIdentity

Kind = Literal["rubric", "mqm", "pair"]  # what a judge was asked, by the name of its template


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
    family: Hits | None  # an answer that names the judge against one that names a stranger: not its own
    people: Hits | None  # verdicts that people agree with, of the random pool; more than half of them where they differ
    kappa: float | None = None  # with people
    ac1: float | None = None  # with people
    kappa_interval: tuple[float, float] | None = None  # 95 %, from resampled answers; None where they are few
    alpha: float | None = None  # Krippendorff's, of the judge and each person by name


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
    sound: Hits | None = None  # translations without a critical or major error


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
class Alike:
    """Two who labelled the same things, judges or people. None where a figure is not defined."""

    first: str  # a judge, or a person
    second: str  # another one
    n: int  # things that both labelled
    raw: float | None  # share of them with the same label
    kappa: float | None  # Cohen's
    kappa_interval: tuple[float, float] | None  # 95 %, from resampled things
    ac1: float | None  # Gwet's


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Everybody who labelled the same things: judges, and people in the random pool.

    `alpha` is Krippendorff's for nominal labels over the `n` things with two labels or more, its 95 % interval from
    resampled clusters; None where it is not defined, or too few things tell.
    """

    kind: Kind  # what was labelled: answers by rubric, translations by their errors, or pairs
    judges: int  # how many judges
    people: int  # how many people
    n: int
    alpha: float | None
    interval: tuple[float, float] | None  # of alpha
    pairs: tuple[Alike, ...]  # any two of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority:
    """What more than half of several judges say of one candidate's answers.

    Where there is no such majority an answer is unscored: `split` of them, answers to `split_on`.
    """

    candidate: str  # or two, of a pair: "a / b"
    kind: Kind  # what was labelled
    judges: tuple[str, ...]  # by name
    passed: Hits | None  # rubric met, no critical or major error, or the first of a pair preferred
    split: int
    split_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedShare:
    """The share that a judge passed, corrected by people's labels of the *random* pool.

    `judge_mean` is over the `n` answers that the judge labelled; people labelled `labelled` of these with one
    voice, or more than half of them, and looked at `unsure` more without telling. `why` says why `mean` is None.
    """

    candidate: str  # or two, of a pair: "a / b"
    kind: Kind  # what was labelled
    by: str  # the judge, or "majority"
    judge_mean: float
    n: int
    labelled: int
    unsure: int
    people: int  # who labelled
    people_mean: float | None  # of what they labelled
    mean: float | None = None  # the corrected share
    interval: tuple[float, float] | None = None  # 95 %, of the corrected share
    why: str | None = None


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
    corrected: tuple[CorrectedShare, ...] = ()  # this judge's, by people
    majority: tuple[Majority, ...] = ()  # of all judges of this run; none of one judge alone
    together: tuple[Together, ...] = ()  # how far judges and people agree
    partial: str | None = None
    notes: tuple[str, ...] = field(default=())
