"""Texts with a question: where their facts stand, that no two are alike, and what code takes for a right answer."""

from __future__ import annotations

import pytest

from evener.bench.needles import PLACES, Item, items, needle, reasoning

NEEDLE = needle(1, 0.5, seed=3)


def test_a_needle_stands_at_its_place_among_the_filler() -> None:
    for place in PLACES:
        text = needle(1, place, seed=3).text(100, title="The")
        at = text.index(needle(1, place, seed=3).answer) / len(text)
        assert at == pytest.approx(place, abs=0.08)


def test_the_text_has_four_codes_and_asks_for_one() -> None:
    text = NEEDLE.text(20, title="The")
    assert [text.count(code) for code in NEEDLE.named] == [1, 1, 1, 1]
    assert text.rstrip().endswith("Answer with the number only.")
    assert text.startswith("The. Read this text")


def test_padding_comes_behind_the_filler_and_before_the_question() -> None:
    text = NEEDLE.text(5, ["xylophone"] * 3, title="The")
    assert "xylophone xylophone xylophone\n\nQuestion:" in text


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("{0}", True),
        ("The access code is {0}.", True),
        ("{0} or {1}", False),
        ("{1}", False),
        ("9{0}", False),
        ("I do not know", False),
        ("", False),
    ],
)
def test_an_answer_names_the_right_code_and_no_other(said: str, right: bool) -> None:
    assert NEEDLE.is_right(said.format(*NEEDLE.named)) is right


def test_a_city_is_found_whatever_its_letters_case_and_only_as_a_word() -> None:
    item = Item(kind="reasoning", number=0, place=None, facts=(), question="", answer="Riga", named=("Riga", "Oslo"))
    assert item.is_right("It went to RIGA!")
    assert not item.is_right("Brigade")
    assert not item.is_right("Not Oslo but Riga")


def test_a_chain_needs_three_facts_from_three_parts_of_the_text() -> None:
    item = reasoning(7, seed=3)
    giver = item.question.split("letter of ")[1].split(" go?")[0]
    facts = sorted(item.facts)
    gave = next((place, fact) for place, fact in facts if fact.startswith(f"{giver} gave"))
    taker = gave[1].split(" to ")[1].rstrip(".")
    put = next((place, fact) for place, fact in facts if fact.startswith(f"{taker} put"))
    box = put[1].split("into the ")[1].rstrip(".")
    sent = next((place, fact) for place, fact in facts if fact.startswith(f"The {box} was sent"))
    assert sent[1].endswith(f"to {item.answer}.")
    assert gave[0] <= 1 / 3 <= put[0] <= 2 / 3 <= sent[0] <= 1
    assert len(facts) == 9


def test_a_length_has_its_needles_at_every_place_then_the_chains_and_no_two_alike() -> None:
    found = list(items(1024, seed=1, each_place=2, chains=4))
    assert [one.place for one in found] == [*PLACES, *PLACES, *[None] * 4]
    assert len({one.text(3, title="") for one in found}) == 14
    assert not {one.number for one in found} & {one.number for one in items(2048, seed=1, each_place=2, chains=4)}


def test_a_seed_makes_the_same_questions_again() -> None:
    first, again, other = (list(items(512, seed=seed, each_place=1, chains=1)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_filler_names_nobody_and_no_number() -> None:
    filler = Item(kind="needle", number=5, place=0.0, facts=(), question="", answer="", named=()).text(50, title="The")
    assert not any(character.isdigit() for character in filler)
