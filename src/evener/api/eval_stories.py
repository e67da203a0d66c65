"""What the folder of one evaluation holds, for its report: its answer, what judges said, what people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evener.api import eval_runs, evals
from evener.edges import run_folder
from evener.edges.run_folder import RunData
from evener.errors import ConfigurationError, NameUnknown
from evener.evals import review
from evener.evals.judging import counting, families
from evener.evals.judging.everybody import Everybody, everybody, passport_marks, unread_marks
from evener.evals.judging.scores import left_to_judges
from evener.records.answers import Answer, Judgement, Review
from evener.records.evaluation import EvalAsked, EvalResult, SuiteResult
from evener.records.questions import Question
from evener.report.evals_parts import Evaluated, Judged, Jury, Labels
from evener.report.words import model_file


def read(data: RunData) -> Evaluated | None:
    """None for a run of something else. Raises RunUnreadable."""
    if data.run.what != "eval":
        return None
    result = eval_runs.result_of(data)
    asked = _asked(data)
    latest = eval_runs.latest_answers(data)
    questions, notes = _questions(data, asked)
    judgements = run_folder.read_judgements(data.path)
    reviews = run_folder.read_reviews(data.path)
    house = everybody(judgements, reviews, {name: question.cluster for name, question in questions.items()})
    return Evaluated(
        candidate=result.candidate if result else asked.candidate if asked else data.path.name,
        asked=asked,
        result=_left_to_judges(result, house),
        answers=len(latest),
        outcomes=dict(Counter(answer.outcome for answer in latest)),
        judged=tuple(_one_judge(house, name, questions, result) for name in house.judges),
        jury=_jury(house) if judgements else None,
        labels=_labels(latest, judgements, reviews, result),
        notes=tuple(notes if judgements else ()),
    )


def _asked(data: RunData) -> EvalAsked | None:
    try:
        return evals.asked_of(data)
    except ConfigurationError:  # answers of another tool
        return None


def _questions(data: RunData, asked: EvalAsked | None) -> tuple[dict[str, Question], list[str]]:
    """The questions, or why there are none."""
    if asked is None:
        return {}, ["its questions are another tool's: penalties of translations cannot be worked out"]
    try:
        return eval_runs.questions_of(data), []
    except (ConfigurationError, NameUnknown) as error:
        return {}, [f"{error.message}: penalties of translations cannot be worked out"]


def _left_to_judges(result: EvalResult | None, house: Everybody) -> EvalResult | None:
    """What code left to judges is no longer called unscored where one of them has spoken."""
    rubrics = [thing for one in house.voices if one.kind == "rubric" for said in one.judges.values() for thing in said]
    judged = {asked.question for asked, _ in rubrics}

    def told(one: SuiteResult) -> SuiteResult:
        if one.arm != "single" or not judged & one.clusters.keys():
            return one
        known = replace(one.standing, reasons=left_to_judges(one.standing.reasons))
        return replace(one, standing=known)

    return result and replace(result, results=tuple(told(one) for one in result.results))


def _one_judge(house: Everybody, name: str, questions: Mapping[str, Question], result: EvalResult | None) -> Judged:
    mine = house.judges[name]
    known = [one for one in mine if one.probe is not None or one.asked.question in questions]
    passport, judge = house.passport(name), mine[0].judge
    names = dict.fromkeys(one for one in (result.model, result.candidate) if one) if result else {}
    own = [model_file(one) for one in names if families.is_related(judge.model, one)]
    return Judged(
        judge=judge,
        judgements=len(mine),
        unparseable=sum(one.outcome == "judge_unparseable" for one in mine),
        failed=sum(one.outcome == "judge_error" for one in mine),
        mqm=counting.mqm_results(questions, known),
        rubric=counting.rubric_results(mine, house.clusters),
        pairs=counting.pair_results(mine, house.clusters),
        passport=passport,
        marks=(*(f"judges its own family: {name}" for name in own), *unread_marks(mine), *passport_marks(passport)),
        corrected=house.corrections(name),
    )


def _jury(house: Everybody) -> Jury:
    several = house.majority
    return Jury(majority=several, corrected=house.corrections(None) if several else (), together=house.together)


def _labels(
    answers: Sequence[Answer],
    judgements: Sequence[Judgement],
    reviews: Sequence[Review],
    result: EvalResult | None,
) -> tuple[Labels, ...]:
    machine = review.machine_labels(judgements, eval_runs.scores_by_code(answers, result))
    found = []
    for pool in dict.fromkeys(one.pool for one in reviews):
        mine = list(review.standing_labels(reviews, pool=pool).values())
        if not mine:
            continue
        alike = review.with_machine(reviews, machine, pool=pool)
        found.append(
            Labels(
                pool=pool,
                people=len({one.reviewer for one in mine}),
                labels=dict(Counter(one.label for one in mine if one.label is not None)),
                n=alike.n,
                agreement=alike.raw,
                kappa=alike.kappa,
                ac1=alike.ac1,
                alpha=review.everyone({"code or judges": machine}, reviews, pool=pool).alpha,
            )
        )
    return tuple(found)
