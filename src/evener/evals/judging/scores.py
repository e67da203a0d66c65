"""Judges' labels as scores of their own, beside what code says of the same suite and never mixed with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.evals import tally
from evener.evals.judging.counting import penalty_of
from evener.evals.judging.labels import WORTH, Labels, Thing, kind_of, labels, latest, majorities
from evener.evals.scoring.any import CONTAMINATED, JUDGE_FAILED, NO_JUDGE, NO_MAJORITY, UNREAD
from evener.records.answers import EVIDENCE, Answer, Judgement, Label, Score
from evener.records.judging import Kind
from evener.records.questions import Question, Suite
from evener.records.verdicts import Standing

NEEDS: Mapping[str, Kind] = {
    "rubric": "rubric",
    "translation": "mqm",
}  # what a judge is asked of a question, by its scoring
# A segment without a translation costs as much as one critical error, MQM's "non-translation".
NOT_TRANSLATED = 25.0

Said = Mapping[str, Sequence[Judgement]]  # judge -> its replies


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSuite:
    """One candidate's answers to the questions of a suite that a judge can score, as one judge or several see them."""

    scores: dict[str, float | None]  # question -> the mean of its epochs
    failed: dict[str, float]  # question -> share of its epochs that are no evidence about the model
    clusters: dict[str, str]
    standing: Standing
    counted_wrong: Standing
    asked: int
    answers: tuple[Answer, ...]


def kinds_of(suite: Suite) -> list[Kind]:
    """What judges can be asked about a suite."""
    return list(dict.fromkeys(NEEDS[q.scoring] for q in suite.questions if q.scoring in NEEDS))


def by_judges(
    suite: Suite, answers: Sequence[Answer], judges: Said, kind: Kind, *, name: str, epochs: int
) -> JudgedSuite:
    """`judges` are those who decide: one by what it says, several by more than half of them."""
    questions = {q.id: q for q in suite.questions if NEEDS.get(q.scoring) == kind}
    mine = [answer for answer in answers if answer.asked.question in questions]
    by = {who: labels(said, kind) for who, said in judges.items()}
    told: Mapping[Thing, Label | None] = majorities(by) if len(by) > 1 else next(iter(by.values()), {})
    reasons = _reasons(judges, by, kind)
    scores = [_score(answer, told, reasons, by=name) for answer in mine]
    means, failed = tally.question_means(scores), tally.question_failures(scores)
    clusters = {q.id: q.cluster for q in questions.values()}
    excluded, wrong = (
        tally.standing_of(name, means, clusters, scores, mine, failed=failed, policy=policy)
        for policy in ("excluded", "counted wrong")
    )
    return JudgedSuite(
        scores=means,
        failed=failed,
        clusters=clusters,
        standing=excluded,
        counted_wrong=wrong,
        asked=len(questions) * epochs,
        answers=tuple(mine),
    )


def _score(answer: Answer, told: Mapping[Thing, Label | None], reasons: Mapping[Thing, str], *, by: str) -> Score:
    thing = (answer.asked, None)
    label = told.get(thing)
    if (why := no_evidence(answer)) is not None:
        return Score(asked=answer.asked, scorer=f"judge:{by}", value=None, why=why)
    if label is None:
        return Score(asked=answer.asked, scorer=f"judge:{by}", value=None, why=reasons.get(thing, NO_JUDGE))
    return Score(asked=answer.asked, scorer=f"judge:{by}", value=WORTH[label])


def left_to_judges(reasons: Mapping[str, int]) -> dict[str, int]:
    """Why answers have no score by code, where judges have spoken."""
    return {"left to judges" if why == NO_JUDGE else why: n for why, n in reasons.items()}


def no_evidence(answer: Answer) -> str | None:
    """Why an answer says nothing about the model; None where it does."""
    if answer.is_contaminated:
        return CONTAMINATED
    return None if answer.outcome in EVIDENCE else answer.outcome


def _reasons(judges: Said, by: Mapping[str, Labels], kind: Kind) -> dict[Thing, str]:
    """Why an answer that was shown to a judge has no label."""
    asked = [one for said in judges.values() for one in said if kind_of(one) == kind and one.verdict is None]
    found: dict[Thing, str] = {
        (one.asked, None): JUDGE_FAILED if one.outcome == "judge_error" else UNREAD for one in asked
    }
    if len(by) > 1:
        found |= {thing: NO_MAJORITY for said in by.values() for thing in said}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalties:
    """One candidate's translations in one direction as one judge counts their errors. `failed` are questions without a
    translation in some of their epochs: the share of these."""

    penalties: dict[str, float | None]  # question -> mean penalty over its judged epochs, None where none was judged
    failed: dict[str, float]


def penalties(questions: Mapping[str, Question], answers: Sequence[Answer], said: Sequence[Judgement]) -> Penalties:
    """`questions` are of one direction, `said` what one judge says."""
    counted = {one.asked: penalty_of(one) for one in latest(said, "mqm")}
    by: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.asked.question in questions:
            by.setdefault(answer.asked.question, []).append(answer)
    found, failed = {}, {}
    for name, mine in by.items():
        usable = [answer for answer in mine if no_evidence(answer) is None]
        known = [counted[answer.asked] for answer in usable if answer.asked in counted]
        found[name] = sum(known) / len(known) if known else None
        failed[name] = 1 - len(usable) / len(mine)
    return Penalties(penalties=found, failed=failed)
