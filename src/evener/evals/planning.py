"""What suites can prove before anybody is asked, and what asking costs. Pure.

Gaps are those that are found four times in five (stats.power): of right or wrong between models that disagree on three
questions of ten, of graded scores where paired differences vary as between translations of our own suite; both as runs
have shown them, where there are some. Questions of one cluster count as one where they stand or fall together, so that
the truth lies between clusters and questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.evals.seen import Seen
from evener.evals.verdicts import MARGIN
from evener.records.answers import Arm
from evener.records.evaluation import EvalPlan, Split, SuitePlan
from evener.records.questions import Suite
from evener.records.verdicts import Word
from evener.stats import power
from evener.stats.comparisons import is_equivalent

GAPS = (0.05, 0.10, 0.20)
# Standard deviation of paired differences in chrF, until runs have shown it: between a right and a wrong translation of
# the same text it is 0.14 (zh-en) and 0.16 (en-zh) in our own suite.
GRADED_SD = 0.15
# Tokens of an answer without thinking, by scoring: assumptions, from what the references of our suites take; before a
# last line "Answer: ..." a model reckons.
ANSWER_TOKENS = {
    "translation": 90,
    "match": 30,
    "final": 200,
    "tests": 300,
    "fill": 60,
    "edit": 120,
    "tool-call": 40,
    "checks": 70,
}
OTHER_TOKENS = 60
COMPARED = "has no score: shows whether two layouts of one model answer alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be planned: `models` candidates that are all asked the same.

    `tokens_per_s` is the total rate of one of them; without it nobody knows how long it takes. `within_minutes` is what
    asking all of them may take, None: as long as what is asked takes. `seen` is what runs show, by a suite's hash.
    """

    models: int
    epochs: int = 1
    arms: Sequence[Arm] = ("single",)
    k: int = 5
    temperature: float | None = None
    tokens_per_s: float | None = None
    within_minutes: float | None = None
    seen: Mapping[str, Seen] = field(default_factory=dict)

    @property
    def each(self) -> int:
        """Answers per question and epoch, of all arms."""
        return 1 + ("vote" in self.arms) * (self.k - 1) + ("reflection" in self.arms)


def plan(suites: Sequence[Suite], wanted: Wanted, *, whole: Mapping[str, int] | None = None) -> EvalPlan:
    """`whole` is how many questions there are to choose from, by suite; without it those of `suites`."""
    budget = _budget(suites, wanted)
    rows = tuple(_row(suite, wanted, budget, (whole or {}).get(suite.name, len(suite.questions))) for suite in suites)
    return EvalPlan(
        models=wanted.models,
        epochs=wanted.epochs,
        suites=rows,
        answers=sum(row.answers for row in rows),
        minutes=sum(row.minutes or 0.0 for row in rows) if wanted.tokens_per_s else None,
        notes=tuple(_notes(suites, rows, wanted)),
    )


def _budget(suites: Sequence[Suite], wanted: Wanted) -> float:
    """How much of what is asked for the minutes allow; 1 without a limit."""
    if wanted.within_minutes is None or wanted.tokens_per_s is None:
        return 1.0
    return wanted.within_minutes / (sum(_tokens(suite, wanted) for suite in suites) / wanted.tokens_per_s / 60)


def _tokens(suite: Suite, wanted: Wanted) -> float:
    """Of all answers of all candidates."""
    known = wanted.seen.get(suite.sha256, Seen()).tokens
    assumed = sum(ANSWER_TOKENS.get(q.scoring, OTHER_TOKENS) for q in suite.questions)
    once = assumed if known is None else known * len(suite.questions)
    return once * wanted.epochs * wanted.each * wanted.models


