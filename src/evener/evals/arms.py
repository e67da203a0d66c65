"""Arms: what else can be done with a model than asking once. Each is paired with the single answers that it grew from.

A vote takes the single answer and k - 1 more; a reflection shows the single answer to its author. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evener.errors import ConfigurationError
from evener.evals.scoring.extracting import agree, extracted
from evener.records.answers import EVIDENCE, Answer, Arm, Asked, Score
from evener.records.questions import Question

VOTES = ("match", "final", "recall", "tool-call", "edit", "translation")
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
    """The answer that most of them gave, or the one that is nearest to all others for translations; None for a tie, and
    where no two of them say anything.

    Only answers that are evidence vote, and none that thought although it was not to. The winner
    carries the tokens and seconds of all: that is its price.
    """
    valid = [answer for answer in answers if answer.outcome in EVIDENCE and not answer.is_contaminated]
    if len(valid) < 2:
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
    """The first of those who say what most say. One voice alone is no majority."""
    said = [extracted(question, answer) for answer in answers]
    votes = {one: sum(agree(other, one) for other in said if other is not None) for one in said if one is not None}
    most = max(votes.values(), default=0)
    winners = [one for one, n in votes.items() if n == most]
    return answers[said.index(winners[0])] if most > 1 and len(winners) == 1 else None


def _nearest(answers: Sequence[Answer]) -> Answer:
    """The candidate with the greatest mean chrF against the others (minimum Bayes risk decoding)."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()

    def nearness(one: Answer) -> float:
        return sum(float(metric.sentence_score(one.text, [o.text]).score) for o in answers if o is not one)

    return max(answers, key=nearness)


def _sum(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


def used(
    arm: Arm, questions: Mapping[str, Question], answers: Iterable[Answer], *, k: int
) -> tuple[list[Answer], list[Asked]]:
    """(the answers that an arm is scored by, one per question and epoch; what ended in a tie).

    A vote counts when all k have been asked; before, it has not been held.
    """
    have = {answer.asked: answer for answer in answers if answer.asked.question in questions}
    singles = [answer for answer in have.values() if answer.asked.arm == "single"]
    if arm == "single":
        return singles, []
    others: dict[Asked, list[Answer]] = defaultdict(list)
    for answer in have.values():
        if answer.asked.arm == arm:
            others[replace(answer.asked, arm="single", sample=0)].append(answer)
    found: list[Answer] = []
    ties: list[Asked] = []
    for single in singles:
        mine = others[single.asked]
        if arm == "reflection":
            found += [
                replace(a, tokens=_sum((a.tokens, single.tokens)), seconds=a.seconds + single.seconds) for a in mine
            ]
        elif len(mine) >= k - 1:
            winner = voted(questions[single.asked.question], [single, *mine])
            found += [winner] if winner is not None else []
            ties += [replace(single.asked, arm="vote")] if winner is None else []
    return found, ties


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an arm did to the single answers, where both have a score."""

    wrong: int  # single answers
    right: int
    healed: int  # wrong turned right
    harmed: int  # right turned wrong


def change(single: Iterable[Score], arm: Iterable[Score], *, passes: float = 0.5) -> Change:
    """Answer by answer, each against the one that it grew from; a score of at least `passes` is right."""
    before, after = ({(one.asked.question, one.asked.epoch): one.value for one in scores} for scores in (single, arm))
    both = [(before[key], after[key]) for key in before if key in after]
    known = [(a >= passes, b >= passes) for a, b in both if a is not None and b is not None]
    return Change(
        wrong=sum(not a for a, _ in known),
        right=sum(a for a, _ in known),
        healed=sum(b and not a for a, b in known),
        harmed=sum(a and not b for a, b in known),
    )
