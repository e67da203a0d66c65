"""Long texts with a question that code can judge: a needle at a place, and facts far apart that belong together. Pure.

A needle is a code of a place, beside the codes of three other places. The reasoning item is a chain of three facts
(who gave what to whom, into which box, where the box went), beside two other chains. An answer is right when it names
the right one and no other one of the text. Knows no tokenizer: how many sentences make a length is for `fitting`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

Kind = Literal["needle", "reasoning"]

PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
CITIES = ("Lisbon", "Oslo", "Vienna", "Cairo", "Lima", "Nairobi", "Hanoi", "Dublin", "Quito", "Riga", "Tunis", "Manila")
PEOPLE = ("Anna", "Boris", "Carla", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Klara", "Leon")
COLOURS = ("green", "red", "blue", "yellow", "white", "black")
_WHO = ("farmer", "teacher", "sailor", "baker", "miner", "painter", "singer", "judge", "doctor", "gardener")
_DID = ("waited", "walked", "rested", "worked", "talked", "looked around", "counted sheep", "sang", "read", "slept")
_WHERE = ("near the river", "behind the mill", "on the bridge", "at the market", "by the lake", "under the tree")
_WHEN = ("in the morning", "at noon", "after dinner", "before the rain", "all day long", "late at night")
_WHY = ("because the road was long", "as the wind was cold", "while the others slept", "until the bell rang")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question with one right answer. `facts` are (place in the text, sentence); `named` is all that it could say.

    `place` is the needle's, None for what stands in several places.
    """

    kind: Kind
    number: int
    place: float | None
    facts: tuple[tuple[float, str], ...]
    question: str
    answer: str
    named: tuple[str, ...]

    def text(self, sentences: int, padding: Sequence[str] = (), *, title: str) -> str:
        """The whole prompt: so many sentences of filler with the facts in their places, then words without meaning."""
        filler = list(islice(_filler(self.number), sentences))
        body: list[str] = []
        at = 0
        for place, fact in sorted(self.facts):
            until = round(place * sentences)
            body += [*filler[at:until], fact]
            at = until
        body += filler[at:]
        words = [" ".join(padding)] if padding else []
        whole = " ".join([*body, *words])
        return f"{title}. Read this text, then answer a question about it.\n\n{whole}\n\n{self.question}"

    def is_right(self, said: str) -> bool:
        """Whether the answer names the right one and no other one of the text."""
        found = {name for name in self.named if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said, re.IGNORECASE)}
        return found == {self.answer}


def needle(number: int, place: float, *, seed: int) -> Item:
    """A code that stands at `place`, between 0 and 1, and three others somewhere."""
    draw = random.Random(f"needle/{seed}/{number}")
    cities = draw.sample(CITIES, 4)
    codes = [str(code) for code in draw.sample(range(10_000, 100_000), 4)]
    facts = [(place if city == cities[0] else draw.random(), f"The access code of {city} is {code}.")
             for city, code in zip(cities, codes, strict=True)]  # fmt: skip
    return Item(
        kind="needle",
        number=number,
        place=place,
        facts=tuple(facts),
        question=f"Question: what is the access code of {cities[0]}? Answer with the number only.",
        answer=codes[0],
        named=tuple(codes),
    )


def reasoning(number: int, *, seed: int) -> Item:
    """Three facts in three parts of the text lead to one city; two other chains lead elsewhere."""
    draw = random.Random(f"reasoning/{seed}/{number}")
    cities, colours, people = draw.sample(CITIES, 3), draw.sample(COLOURS, 3), draw.sample(PEOPLE, 6)
    facts: list[tuple[float, str]] = []
    for chain in range(3):
        giver, taker = people[2 * chain : 2 * chain + 2]
        said = (
            f"{giver} gave a letter to {taker}.",
            f"{taker} put the letter into the {colours[chain]} box.",
            f"The {colours[chain]} box was sent to {cities[chain]}.",
        )
        facts += [(draw.uniform(third / 3, (third + 1) / 3), fact) for third, fact in enumerate(said)]
    return Item(
        kind="reasoning",
        number=number,
        place=None,
        facts=tuple(facts),
        question=f"Question: to which city did the letter of {people[0]} go? Answer with the name of the city only.",
        answer=cities[0],
        named=tuple(cities),
    )


def items(length: int, *, seed: int, each_place: int, chains: int) -> Iterator[Item]:
    """The questions of one prompt length: `each_place` needles per place, then the chains. No two are alike."""
    first = length * 100
    places = [place for _ in range(each_place) for place in PLACES]
    yield from (needle(first + n, place, seed=seed) for n, place in enumerate(places))
    yield from (reasoning(first + len(places) + n, seed=seed) for n in range(chains))


def _filler(number: int) -> Iterator[str]:
    """Sentences without names, numbers, cities or colours, another order for each text."""
    draw = random.Random(f"filler/{number}")
    while True:
        who, did, where, when, why = (draw.choice(words) for words in (_WHO, _DID, _WHERE, _WHEN, _WHY))
        yield f"The {who} {did} {where} {when} {why}."
