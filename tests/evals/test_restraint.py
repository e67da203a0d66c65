"""Each question is shown to be right with its reference, or with an abstention, and wrong with a plausible answer."""

import pytest

from evener.evals.scoring.match import score
from evener.evals.suites import shipped
from tests.evals.answered import answer

QUESTIONS = shipped("restraint").questions
BY_ID = {q.id: q for q in QUESTIONS}
DECLINING = {"en": "The text does not say.", "zh": "上文没有说明。"}
REJECTING = {"en": "There is no such thing.", "zh": "这个说法不正确，并没有这样的事。"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_right_answers_pass_and_wrong_ones_fail(question):
    for reference in question.references:
        assert score(question, answer(reference)).value == 1.0
    for wrong in question.wrong:
        found = score(question, answer(wrong))
        assert (found.value, found.details["class"]) == (0.0, "I")
    assert question.wrong


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_declining_is_right_where_there_is_no_answer_and_not_attempted_elsewhere(question):
    found = score(question, answer(DECLINING[question.language]))
    assert found.outcome == "abstained"
    right = question.category in ("answer-removed", "unknowable", "false-premise")
    assert (found.value, found.details["class"]) == ((1.0, "C") if right else (0.0, "NA"))


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.category == "false-premise"], ids=lambda q: q.id)
def test_rejecting_a_false_premise_is_right(question):
    assert score(question, answer(REJECTING[question.language])).value == 1.0


def test_a_twin_lacks_the_answer_and_nothing_else():
    for question in QUESTIONS:
        if question.twin is None:
            continue
        original = BY_ID[question.twin]
        assert question.prompt == original.prompt
        assert question.cluster == original.cluster
        assert len(question.context) < len(original.context)
        assert not any(reference in question.context for reference in original.references), question.id
        assert any(reference in original.context for reference in original.references), question.id


def test_there_are_enough_of_every_kind():
    kinds = [q.category for q in QUESTIONS]
    assert len(QUESTIONS) >= 120
    for kind in ("answerable", "answer-removed", "false-premise", "unknowable", "stable-fact"):
        assert kinds.count(kind) >= 20
    assert 20 <= sum(q.quick for q in QUESTIONS) <= 45
    assert all(q.source for q in QUESTIONS)
