"""The parts of a report about one evaluation, as data: its answer, what judges said of it, and what people said."""

from __future__ import annotations

from dataclasses import dataclass, field

from evener.records.answers import JudgeIdentity, Pool
from evener.records.evaluation import EvalAsked, EvalResult
from evener.records.judging import CorrectedShare, Majority, MqmResult, PairJudged, Passport, RubricResult, Together


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one judge said of the run's answers. `marks` say what speaks against this judge."""

    judge: JudgeIdentity
    judgements: int  # replies that were kept, probes included
    unparseable: int  # replies without a verdict that could be read
    failed: int  # requests that the judge never answered
    mqm: tuple[MqmResult, ...]
    rubric: tuple[RubricResult, ...]
    pairs: tuple[PairJudged, ...]
    passport: Passport
    marks: tuple[str, ...]
    corrected: tuple[CorrectedShare, ...] = ()  # by people's labels of the random pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """What judges and people make of the same answers together. `corrected` are the shares of the majority."""

    majority: tuple[Majority, ...]  # empty where one judge is alone
    corrected: tuple[CorrectedShare, ...]
    together: tuple[Together, ...]  # how far they agree, by what was labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What people said of the run's answers in one pool. Only the random pool speaks for all answers.

    `agreement`, `kappa` and `ac1` are with code or judges, over the `n` things that both labelled, `alpha` of these and
    each person by name; None where undefined.
    """

    pool: Pool
    people: int  # who labelled
    labels: dict[str, int]  # label -> how often it stands
    n: int
    agreement: float | None
    kappa: float | None
    ac1: float | None
    alpha: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """One evaluation. `result` is None for a run that never ended: then `outcomes` say what had been answered."""

    candidate: str  # model, quantisation and mode, as it was called
    asked: EvalAsked | None  # None for answers of another tool
    result: EvalResult | None
    answers: int  # replies that are kept, of every arm
    outcomes: dict[str, int]  # outcome -> replies
    judged: tuple[Judged, ...] = ()
    jury: Jury | None = None  # None where nobody judged
    labels: tuple[Labels, ...] = ()
    notes: tuple[str, ...] = field(default=())
