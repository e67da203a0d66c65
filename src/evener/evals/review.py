"""Which answers a person is shown, in which order, and what the labels say so far. Pure.

Blind: no names, and of a pair the one that stands first is drawn. Two pools: a random one, whose labels speak for all
answers, and one that begins with what decides most.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.records.answers import EVIDENCE, Answer, Asked, Judgement, Label, Pool, Review
from evener.records.questions import Question
from evener.stats.agreement import Agreement, agreement

LABELS_ALONE: dict[str, Label] = {"r": "right", "w": "wrong", "u": "unsure"}
LABELS_PAIR: dict[str, Label] = {"1": "first", "2": "second", "t": "tie", "u": "unsure"}
_SIDES: dict[str, Label] = {"A": "first", "B": "second"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at. Of a pair `swapped` says that `other` is shown first."""

    question: Question
    answer: Answer
    other: Answer | None = None
    swapped: bool = False

    @property
    def key(self) -> tuple[Asked, Asked | None]:
        return self.answer.asked, None if self.other is None else self.other.asked

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts, in the order shown."""
        if self.other is None:
            return (self.answer.text,)
        pair = (self.answer.text, self.other.text)
        return pair[::-1] if self.swapped else pair

    def label(self, key: str) -> Label | None:
        """What a key says of this item; None for a key that says nothing. A pair's first is that of the record, not
        of the screen."""
        found = (LABELS_ALONE if self.other is None else LABELS_PAIR).get(key)
        if self.swapped and found in ("first", "second"):
            return "second" if found == "first" else "first"
        return found


def items(
    questions: Mapping[str, Question],
    answers: Sequence[Answer],
    others: Sequence[Answer] = (),
    *,
    pool: Pool,
    weight: Mapping[Asked, float] | None = None,
    seed: str,
) -> list[Item]:
    """Everything that can be looked at, in the order of the pool. `weight` says how much hangs on an answer.

    The order and the side of each pair depend on `seed` alone, so that a person who comes back goes on.
    """
    draw = random.Random(f"{seed}/{pool}")
    theirs = {(a.asked.question, a.asked.epoch): a for a in others}
    found = []
    for answer in sorted(answers, key=lambda a: (a.asked.question, a.asked.epoch, a.asked.sample)):
        other = theirs.get((answer.asked.question, answer.asked.epoch))
        if answer.outcome not in EVIDENCE or (others and (other is None or other.outcome not in EVIDENCE)):
            continue
        side = random.Random(f"{seed}/{answer.asked.question}/{answer.asked.epoch}").random() < 0.5
        found.append(
            Item(question=questions[answer.asked.question], answer=answer, other=other, swapped=bool(others) and side)
        )
    draw.shuffle(found)
    if pool == "decisive":
        weights = weight or {}
        found.sort(key=lambda item: -weights.get(item.answer.asked, 0.0))
    return found


def standing_labels(reviews: Sequence[Review]) -> dict[tuple[str, Asked, Asked | None], Review]:
    """The last word of each person about each thing; what was taken back is not there."""
    last = {(one.reviewer, one.asked, one.other): one for one in reviews}
    return {key: one for key, one in last.items() if one.label is not None}


def left(queue: Sequence[Item], reviews: Sequence[Review], reviewer: str) -> list[Item]:
    """What this person has not labelled yet."""
    done = {(asked, other) for who, asked, other in standing_labels(reviews) if who == reviewer}
    return [item for item in queue if item.key not in done]


def machine_labels(judgements: Sequence[Judgement], scores: Mapping[Asked, float | None]) -> dict[object, Label]:
    """What code or a judge says of the same things, in the words of people. Where both speak, the judge."""
    found: dict[object, Label] = {
        (asked, None): "right" if value >= 0.5 else "wrong" for asked, value in scores.items() if value in (0.0, 1.0)
    }
    sides: dict[object, list[str]] = {}
    for one in judgements:
        if one.probe is not None or one.verdict is None:
            continue
        if one.other is None and one.verdict in ("PASS", "FAIL"):
            found[one.asked, None] = "right" if one.verdict == "PASS" else "wrong"
        elif one.other is not None:
            said = {"A": "B", "B": "A"}.get(one.verdict, one.verdict) if one.details.get("swapped") else one.verdict
            sides.setdefault((one.asked, one.other), []).append(said)
    for key, said_ in sides.items():
        if len(said_) > 1:
            agreed = said_[0] if len(set(said_)) == 1 else "TIE"
            found[key] = _SIDES.get(agreed, "tie")
    return found


def with_machine(
    reviews: Sequence[Review], machine: Mapping[object, Label], *, reviewer: str | None = None, pool: Pool | None = None
) -> Agreement:
    """How far people, or one of them, agree with code or judge. Unsure is no label."""
    pairs = [
        (one.label, machine.get((asked, other)))
        for (who, asked, other), one in standing_labels(reviews).items()
        if reviewer in (None, who) and pool in (None, one.pool) and one.label != "unsure"
    ]
    return agreement(pairs)


def with_people(judgements: Sequence[Judgement], reviews: Sequence[Review]) -> list[tuple[str, str]]:
    """(the judge's label, a person's) of everything in the random pool that both labelled."""
    machine = machine_labels(judgements, {})
    return [
        (said, one.label)
        for (_, asked, other), one in standing_labels(reviews).items()
        if one.pool == "random"
        and one.label != "unsure"
        and (said := machine.get((asked, other))) is not None
        and one.label is not None
    ]


def between(reviews: Sequence[Review], a: str, b: str) -> Agreement:
    """How far two people agree on what both labelled."""
    labels = standing_labels(reviews)
    mine = {(asked, other): one.label for (who, asked, other), one in labels.items() if who == a}
    theirs = {(asked, other): one.label for (who, asked, other), one in labels.items() if who == b}
    known = [(mine[key], theirs[key]) for key in mine if key in theirs]
    return agreement([pair for pair in known if "unsure" not in pair])
