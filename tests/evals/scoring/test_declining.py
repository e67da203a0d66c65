"""How often declining is recognised, on replies that people would label the same. The figures stand in the docs."""

import json
from pathlib import Path

import pytest

from evener.evals.scoring.declining import declines, rejects
from evener.evals.scoring.match import score
from evener.evals.suites import shipped
from tests.evals.answered import answer

REPLIES = [json.loads(line) for line in (Path(__file__).parents[1] / "labelled_replies.jsonl").read_text().splitlines()]
QUESTIONS = {q.id: q for q in shipped("restraint").questions}


def taken_for_declining(reply):
    question = QUESTIONS[reply["question"]]
    found = score(question, answer(reply["reply"]))
    return found.value == 1.0 if question.category == "false-premise" else found.outcome == "abstained"


@pytest.mark.parametrize(
    ("language", "recognised", "left_alone"),
    [("en", (83, 86), (51, 54)), ("zh", (83, 86), (51, 54))],
)
def test_declining_is_recognised_as_often_as_the_docs_say(language, recognised, left_alone):
    mine = [reply for reply in REPLIES if reply["language"] == language]
    declining = [taken_for_declining(reply) for reply in mine if reply["says"] != "answers"]
    answering = [not taken_for_declining(reply) for reply in mine if reply["says"] == "answers"]
    assert (sum(declining), len(declining)) == recognised
    assert (sum(answering), len(answering)) == left_alone


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
