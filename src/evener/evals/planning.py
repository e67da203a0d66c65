"""What suites can prove before anybody is asked, and what asking costs. Pure.

Gaps are for two models that disagree on three questions of ten, found four times in five (stats.power); questions of
one cluster count as one where they stand or fall together, so that the truth lies between clusters and questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from evener.records.answers import Arm
from evener.records.evaluation import EvalPlan, SuitePlan
from evener.records.questions import Suite
from evener.stats import power

GAPS = (0.05, 0.10, 0.20)
# Standard deviation of paired differences in chrF, until runs have shown it: between a right and a wrong translation of
# the same text it is 0.14 (zh-en) and 0.16 (en-zh) in our own suite.
GRADED_SD = 0.15
# Tokens of an answer without thinking, by scoring: assumptions, from what the references of our suites take.
ANSWER_TOKENS = {"translation": 90, "match": 30, "tests": 300, "fill": 60, "edit": 120, "tool-call": 40, "checks": 70}
OTHER_TOKENS = 60
COMPARED = "has no score: shows whether two layouts of one model answer alike"


def plan(
    suites: Sequence[Suite],
    *,
    models: int,
    epochs: int = 1,
    arms: Sequence[Arm] = ("single",),
    k: int = 5,
    tokens_per_s: float | None = None,
) -> EvalPlan:
    """For `models` candidates that are all asked the same. `tokens_per_s` is the total rate of one of them; without it
    nobody knows how long it takes."""
    each = 1 + ("vote" in arms) * (k - 1) + ("reflection" in arms)
    rows = tuple(_row(suite, models=models, epochs=epochs, each=each, tokens_per_s=tokens_per_s) for suite in suites)
    return EvalPlan(
        models=models,
        epochs=epochs,
        suites=rows,
        answers=sum(row.answers for row in rows),
        minutes=sum(row.minutes or 0.0 for row in rows) if tokens_per_s else None,
        notes=tuple(_notes(rows, models, epochs)),
    )


def _row(suite: Suite, *, models: int, epochs: int, each: int, tokens_per_s: float | None) -> SuitePlan:
    n, clusters = len(suite.questions), len({q.cluster for q in suite.questions})
    able = power.design(clusters, models)
    scored = any(q.scoring != "same" for q in suite.questions)
    answers = n * epochs * each * models
    tokens = sum(ANSWER_TOKENS.get(q.scoring, OTHER_TOKENS) for q in suite.questions) * epochs * each * models
    return SuitePlan(
        suite=suite.name,
        questions=n,
        clusters=clusters,
        answers=answers,
        minutes=None if tokens_per_s is None else tokens / tokens_per_s / 60,
        gap=power.detectable_gap(n, models=models) if scored else None,
        gap_by_clusters=power.detectable_gap(clusters, models=models) if scored else None,
        sweep=able.sweep if scored else None,
        sentence=_sentence(n, clusters, models) if scored else COMPARED,
    )


def _sentence(n: int, clusters: int, models: int) -> str:
    if models < 2:
        return "one candidate: a score and its interval, no comparison"
    if power.design(clusters, models).is_impossible:
        most = next((m for m in range(models - 1, 1, -1) if not power.design(clusters, m).is_impossible), None)
        able = "not even two" if most is None else f"at most {most}"
        return f"cannot separate {models} candidates, whatever they answer: {clusters} independent questions, {able}"
    gaps = [
        gap for gap in (power.detectable_gap(n, models=models), power.detectable_gap(clusters, models=models)) if gap
    ]
    if not gaps:
        needed = power.questions_needed(GAPS[-1], models=models)
        return f"finds no gap below 30 points reliably; {needed} questions would find one of 20"
    points = sorted({ceil(gap * 100) for gap in gaps})
    return f"finds a gap of {' to '.join(map(str, points))} points 4 times in 5"


def _notes(rows: Sequence[SuitePlan], models: int, epochs: int) -> list[str]:
    notes = []
    if models > 1:
        needs = ", ".join(f"{gap * 100:.0f} points: {power.questions_needed(gap, models=models)}" for gap in GAPS)
        notes.append(f"questions that find a gap 4 times in 5 among {models} candidates (Holm): {needs}")
    if epochs > 1:
        notes.append("epochs steady each answer and do not replace questions: ask more questions first")
    if any(row.minutes is None for row in rows):
        notes.append("how long it takes depends on the rate: --rate TOK/S (of evener bench users, at as many users)")
    else:
        notes.append("lengths of answers are assumed: " + ", ".join(f"{k} {v}" for k, v in ANSWER_TOKENS.items()))
    return notes
