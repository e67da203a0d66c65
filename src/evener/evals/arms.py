"""Arms: what else can be done with a model than asking once. Each is paired with the single answers that it grew from.

A vote takes the single answer and k - 1 more; a reflection shows the single answer to its author. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evener.errors import ConfigurationError
from evener.evals.scoring import edits, match, tools
from evener.evals.scoring.declining import declines
from evener.records.answers import EVIDENCE, Answer
from evener.records.questions import Question

VOTES = ("match", "recall", "tool-call", "edit", "translation")
REFLECT = (
    "Look at your answer again with fresh eyes. If something in it is wrong, incomplete or against the instructions, "
    "correct it. Reply with the final answer only, in the form that the question asks for."
)


def require_votes(questions: Sequence[Question], *, temperature: float) -> None:
    """Raises ConfigurationError where several answers could not be counted, or would all be the same."""
    if temperature <= 0:
        raise ConfigurationError(
            "a vote at temperature 0 hears one answer several times", hint="--temperature 0.7, the same for all arms"
        )
    if other := next((q for q in questions if q.scoring not in VOTES), None):
        raise ConfigurationError(
            f"{other.id}: answers scored by {other.scoring!r} are never equal, so that none can win a vote",
            hint=f"votes are for {', '.join(VOTES)}",
        )


def reflection_turns(draft: Answer) -> list[dict[str, Any]]:
    """What follows the question when its author looks at the draft."""
    return [{"role": "assistant", "content": draft.text}, {"role": "user", "content": REFLECT}]


def voted(question: Question, answers: Sequence[Answer]) -> Answer | None:
    """The answer that most of them gave, or the one that is nearest to all others for translations; None for a tie.

    Only answers that are evidence vote, and none that thought although it was not to. The winner
    carries the tokens and seconds of all: that is its price.
    """
    valid = [answer for answer in answers if answer.outcome in EVIDENCE and not answer.is_contaminated]
    if not valid:
        return None
    winner = _nearest(valid) if question.scoring == "translation" else _most_frequent(question, valid)
    if winner is None:
        return None
    return replace(
        winner,
        asked=replace(winner.asked, arm="vote", sample=0),
        tokens=_sum([answer.tokens for answer in answers]),
        seconds=sum(answer.seconds for answer in answers),
    )


def _most_frequent(question: Question, answers: Sequence[Answer]) -> Answer | None:
    keys = [said(question, answer) for answer in answers]
    ranked = Counter(key for key in keys if key is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return answers[keys.index(ranked[0][0])]


def said(question: Question, answer: Answer) -> str | None:
    """What an answer comes down to, so that two can be equal; None for one without form."""
    if question.scoring == "tool-call":
        try:
            return json.dumps(tools.made(answer), sort_keys=True)
        except (ValueError, RecursionError):
            return None
    if question.scoring == "edit":
        after = edits.apply(question.category, question.context or "", answer.text, language=question.language)
        return after if isinstance(after, str) else None
    return "(declined)" if declines(answer.text) else match.plain(answer.text)


def _nearest(answers: Sequence[Answer]) -> Answer:
    """The candidate with the greatest mean chrF against the others (minimum Bayes risk decoding)."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()

    def nearness(one: Answer) -> float:
        return sum(float(metric.sentence_score(one.text, [o.text]).score) for o in answers if o is not one)

    return max(answers, key=nearness)


def _sum(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an arm did to the single answers, on questions that both were scored on. Rates are of `n`."""

    n: int
    healed: int  # wrong turned right
    harmed: int  # right turned wrong


def change(single: Mapping[str, float | None], arm: Mapping[str, float | None], *, passes: float = 0.5) -> Change:
    """Per question; a score of at least `passes` is right."""
    both = [(single[q], arm[q]) for q in single if q in arm]
    known = [(a >= passes, b >= passes) for a, b in both if a is not None and b is not None]
    return Change(n=len(known), healed=sum(b and not a for a, b in known), harmed=sum(a and not b for a, b in known))
