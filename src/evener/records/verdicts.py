"""What answers prove about candidates: means, pairs, groups, and the set that holds the best. Shares are 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evener.records.answers import JudgeIdentity
from evener.records.judging import CorrectedShare, Kind, PairJudged, Passport, Together
from evener.records.measures import Measure

Word = Literal[
    "better", "worse", "practically equal", "cannot be separated", "cannot be separated by design", "not comparable"
]
CanaryWord = Literal["same", "within tolerance", "differs", "unknown"]
Policy = Literal["excluded", "counted wrong"]  # what becomes of an answer that is no evidence about the model


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One candidate in one dimension. `mean` is over `n` questions, each the mean of its epochs."""

    candidate: str
    mean: float | None
    interval: tuple[float, float] | None
    n: int
    clusters: int
    unscored: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)  # outcome -> answers
    reasons: dict[str, int] = field(default_factory=dict)  # why unscored -> answers


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """`first` against `second` on the questions that both have. `word` is about the first.

    `gap` is first - second. `p` is two-sided, `p_holm` corrected over all pairs of the dimension. `needed` is how many
    questions would find a gap like this one. `flips_with_policy`: the word differs between the two policies.
    """

    first: str
    second: str
    word: Word
    gap: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    test: str | None
    n: int
    clusters: int
    wins: int
    losses: int
    needed: int | None = None
    flips_with_policy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragile:
    """`flips` of `of` scores, those of `questions`, would bring `second` level with `first`."""

    first: str
    second: str
    flips: int
    of: int
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one candidate's answers to one dimension ended, and its mean under both policies."""

    candidate: str  # whose answers, or under which arm
    asked: int  # answers that were wanted
    answered: int  # replies that came, of whatever outcome
    excluded: float | None  # the mean with answers left out that are no evidence
    counted_wrong: float | None  # the mean with these answers counted as wrong
    truncated: float | None  # share of answers cut short by the token limit
    thought: float | None  # share of answers that show thinking, whatever was asked
    outcomes: dict[str, int]  # outcome -> answers
    reasons: dict[str, int]  # why unscored -> answers
    tokens: int | None  # of all answers, what an arm used up besides included
    seconds: float  # of all answers, one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One candidate's answer to one question. `score` is the mean of its epochs."""

    candidate: str  # who said it
    text: str  # the answer without its thinking; calls of tools as JSON
    score: float | None
    outcome: str  # how the answer ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A question on which two candidates lie far apart, with both answers, of the first epoch that both have.

    Which answer stands first is drawn, so that it can be read without knowing whose it is. Long texts are cut in the
    middle and say so.
    """

    question: str
    category: str
    system: str | None  # the system message
    context: str | None  # the text that the question is about
    prompt: str
    references: tuple[str, ...]  # right answers
    rubric: str | None
    answers: tuple[Said, Said]  # in the order drawn
    epochs: int  # that both have


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingCondition:
    """A condition that is not the same for all candidates, in words; None where it is not known."""

    name: str
    values: dict[str, str | None]  # candidate -> value


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBy:
    """Who scored what code did not: one judge, or several of whom more than half decide.

    `passports` are in the order of the judges, over all runs compared. `marks` say what speaks against them,
    `corrected` what people's labels of the random pool make of each share. `split` answers have no majority.
    """

    kind: Kind  # what they were asked: a rubric, errors of translations, or pairs
    judges: tuple[JudgeIdentity, ...]  # one, or several
    passports: tuple[Passport, ...]
    marks: tuple[str, ...] = ()
    together: Together | None = None  # how far all judges and people agree on such answers
    corrected: tuple[CorrectedShare, ...] = ()
    split: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionVerdict:
    """Everything that one dimension proves. `best` holds the best candidate at 95 %; `dropped` are ruled out.

    `groups` are neighbours that cannot be told apart. `noise` is the gap of a candidate against itself, where it was
    asked twice. `sentence` says it all in one line; `design` what the size could prove at best. `measures` are further
    figures by name and candidate, each with its own interval; no test compares them.
    """

    dimension: str
    policy: Policy
    standings: tuple[Standing, ...]  # best first
    pairs: tuple[PairVerdict, ...]
    best: tuple[str, ...]
    dropped: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    fragile: Fragile | None
    noise: float | None
    sentence: str
    design: str
    endings: tuple[Ending, ...] = ()  # in the order of the standings
    disagreements: tuple[Disagreement, ...] = ()  # of the leader with the second, then with the third
    judged: JudgedBy | None = None  # None: scored by code
    measures: dict[str, dict[str, Measure]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyStanding:
    """Errors of one candidate's translations in one direction: penalty per 1000 source units, lower is better."""

    candidate: str  # whose translations
    per_1000: float | None
    interval: tuple[float, float] | None  # 95 %, by document
    counted_wrong: float | None  # with 25, a critical error, for each segment without a translation
    segments: int
    documents: int
    unscored: int  # segments that nobody judged, or without a translation


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyVerdict:
    """What one judge's lists of errors prove about translations in one direction. Of a pair `gap` is first - second in
    penalty per 1000 source units, and `word` is about the first: "better" has the lower penalty."""

    dimension: str  # suite, direction and judge
    judged: JudgedBy  # by whom
    standings: tuple[PenaltyStanding, ...]  # best first
    pairs: tuple[PairVerdict, ...]  # any two candidates
    best: tuple[str, ...]  # hold the best candidate at 95 %
    dropped: tuple[str, ...]  # are ruled out
    noise: float | None  # penalty between a candidate and itself, where it was asked twice
    sentence: str  # says it in one line
    policy: Policy = "excluded"  # of segments without a translation, for pairs and noise; standings have both


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """What a judge, or more than half of several, prefer of two candidates' answers, each pair in both orders.

    `word` is about the first; `p_holm` is over all pairs of these judges.
    """

    judged: JudgedBy  # by whom
    pair: PairJudged  # how often each was preferred
    p_holm: float | None
    word: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryVerdict:
    """Whether `first` and `second`, two layouts of one model, give the same answers; nothing about right or wrong.

    `n` prompts were answered by both, `missing` by one or none; the answers to `parted` differ. `itself` of
    `itself_n` prompts differ where one of the two was asked twice: the noise floor, None without a second run.
    `word` is what that comes to, "unknown" where answers part without a noise floor; `sentence` tells it in one line.
    """

    first: str
    second: str
    word: CanaryWord
    n: int
    missing: int
    parted: tuple[str, ...]
    itself: int | None
    itself_n: int | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """`evener verdict`. `dimensions` are scored by code, `judged`, `penalties` and `preferences` by judges.

    `arms` compare what one candidate did when asked once, voting, or reflecting. `canaries` hold each candidate's
    canary against the first one's. `differing` names conditions that should have been the same for all and were not.
    """

    candidates: tuple[str, ...]
    dimensions: tuple[DimensionVerdict, ...]
    arms: tuple[DimensionVerdict, ...]
    differing: tuple[str, ...]
    notes: tuple[str, ...]
    runs: dict[str, str] = field(default_factory=dict)  # candidate -> the id of its run
    conditions: tuple[DifferingCondition, ...] = ()  # all that differ, those of `differing` first
    alike: dict[str, str] = field(default_factory=dict)  # conditions that are known and the same for all, in words
    canaries: tuple[CanaryVerdict, ...] = ()
    judged: tuple[DimensionVerdict, ...] = ()  # by judges, of what code did not score or scored in another way
    penalties: tuple[PenaltyVerdict, ...] = ()
    preferences: tuple[Preference, ...] = ()
