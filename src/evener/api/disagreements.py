"""What candidates answered where they differ most, read from their runs: question, both answers, reference."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.api import eval_runs
from evener.edges.run_folder import RunData
from evener.errors import ConfigurationError, NameUnknown
from evener.evals.apart import most_apart
from evener.records.answers import Answer
from evener.records.questions import Question
from evener.records.verdicts import DimensionVerdict, Disagreement, Said

MOST = 8  # questions per pair
LONGEST = 4000  # characters of one text; a recall question alone can have a hundred thousand


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """All that several candidates answered. `answers` are the single ones: candidate -> question -> epoch -> answer."""

    questions: Mapping[str, Question]
    answers: Mapping[str, Mapping[str, Mapping[int, Answer]]]
    notes: tuple[str, ...]


def read(runs: Mapping[str, RunData]) -> Spoken:
    """The answers of each candidate's run. Of questions that cannot be opened any more nothing is shown, and why."""
    questions: dict[str, Question] = {}
    notes = []
    for name, data in runs.items():
        try:
            questions |= eval_runs.questions_of(data)
        except (ConfigurationError, NameUnknown) as error:
            notes.append(f"{name}: its questions cannot be shown: {error.message}")
    return Spoken(questions=questions, answers={n: _by_question(d) for n, d in runs.items()}, notes=tuple(notes))


def _by_question(data: RunData) -> dict[str, dict[int, Answer]]:
    found: dict[str, dict[int, Answer]] = {}
    for answer in eval_runs.single_answers(data):
        found.setdefault(answer.asked.question, {})[answer.asked.epoch] = answer
    return found


def of(
    dimension: DimensionVerdict, scores: Mapping[str, Mapping[str, float | None]], spoken: Spoken
) -> tuple[Disagreement, ...]:
    """Of the leader with the second, then with the third."""
    order = [s.candidate for s in dimension.standings if s.mean is not None]
    return tuple(
        found
        for other in order[1:3]
        for question in most_apart(scores[order[0]], scores[other], most=MOST)
        if (found := _one(question, (order[0], other), scores, spoken)) is not None
    )


def _one(
    name: str, pair: Sequence[str], scores: Mapping[str, Mapping[str, float | None]], spoken: Spoken
) -> Disagreement | None:
    """None where the question or an answer is not to be had."""
    question = spoken.questions.get(name)
    sides = [spoken.answers[candidate].get(name, {}) for candidate in pair]
    epochs = sorted(sides[0].keys() & sides[1].keys())
    if question is None or not epochs:
        return None
    said = [
        Said(
            candidate=candidate,
            text=cut(_text(side[epochs[0]])),
            score=scores[candidate][name],
            outcome=side[epochs[0]].outcome,
        )
        for candidate, side in zip(pair, sides, strict=True)
    ]
    random.Random(f"{name}/{'/'.join(sorted(pair))}").shuffle(said)
    return Disagreement(
        question=name,
        category=question.category,
        system=question.system and cut(question.system),
        context=question.context and cut(question.context),
        prompt=cut(question.prompt),
        references=tuple(cut(reference) for reference in question.references),
        rubric=question.rubric,
        answers=(said[0], said[1]),
        epochs=len(epochs),
    )


def _text(answer: Answer) -> str:
    """What was answered; a call of a tool as JSON."""
    return answer.text or "\n".join(json.dumps(call, ensure_ascii=False) for call in answer.tool_calls)


def cut(text: str, most: int = LONGEST) -> str:
    """The two ends of a long text, and how much lies between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
