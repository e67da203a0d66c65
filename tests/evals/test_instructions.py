"""Each instruction is shown to hold for its reference and to fail for a plausible wrong answer."""

import pytest

from evener.evals.scoring.checks import KINDS, score
from evener.evals.suites import shipped
from tests.evals.answered import answer

QUESTIONS = shipped("instructions").questions


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_reference_passes_and_wrong_answer_fails(question):
    for text in question.references:
        assert score(question, answer(text)).details["failed"] == []
    for text in question.wrong:
        assert score(question, answer(text)).value == 0.0
    assert question.references
    assert question.wrong


def test_there_are_sixty_and_more_in_both_languages():
    languages = [q.language for q in QUESTIONS]
    assert len(QUESTIONS) >= 60
    assert min(languages.count("en"), languages.count("zh")) >= 25


def test_every_check_is_one_that_code_knows():
    assert {check.kind for q in QUESTIONS for check in q.checks} <= set(KINDS)
    assert 12 <= sum(q.quick for q in QUESTIONS) <= 24
