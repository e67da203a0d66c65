"""Answers and their scores to what a suite came to. Pure: the same answers always give the same figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from evener.evals.arms import change
from evener.evals.measures import measures
from evener.evals.scoring.any import NOT_ITS_FAULT
from evener.records.answers import NO_REPLY, Answer, Arm, Score
from evener.records.evaluation import SuiteResult
from evener.records.questions import Suite
from evener.records.verdicts import Policy, Standing
from evener.stats.clusters import estimate, of_scores
from evener.stats.comparisons import is_binary


def tally(
    suite: Suite,
    answers: Sequence[Answer],
    scores: Sequence[Score],
    *,
    arm: Arm,
    epochs: int,
    asked: int,
    single: Sequence[Score] | None = None,
) -> SuiteResult:
    """One suite under one arm. `single` are the scores of asking once, for what the arm changed."""
    questions = {q.id: q for q in suite.questions}
    scored = [score for score in scores if score.asked.question in questions]
    means = question_means(scored)
    failed = question_failures(scored)
    clusters = {name: q.cluster for name, q in questions.items()}
    found = change([one for one in single if one.asked.question in questions], scored) if single is not None else None

    def standing(policy: Policy, category: str | None = None) -> Standing:
        mine = {name: means[name] for name, q in questions.items() if name in means and category in (None, q.category)}
        return standing_of(suite.name, mine, clusters, scored, answers, failed=failed, policy=policy)

    return SuiteResult(
        suite=suite.name,
        sha256=suite.sha256,
        version=suite.version,
        arm=arm,
        epochs=epochs,
        asked=asked,
        answered=sum(answer.outcome not in NO_REPLY for answer in answers),
        standing=standing("excluded"),
        counted_wrong=standing("counted wrong"),
        categories={
            category: standing("excluded", category) for category in dict.fromkeys(q.category for q in suite.questions)
        },
        scores=means,
        clusters=clusters,
        failed=failed,
        measures=measures(questions, scored, answers),
        tokens=_sum(answer.tokens for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
        truncated=_share(answer.outcome == "truncated" for answer in answers),
        thought=_share(answer.thinking_observed for answer in answers if answer.thinking_observed is not None),
        were_wrong=found.wrong if found else None,
        were_right=found.right if found else None,
        healed=found.healed if found else None,
        harmed=found.harmed if found else None,
    )


def question_means(scores: Iterable[Score]) -> dict[str, float | None]:
    """The mean of each question's epochs; None where none of them was scored."""
    values: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        values[score.asked.question] += [] if score.value is None else [score.value]
    return {name: fmean(known) if known else None for name, known in values.items()}


def question_failures(scores: Iterable[Score]) -> dict[str, float]:
    """Share of each question's epochs that are no evidence about the model, where there are some; 0 where nothing could
    have been scored, whatever had been answered."""
    asked: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        asked[score.asked.question].append(score)
    return {
        name: fmean(score.value is None and score.why not in NOT_ITS_FAULT for score in mine)
        for name, mine in asked.items()
        if any(score.value is None for score in mine)
    }


def standing_of(
    name: str,
    means: Mapping[str, float | None],
    clusters: Mapping[str, str],
    scores: Sequence[Score],
    answers: Sequence[Answer],
    *,
    failed: Mapping[str, float],
    policy: Policy,
) -> Standing:
    """The mean over questions with its interval, and how the answers ended."""
    worth = {q: _worth(value, failed.get(q, 0.0), policy) for q, value in means.items()}
    known = {q: value for q, value in worth.items() if value is not None}
    values = list(known.values())
    found = estimate(values, [clusters[q] for q in known], share=is_binary(values))
    outcomes = {score.asked: score.outcome for score in scores if score.outcome is not None}
    return Standing(
        candidate=name,
        mean=found.mean if found else None,
        interval=of_scores(found),
        n=len(known),
        clusters=found.clusters if found else 0,
        unscored=sum(value is None for value in means.values()),
        outcomes=dict(Counter(outcomes.get(a.asked, a.outcome) for a in answers if a.asked.question in means)),
        reasons=dict(Counter(s.why or "" for s in scores if s.value is None and s.asked.question in means)),
    )


def _worth(value: float | None, failed: float, policy: Policy) -> float | None:
    if policy == "excluded" or failed == 0:
        return value
    return (value or 0.0) * (1 - failed)


def _share(values: Iterable[bool | None]) -> float | None:
    known = [bool(value) for value in values]
    return fmean(known) if known else None


def _sum(values: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
