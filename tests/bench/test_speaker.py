"""What users say, and who says which line of a recording."""

from __future__ import annotations

import json
from itertools import islice

from evener.bench.client import base_url
from evener.bench.load import Load, Replayed, optional_fields
from evener.bench.probe import Server
from evener.bench.speaker import Speaker, dealt, opening

WARM = Load(mode="warm", prompt_tokens=20, shared_prefix_tokens=30, seed=5)
SERVER = Server(url=base_url("127.0.0.1:1"), fields=optional_fields(Load()), template_tokens=7)


def line(text: str, user: str | None = None) -> Replayed:
    return Replayed(messages=({"role": "user", "content": text},), user=user)


def said(speaker: Speaker, number: int) -> list[str]:
    body = json.loads(speaker.saying(number, tokens=4).body)
    return [message["content"] for message in body["messages"]]


def test_warm_prompts_begin_alike_and_end_apart_and_have_the_length_asked() -> None:
    one, other = opening(SERVER, WARM, 1).split(), opening(SERVER, WARM, 2).split()
    assert len(one) == 30 + 20 - 7  # the template has seven tokens of its own
    assert one[:30] == other[:30]
    assert one[30:] != other[30:]


def test_cold_prompts_begin_apart() -> None:
    assert opening(SERVER, Load(), 1).split()[0] != opening(SERVER, Load(), 2).split()[0]


def test_turns_of_a_warm_conversation_are_what_was_sent_before_word_by_word() -> None:
    speaker = Speaker(SERVER, Load(mode="warm", prompt_tokens=20, turns=2))
    (first,) = said(speaker, 1)
    speaker.heard("an answer")
    assert said(speaker, 2)[:2] == [first, "an answer"]


def test_a_conversation_that_is_over_is_followed_by_another() -> None:
    speaker = Speaker(SERVER, Load(prompt_tokens=20, turns=2))
    for number, length in enumerate([1, 3, 1, 3]):
        assert len(said(speaker, number)) == length
        speaker.heard("an answer")


def test_lines_of_a_recording_are_dealt_to_whoever_is_ready_and_begin_again() -> None:
    ann, bob = dealt([line("1"), line("2"), line("3")], 2)
    texts = [next(hand).messages[0]["content"] for hand in (ann, bob, bob, ann)]
    assert texts == ["1", "2", "3", "1"]


def test_lines_of_one_recorded_user_stay_with_one_user() -> None:
    recorded = [line("a1", "ann"), line("b1", "bob"), line("a2", "ann"), line("free")]
    ann, bob, third = dealt(recorded, 3)
    assert [one.messages[0]["content"] for one in islice(ann, 3)] == ["a1", "a2", "a1"]
    assert [one.messages[0]["content"] for one in islice(bob, 2)] == ["b1", "b1"]
    assert next(third).messages[0]["content"] == "free"
