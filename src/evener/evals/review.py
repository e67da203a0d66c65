"""Which answers a person is shown, in which order, and what the labels say so far. Pure.

Blind: no names, and of a pair the one that stands first is drawn. Two pools: a random one, whose labels speak for all
answers, and one that begins with what decides most.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.evals.judging.labels import KINDS, Labels, Thing, by_judge, labels, majorities, majority
from evener.records.answers import EVIDENCE, Answer, Asked, Judgement, Label, Pool, Review
from evener.records.questions import Question
from evener.stats.agreement import Agreement, agreement, alpha

LABELS_ALONE: dict[str, Label] = {"r": "right", "w": "wrong", "u": "unsure"}
LABELS_PAIR: dict[str, Label] = {"1": "first", "2": "second", "t": "tie", "u": "unsure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at. Of a pair `swapped` says that `other` is shown first."""

    question: Question
    answer: Answer
    other: Answer | None = None
    swapped: bool = False

    @property
    def key(self) -> Thing:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Everyone:
    """Several who labelled, over the `n` things with two labels or more; Krippendorff's alpha, None if undefined."""

    labellers: int
    n: int
    alpha: float | None


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


def standing_labels(reviews: Sequence[Review], *, pool: Pool | None = None) -> dict[tuple[str, Thing], Review]:
    """The last word of each person about each thing, in one pool or in any; what was taken back is not there.

    A pool is a sample of its own: what somebody says of a thing in another pool leaves its label here as it is.
    """
    last = {(one.reviewer, (one.asked, one.other)): one for one in reviews if pool in (None, one.pool)}
    return {key: one for key, one in last.items() if one.label is not None}


def left(queue: Sequence[Item], reviews: Sequence[Review], reviewer: str, *, pool: Pool) -> list[Item]:
    """What this person has not labelled yet in this pool. What was labelled in another one is asked again: without it
    the random sample would lack just what decides most."""
    done = {thing for who, thing in standing_labels(reviews, pool=pool) if who == reviewer}
    return [item for item in queue if item.key not in done]


def by_person(reviews: Sequence[Review], *, pool: Pool | None = None) -> dict[str, dict[Thing, Label]]:
    """What each person says. Unsure is no label."""
    found: dict[str, dict[Thing, Label]] = {}
    for (who, thing), one in standing_labels(reviews, pool=pool).items():
        if one.label not in (None, "unsure"):
            found.setdefault(who, {})[thing] = one.label
    return found


def unsure(reviews: Sequence[Review], *, pool: Pool) -> set[Thing]:
    """What somebody looked at and could not tell."""
    return {thing for (_, thing), one in standing_labels(reviews, pool=pool).items() if one.label == "unsure"}


def consensus(people: Mapping[str, Labels]) -> dict[Thing, Label]:
    """What more than half of those say who labelled a thing; nothing where they are divided."""
    things = dict.fromkeys(thing for said in people.values() for thing in said)
    told = {thing: majority([said[thing] for said in people.values() if thing in said]) for thing in things}
    return {thing: label for thing, label in told.items() if label is not None}


def machine_labels(judgements: Sequence[Judgement], scores: Mapping[Asked, float | None]) -> dict[Thing, Label]:
    """What code or judges say of the same things, in the words of people. Where both speak, the judges: more than half
    of them, or nobody."""
    found: dict[Thing, Label | None] = {
        (asked, None): "right" if value >= 0.5 else "wrong" for asked, value in scores.items() if value in (0.0, 1.0)
    }
    judges = by_judge(judgements).values()
    for kind in KINDS:
        said = {str(n): mine for n, one in enumerate(judges) if (mine := labels(one, kind))}
        found |= majorities(said)
    return {thing: label for thing, label in found.items() if label is not None}


def machines(judgements: Sequence[Judgement], scores: Mapping[Asked, float | None]) -> dict[str, dict[Thing, Label]]:
    """The same, each apart: code, and every judge by name. Who says nothing is not there."""
    told = {"code": machine_labels([], scores)}
    for name, mine in by_judge(judgements).items():
        told[name] = {thing: label for kind in KINDS for thing, label in labels(mine, kind).items()}
    return {name: said for name, said in told.items() if said}


def everyone(told: Mapping[str, Labels], reviews: Sequence[Review], *, pool: Pool) -> Everyone:
    """All that labelled what people have labelled in this pool: code, judges and each person."""
    people = by_person(reviews, pool=pool)
    things = dict.fromkeys(thing for said in people.values() for thing in said)
    voices = [said for said in (*told.values(), *people.values()) if any(thing in said for thing in things)]
    rows = [[said.get(thing) for said in voices] for thing in things]
    several = sum(sum(label is not None for label in row) > 1 for row in rows)
    return Everyone(labellers=len(voices), n=several, alpha=alpha(rows))


def decisive(told: Mapping[str, Labels]) -> dict[Asked, float]:
    """How much hangs on a label of each answer: most where code and judges contradict each other, then where something
    was found wrong, or one of two better."""
    weight: dict[Asked, float] = {}
    for thing in dict.fromkeys(thing for said in told.values() for thing in said):
        found = {said[thing] for said in told.values() if thing in said}
        worth = 2.0 if len(found) > 1 else float(bool(found & {"wrong", "first", "second"}))
        weight[thing[0]] = max(worth, weight.get(thing[0], 0.0))
    return weight


def with_machine(
    reviews: Sequence[Review], machine: Labels, *, reviewer: str | None = None, pool: Pool | None = None
) -> Agreement:
    """How far people, or one of them, agree with code or judges. Unsure is no label."""
    return agreement(
        [
            (label, machine.get(thing))
            for who, said in by_person(reviews, pool=pool).items()
            if reviewer in (None, who)
            for thing, label in said.items()
        ]
    )


def between(reviews: Sequence[Review], a: str, b: str) -> Agreement:
    """How far two people agree on what both labelled."""
    people = by_person(reviews)
    mine, theirs = people.get(a, {}), people.get(b, {})
    return agreement([(mine[thing], theirs[thing]) for thing in mine if thing in theirs])