def _row(suite: Suite, wanted: Wanted, budget: float, whole: int) -> SuitePlan:
    n, clusters, models = len(suite.questions), len({q.cluster for q in suite.questions}), wanted.models
    plain = SuitePlan(
        suite=suite.name,
        questions=n,
        clusters=clusters,
        answers=n * wanted.epochs * wanted.each * models,
        minutes=None if wanted.tokens_per_s is None else _tokens(suite, wanted) / wanted.tokens_per_s / 60,
        gap=None,
        gap_by_clusters=None,
        sweep=None,
        sentence=COMPARED,
    )
    if all(q.scoring == "same" for q in suite.questions):
        return plain
    seen = wanted.seen.get(suite.sha256, Seen())
    split = power.best_split(max(1, math.floor(budget * n * wanted.epochs)), whole)
    gap, by_clusters = _gaps(suite, n, clusters, wanted)
    return replace(
        plain,
        gap=gap,
        gap_by_clusters=by_clusters,
        sweep=power.design(clusters, models).sweep,
        sentence=_sentence(clusters, models, (gap, by_clusters), bound=seen.discordance or power.DISCORDANCE),
        never=_never(n, clusters, models, graded=is_graded(suite)),
        split=split,
        se=_se(Split(questions=n, epochs=wanted.epochs), seen),
        split_se=_se(split, seen),
    )


def is_graded(suite: Suite) -> bool:
    """Whether its scores are more than right or wrong."""
    return any(q.scoring == "translation" for q in suite.questions)


def _gaps(suite: Suite, n: int, clusters: int, wanted: Wanted) -> tuple[float | None, float | None]:
    """(with all questions independent, with clusters only): the same where runs have shown how differences vary."""
    seen, models = wanted.seen.get(suite.sha256, Seen()), wanted.models
    if seen.discordance is not None and clusters == n:
        found = power.detectable_gap(n, models=models, discordance=seen.discordance)
        return found, found
    if (spread := seen.spread_at(wanted.epochs)) is not None:
        found = power.graded_gap(clusters, spread, models=models)
        return found, found
    if is_graded(suite):
        return power.graded_gap(n, GRADED_SD, models=models), power.graded_gap(clusters, GRADED_SD, models=models)
    return power.detectable_gap(n, models=models), power.detectable_gap(clusters, models=models)


def _sentence(clusters: int, models: int, gaps: Sequence[float | None], *, bound: float) -> str:
    """`bound` is the share of questions on which two disagree: no gap is greater."""
    if models < 2:
        return "one candidate: a score and its interval, no comparison"
    if power.design(clusters, models).is_impossible:
        most = next((m for m in range(models - 1, 1, -1) if not power.design(clusters, m).is_impossible), None)
        able = "not even two" if most is None else f"at most {most}"
        return f"cannot separate {models} candidates, whatever they answer: {clusters} independent questions, {able}"
    points = sorted({math.ceil(round(found * 100, 6)) for found in gaps if found})
    if not points:
        needed = power.questions_needed(GAPS[-1], models=models, discordance=bound)
        more = "" if needed is None else f"; {needed} questions would find one of {GAPS[-1] * 100:.0f}"
        return f"finds no gap below {bound * 100:.0f} points reliably{more}"
    return f"finds a gap of {' to '.join(map(str, points))} points 4 times in 5"


def _never(n: int, clusters: int, models: int, *, graded: bool) -> tuple[Word, ...]:
    """Verdicts that no answers could bring. Practically equal: not even if two answer each question alike."""
    words: list[Word] = ["better", "worse"] if power.design(clusters, models).is_impossible else []
    alike = is_equivalent([0.0] * n, range(n), margin=MARGIN, binary=True)
    return tuple(words) if alike or graded or clusters < n else (*words, "practically equal")


def _se(split: Split, seen: Seen) -> float | None:
    """Of a mean, with questions taken for independent."""
    if seen.between is None or seen.within is None:
        return None
    return power.standard_error(split.questions, split.epochs, between=seen.between, within=seen.within)


