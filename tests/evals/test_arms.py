from dataclasses import replace

import pytest

from evener.errors import ConfigurationError
from evener.evals.arms import change, require_votes, said, voted
from evener.records.answers import Asked
from tests.evals.answered import answer, question


def said_by(*texts, **more):
    asked = [Asked(question="q", candidate="c", arm="vote" if n else "single", sample=n) for n in range(len(texts))]
    return [answer(text, asked=one, tokens=3, **more) for text, one in zip(texts, asked, strict=True)]


def test_the_answer_of_most_wins_and_carries_the_price_of_all():
    found = voted(question(), said_by("Oslo.", "the Oslo", "Bergen"))
    assert found.text == "Oslo."
    assert (found.asked.arm, found.asked.sample, found.tokens, found.seconds) == ("vote", 0, 9, 3)


def test_a_tie_is_no_answer():
    assert voted(question(), said_by("Oslo", "Bergen")) is None
    assert voted(question(), said_by("Oslo", "Oslo", "Bergen", "Bergen", "Rome")) is None


def test_only_evidence_votes():
    cut, right, other = said_by("Bergen", "Oslo", "Bergen")
    found = voted(question(), [replace(cut, outcome="truncated"), right, replace(other, outcome="timeout")])
    assert found.text == "Oslo"
    assert voted(question(), [replace(cut, outcome="truncated")]) is None


def test_an_answer_that_thought_although_it_was_not_to_does_not_vote():
    thought = [replace(one, thinking_asked=False, thinking_observed=True) for one in said_by("Bergen", "Bergen")]
    plain = replace(said_by("Oslo")[0], thinking_asked=False, thinking_observed=False)
    assert voted(question(), [*thought, plain]).text == "Oslo"


def test_the_translation_nearest_to_the_others_wins():
    texts = ("the cat sat on the mat", "the cat sat on a mat", "a dog ran far away")
    assert voted(question("translation"), said_by(*texts)).text in texts[:2]


def test_declining_in_other_words_is_one_vote():
    one, other = said_by("The text does not say.", "I cannot determine that.")
    assert said(question(), one) == said(question(), other) == "(declined)"


def test_price_of_unknown_tokens_is_unknown():
    one, other = said_by("Oslo", "Oslo")
    assert voted(question(), [one, replace(other, tokens=None)]).tokens is None


def test_code_cannot_be_voted_on():
    with pytest.raises(ConfigurationError, match="never equal"):
        require_votes([question("tests")], temperature=0.7)


def test_change_counts_what_both_scored():
    found = change({"a": 1.0, "b": 0.0, "c": None, "d": 1.0}, {"a": 0.0, "b": 1.0, "c": 1.0, "e": 1.0})
    assert (found.n, found.healed, found.harmed) == (2, 1, 1)
