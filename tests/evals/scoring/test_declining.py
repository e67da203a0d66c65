"""How often declining is recognised, on replies that people would label the same. The figures stand in the docs."""

import json
from pathlib import Path

import pytest

from evener.evals.scoring.declining import MEASURED, declines, rejects
from evener.evals.scoring.match import score
from evener.evals.suites import shipped
from tests.evals.answered import answer

REPLIES = [json.loads(line) for line in (Path(__file__).parents[1] / "labelled_replies.jsonl").read_text().splitlines()]
QUESTIONS = {q.id: q for q in shipped("restraint").questions}


def taken_for_declining(reply):
    question = QUESTIONS[reply["question"]]
    found = score(question, answer(reply["reply"]))
    return found.value == 1.0 if question.category == "false-premise" else found.outcome == "abstained"


# (set, language) -> (declining or rejecting, recognised, of), (answers, left alone, of)
FIGURES = {
    ("tuning", "en"): ((36, 36), (24, 24)),
    ("tuning", "zh"): ((36, 36), (24, 24)),
    ("fresh", "en"): ((29, 30), (18, 20)),
    ("fresh", "zh"): ((29, 30), (18, 20)),
    ("measured", "en"): ((20, 20), (9, 10)),
    ("measured", "zh"): ((20, 20), (10, 10)),
    ("styles", "en"): ((23, 25), (9, 9)),
    ("styles", "zh"): ((21, 21), (11, 11)),
    ("held-out", "en"): ((15, 19), (14, 15)),
    ("held-out", "zh"): ((21, 21), (13, 13)),
    ("last", "en"): ((15, 24), (17, 20)),
    ("last", "zh"): ((20, 24), (18, 20)),
    ("smollm2", "en"): ((4, 4), (42, 42)),
}


@pytest.mark.parametrize(("which", "language"), FIGURES)
def test_declining_is_recognised_as_often_as_the_docs_say(which, language):
    mine = [reply for reply in REPLIES if (reply["set"], reply["language"]) == (which, language)]
    declining = [taken_for_declining(reply) for reply in mine if reply["says"] != "answers"]
    answering = [not taken_for_declining(reply) for reply in mine if reply["says"] == "answers"]
    assert ((sum(declining), len(declining)), (sum(answering), len(answering))) == FIGURES[which, language]


def test_every_labelled_reply_is_in_a_figure():
    assert sum(of for pair in FIGURES.values() for _, of in pair) == len(REPLIES) == 548


def test_the_figures_beside_a_score_are_those_of_replies_held_out():
    recognised, left_alone = (
        [sum(counts) for counts in zip(*(FIGURES["held-out", one][side] for one in ("en", "zh")), strict=True)]
        for side in (0, 1)
    )
    assert f"{recognised[0]} of {recognised[1]} that decline" in MEASURED
    assert f"{left_alone[0]} of {left_alone[1]} answers" in MEASURED


@pytest.mark.parametrize(
    "text",
    [
        "From a cousin who is not named.",
        "Half a million, which the town could not provide.",
        "A survey of wells that had never been documented.",
        "His name is Peter, which isn't a rare name.",
        "因为他们没有足够的食物。",
    ],
)
def test_a_denial_beside_an_answer_does_not_decline(text):
    assert not declines(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, but I would say ten million.",
        "It is probably not known, so about an hour.",
        "没有说明，估计一小时。",
    ],
)
def test_who_says_so_and_then_guesses_has_answered(text):
    assert not declines(text)


@pytest.mark.parametrize(
    "text",
    [
        "He was awarded it in 1935, although he did not attend.",
        "The Niger, not the Nile.",
        "一九三五年，不过他没有出席。",
        "卡尔三世，他没有实权。",
    ],
)
def test_a_denial_of_something_else_rejects_no_premise(text):
    assert not rejects(text)
