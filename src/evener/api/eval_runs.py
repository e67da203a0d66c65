"""What an evaluation has left in its run folder, read in one way by all who look at it afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from evener.api import evals
from evener.edges import run_folder
from evener.edges.run_folder import RunData
from evener.records.answers import Answer, Asked
from evener.records.evaluation import EvalResult
from evener.records.questions import Question


def questions_of(data: RunData) -> dict[str, Question]:
    """By id. Raises what `evals.questions_of` raises."""
    return {q.id: q for suite in evals.questions_of(data) for q in suite.questions}


def latest_answers(data: RunData) -> list[Answer]:
    """The last reply to each question, of every arm: what was asked again after a break counts once."""
    return list({answer.asked: answer for answer in run_folder.read_answers(data.path)}.values())


def single_answers(data: RunData) -> list[Answer]:
    """The last reply to each question that was asked once, without what other arms asked besides."""
    return [answer for answer in latest_answers(data) if answer.asked.arm == "single"]


def result_of(data: RunData) -> EvalResult | None:
    """None for a run that did not come to its end, or of something else."""
    stages = data.summary.stages if data.summary else ()
    return next((stage.evaluation for stage in stages if stage.evaluation is not None), None)


def served(data: RunData) -> str | None:
    """The model as its server called it when the run began; None where nobody kept that."""
    return next((fact.data.get("served") for fact in data.facts if fact.kind == evals.ASKED), None)


def single_scores(result: EvalResult | None) -> dict[str, float | None]:
    """Question to the mean of its epochs, asked once; empty without a result."""
    return {
        name: value
        for one in (result.results if result else ())
        if one.arm == "single"
        for name, value in one.scores.items()
    }


def scores_by_code(answers: Sequence[Answer], result: EvalResult | None) -> dict[Asked, float | None]:
    """What code said of each single answer's question, where every epoch of it was scored alike."""
    means = single_scores(result)
    return {a.asked: means.get(a.asked.question) for a in answers if a.asked.arm == "single"}
