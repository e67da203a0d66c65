"""The recall suite: its file is what its script makes, and its scorer keeps the rule of `bench context`."""

import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from evener.bench.needles import PLACES, items
from evener.evals.scoring import any as scoring
from evener.evals.scoring.recall import score
from evener.evals.suites import select, shipped
from tests.evals.answered import answer, question

ROOT = Path(__file__).parents[2]
SUITE = shipped("recall")
CODE = question("recall", references=("48213",), wrong=("11111", "22222"))


def test_file_is_what_the_script_writes():
    made = subprocess.run([sys.executable, ROOT / "scripts" / "recall.py"], capture_output=True, check=True).stdout
    assert made == (resources.files("evener.evals") / "data" / "recall.jsonl").read_bytes()


def test_three_needles_at_each_of_five_places_and_nine_chains():
    kinds = [q.category for q in SUITE.questions]
    assert (kinds.count("needle"), kinds.count("reasoning")) == (15, 9)
    assert {
        trap: sum(trap in q.traps for q in SUITE.questions) for trap in ("place 0%", "place 50%", "place 100%")
    } == {
        "place 0%": 3,
        "place 50%": 3,
        "place 100%": 3,
    }


def test_quick_subset_has_each_place_once_and_three_chains():
    quick = select(SUITE, quick=True).questions
    assert sorted(q.traps[0] for q in quick if q.category == "needle") == sorted(f"place {p:.0%}" for p in PLACES)
    assert sum(q.category == "reasoning" for q in quick) == 3


def test_a_code_stands_where_its_trap_says_and_texts_are_of_two_lengths():
    for one in SUITE.questions:
        assert 800 <= len(one.context.split()) <= 1700
        if one.category == "needle":
            at = one.context.index(one.references[0]) / len(one.context)
            assert at == pytest.approx(int(one.traps[0].split()[1].rstrip("%")) / 100, abs=0.05)


def test_every_right_answer_passes_and_every_other_of_the_text_fails():
    for one in SUITE.questions:
        assert score(one, answer(f"It is {one.references[0]}.")).value == 1.0
        assert [score(one, answer(f"It is {other}.")).value for other in one.wrong] == [0.0] * len(one.wrong)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("48213", 1.0),
        ("The access code is **48213**.", 1.0),
        ("48,213", 1.0),
        ("48213, 11111 or 22222", 0.0),
        ("148213", 0.0),
        ("", 0.0),
    ],
)
def test_an_answer_that_lists_every_code_has_found_none(said, value):
    assert score(CODE, answer(said)).value == value


def test_the_rule_is_the_one_of_the_text_maker():
    for item in items(9, seed=4, each_place=1, chains=2):
        others = tuple(name for name in item.named if name != item.answer)
        asked = question("recall", references=(item.answer,), wrong=others)
        for said in (*item.named, f"Not {others[0]} but {item.answer}", f"{item.answer}!", f"9{item.answer}", "none"):
            assert bool(score(asked, answer(said)).value) is item.is_right(said), said


def test_declining_is_said_and_a_failed_answer_is_not_scored():
    assert score(CODE, answer("The text does not mention it.")).outcome == "abstained"
    assert score(CODE, answer("I do not know, maybe 48213")).outcome is None
    assert score(CODE, answer("", outcome="timeout")).why == "timeout"
    assert scoring.PURE["recall"] is score
