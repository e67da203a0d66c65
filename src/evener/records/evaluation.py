"""What one candidate's answers to suites came to. Shares are 0 to 1; questions are compared across runs by id."""

from __future__ import annotations

from dataclasses import dataclass, field

from evener.records.answers import Arm
from evener.records.measures import Measure
from evener.records.verdicts import Standing, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAsked:
    """What was asked for: the first fact of an evaluation, from which it goes on after a break."""

    candidate: str
    suites: tuple[str, ...]  # names of ours, or paths of files
    sha256: tuple[str, ...]  # of those files, in the same order
    quick: bool = False
    categories: tuple[str, ...] = ()
    most: int | None = None  # questions per suite
    arms: tuple[Arm, ...] = ("single",)
    k: int = 5  # answers per vote
    epochs: int = 1
    temperature: float = 0.0
    most_tokens: int = 1024
    seed: int = 1
    thinking: bool | None = False
    parallel: int = 1
    timeout_s: float = 600.0
    back_within_s: float = 120.0  # how long the server may be away before the evaluation stops
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """One suite under one arm. `scores` maps each question to the mean of its epochs, None where nothing was scored.

    `standing` leaves answers out that are no evidence about the model, `counted_wrong` takes them for wrong ones.
    `failed` maps a question to the share of its epochs that are no evidence, where there are some; 0 where nobody could
    have scored it. `measures` are further figures of the suite: of declining, of corpora, of epochs.
    """

    suite: str
    sha256: str  # of the suite's file: other questions are another suite
    version: int
    arm: Arm
    epochs: int
    asked: int  # answers that were wanted
    answered: int  # replies that came: timeouts and errors are none
    standing: Standing
    counted_wrong: Standing
    categories: dict[str, Standing]
    scores: dict[str, float | None]
    clusters: dict[str, str]
    failed: dict[str, float] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    tokens: int | None = None  # of all answers, what an arm used up besides included
    seconds: float = 0.0  # of all answers, one after the other
    truncated: float | None = None  # share of answers cut short by the token limit
    thought: float | None = None  # share of answers that show thinking, whatever was asked
    were_wrong: int | None = None  # single answers that were wrong, where this arm has a score, too
    were_right: int | None = None  # single answers that were right, where this arm has a score, too
    healed: int | None = None  # by this arm: single answers that were wrong and became right
    harmed: int | None = None  # by this arm: single answers that were right and became wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """The answer of `evener eval`. `validity` is "valid" or why the figures must not be used; `partial` why answers
    are missing; `notes` what a reader must know to use the figures."""

    candidate: str
    url: str
    model: str | None  # as the server calls it
    results: tuple[SuiteResult, ...]
    temperature: float
    seed: int
    epochs: int
    parallel: int
    most_tokens: int
    thinking_asked: bool | None
    validity: str = "valid"
    partial: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How to spend a number of answers of one candidate."""

    questions: int
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlan:
    """What one suite can prove. Gaps are shares: the least that is found 4 times in 5, None where none is.

    `gap` takes all questions for independent, `gap_by_clusters` only clusters; the truth lies between, and where runs
    have shown it, both are the truth. `sweep` is the least number of disagreements, all won by one candidate, that
    counts; None when no answers could. `never` are verdicts that no answers could bring. `split` is how as many answers
    of one candidate, or as many as the minutes allow, tell most. `se` and `split_se` are the standard error of a
    candidate's mean, as asked and so split; None where no run has shown how much answers vary.
    """

    suite: str
    questions: int
    clusters: int
    answers: int  # of all candidates, epochs and arms
    minutes: float | None
    gap: float | None
    gap_by_clusters: float | None
    sweep: int | None
    sentence: str
    never: tuple[Word, ...] = ()
    split: Split | None = None  # None without a score
    se: float | None = None
    split_se: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPlan:
    """`evener eval --plan`: before anything is asked."""

    models: int
    epochs: int
    suites: tuple[SuitePlan, ...]
    answers: int
    minutes: float | None
    notes: tuple[str, ...]
