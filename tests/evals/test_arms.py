from dataclasses import replace

import pytest

from evener.errors import ConfigurationError
from evener.evals.arms import change, require_votes, used, voted
from evener.records.answers import Asked, Score
from tests.evals.answered import answer, question


def said_by(*texts, **more):
    asked = [Asked(question="q", candidate="c", arm="vote" if n else "single", sample=n) for n in range(len(texts))]
    return [answer(text, asked=one, tokens=3, **more) for text, one in zip(texts, asked, strict=True)]


def test_the_answer_of_most_wins_and_carries_the_price_of_all():
    found = voted(question(), said_by("Oslo.", "the Oslo", "Bergen"))
    assert found.text == "Oslo."
    assert (found.asked.arm, found.asked.sample, found.tokens, found.seconds) == ("vote", 0, 9, 3)


def test_those_agree_who_say_the_same_in_other_words():
    one = question(prompt="What is the capital of Norway?")
    said = said_by("Bergen.", "Bergen", "Oslo.", "The capital of Norway is Oslo.", "It is Oslo, on a fjord.")
    assert voted(one, said).text == "Oslo."


def test_who_names_two_votes_for_both():
    one = question(prompt="What is the capital of Norway?")
    assert voted(one, said_by("Oslo", "Bergen", "Oslo or Bergen")) is None


def test_one_voice_alone_is_no_majority():
    only, *cut = said_by("Oslo", "x", "y")
    assert voted(question(), [only, *(replace(one, outcome="truncated") for one in cut)]) is None
    assert voted(question("translation"), [only, *(replace(one, outcome="truncated") for one in cut)]) is None


def test_who_says_nothing_in_form_agrees_with_nobody():
    call = '{"name": "f", "arguments": {}}'
    assert voted(question("tool-call"), said_by(call, '{"name": "f", "arguments": 5}')) is None
    assert voted(question("tool-call"), said_by(call, '{"name": "f", "arguments": 5}', call)).text == call


def test_the_key_is_not_looked_at():
    """Replies that hold the reference are not taken for one when they do not agree in what they say."""
    one = question(references=("Oslo",), prompt="?")
    said = said_by("Oslo is warm", "cold Oslo", "Bergen", "Bergen")
    assert voted(one, said).text == "Bergen"


def test_a_vote_is_held_when_all_have_been_asked():
    single, *others = said_by("Oslo", "Oslo", "Bergen")
    one = {"q": question()}
    assert used("vote", one, [single, others[0]], k=3) == ([], [])
    found, ties = used("vote", one, [single, *others], k=3)
    assert ([answer.text for answer in found], ties) == (["Oslo"], [])
    _, ties = used("vote", one, [single, replace(others[0], text="Rome"), others[1]], k=3)
    assert ties == [Asked(question="q", candidate="c", arm="vote")]


def test_a_tie_is_no_answer():
    assert voted(question(), said_by("Oslo", "Bergen")) is None
    assert voted(question(), said_by("Oslo", "Oslo", "Bergen", "Bergen", "Rome")) is None


def test_only_evidence_votes():
    cut, right, other, same = said_by("Bergen", "Oslo", "Bergen", "Oslo")
    found = voted(question(), [replace(cut, outcome="truncated"), right, replace(other, outcome="prompt_cut"), same])
    assert found.text == "Oslo"
    assert voted(question(), [replace(cut, outcome="truncated")]) is None


def test_an_answer_that_thought_although_it_was_not_to_does_not_vote():
    thought = [replace(one, thinking_asked=False, thinking_observed=True) for one in said_by("Bergen", "Bergen")]
    plain = [replace(one, thinking_asked=False, thinking_observed=False) for one in said_by("Oslo", "Oslo")]
    assert voted(question(), [*thought, *plain]).text == "Oslo"


def test_the_translation_nearest_to_the_others_wins():
    texts = ("the cat sat on the mat", "the cat sat on a mat", "a dog ran far away")
    assert voted(question("translation"), said_by(*texts)).text in texts[:2]


def test_price_of_unknown_tokens_is_unknown():
    one, other = said_by("Oslo", "Oslo")
    assert voted(question(), [one, replace(other, tokens=None)]).tokens is None


def test_code_cannot_be_voted_on():
    with pytest.raises(ConfigurationError, match="never equal"):
        require_votes([question("tests")], temperature=0.7)


def scores(**values):
    """By question and epoch: "a0"."""
    return [
        Score(asked=Asked(question=name[0], candidate="c", epoch=int(name[1])), scorer="s", value=value)
        for name, value in values.items()
    ]


def test_change_counts_what_both_scored_answer_by_answer():
    found = change(scores(a0=1.0, b0=0.0, c0=None, d0=1.0), scores(a0=0.0, b0=1.0, c0=1.0, e0=1.0))
    assert (found.wrong, found.right, found.healed, found.harmed) == (1, 1, 1, 1)
    twice = change(scores(a0=1.0, a1=1.0), scores(a0=1.0, a1=0.0))
    assert (twice.right, twice.harmed) == (2, 1), "an epoch that was spoiled is not hidden by another"