def _notes(suites: Sequence[Suite], rows: Sequence[SuitePlan], wanted: Wanted) -> Iterator[str]:
    scored = [(suite, row) for suite, row in zip(suites, rows, strict=True) if row.split is not None]
    if wanted.models > 1:
        yield from _needed([suite for suite, _ in scored], wanted.models)
        for suite, _ in scored:
            yield from _differences(suite, wanted)
    for _, row in scored:
        yield from _split(row, wanted)
    if wanted.epochs > 1:
        yield "epochs steady each answer and do not replace questions: ask more questions first"
        if wanted.temperature == 0:
            yield "at temperature 0 the epochs of a question repeat each other but for rounding: --temperature"
    yield from _time(suites, wanted)


def _needed(suites: Sequence[Suite], models: int) -> Iterator[str]:
    """Sizes that would do, by the kind of score."""
    equal = []
    if not all(map(is_graded, suites)):
        exact, connor = (
            [_each(gap, needed(gap, models=models)) for gap in GAPS]
            for needed in (power.questions_needed, power.connor)
        )
        yield (
            f"questions of right or wrong that find a gap 4 times in 5 among {models} candidates (Holm): "
            f"{', '.join(exact)} (Connor's formula, for a test that is not exact: {', '.join(connor)})"
        )
        equal.append(f"{power.equal_needed(MARGIN, math.sqrt(power.DISCORDANCE))} of right or wrong")
    if any(map(is_graded, suites)):
        graded = [_each(gap, power.graded_needed(gap, GRADED_SD, models=models)) for gap in GAPS]
        yield f"graded questions that do: {', '.join(graded)}"
        equal.append(f"{power.equal_needed(MARGIN, GRADED_SD)} graded ones")
    if equal:
        what = f"two equal candidates practically equal, within {MARGIN * 100:.0f} points"
        yield f"questions that find {what}, 4 times in 5: {', '.join(equal)}"


def _each(gap: float, needed: int | None) -> str:
    return f"{gap * 100:.0f} points {needed}"


def _differences(suite: Suite, wanted: Wanted) -> Iterator[str]:
    """What is known, or assumed, of how two candidates differ."""
    seen = wanted.seen.get(suite.sha256, Seen())
    if seen.discordance is not None:
        yield f"{suite.name}: as runs show, two candidates disagree on {seen.discordance * 100:.0f} of 100 questions"
    elif (spread := seen.spread_at(wanted.epochs)) is not None:
        of = "clusters" if seen.size > 1 else "questions"
        points = spread * 100
        yield f"{suite.name}: as runs show, paired differences of {of} have a standard deviation of {points:.0f} points"
    elif is_graded(suite):
        told = (
            f"{suite.name}: paired differences are assumed to have a standard deviation of {GRADED_SD * 100:.0f} points"
        )
        yield f"{told}, until runs of two candidates show it: --from RUN --from RUN"


def _split(row: SuitePlan, wanted: Wanted) -> Iterator[str]:
    """What tells more at the same price, or what the minutes buy."""
    best = row.split
    if best is None or (best.questions, best.epochs) == (row.questions, wanted.epochs):
        return
    steadier = ""
    if row.se is not None and row.split_se is not None:
        steadier = f" (standard error {row.split_se * 100:.1f} instead of {row.se * 100:.1f} points)"
    split = (
        f"{best.questions} questions in {best.epochs} epochs" if best.epochs > 1 else f"{best.questions} questions once"
    )
    if wanted.within_minutes is None:
        yield f"{row.suite}: as many answers tell more as {split}{steadier}"
    else:
        yield f"{row.suite}: its share of {wanted.within_minutes:.0f} minutes is best spent on {split}{steadier}"


def _time(suites: Sequence[Suite], wanted: Wanted) -> Iterator[str]:
    if wanted.tokens_per_s is None:
        yield "how long it takes depends on the rate: --rate TOK/S (of evener bench users, at as many users)"
        return
    unknown = [suite for suite in suites if wanted.seen.get(suite.sha256, Seen()).tokens is None]
    kinds = dict.fromkeys(q.scoring for suite in unknown for q in suite.questions)
    if kinds:
        lengths = ", ".join(f"{kind} {ANSWER_TOKENS.get(kind, OTHER_TOKENS)}" for kind in kinds)
        yield f"lengths of answers in tokens are assumed: {lengths}"
