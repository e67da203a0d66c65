"""Recorded requests as people write them, and each way of writing them wrong."""

from __future__ import annotations

import pytest

from evener.bench.load import Replayed
from evener.bench.replay import parse_replay
from evener.errors import ConfigurationError


def said(*lines: str) -> tuple[Replayed, ...]:
    return parse_replay("\n".join(lines), source="mine.jsonl")


def test_a_prompt_a_list_of_messages_and_a_list_of_turns_are_requests() -> None:
    prompt, messages, turns = said(
        '{"prompt": "a", "max_tokens": 5, "note": "mine"}',
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "b"}], "user": 7}',
        "",
        '{"turns": ["c", "d", "e"]}',
    )
    assert (prompt.messages, prompt.max_tokens) == (({"role": "user", "content": "a"},), 5)
    assert (messages.messages[0]["role"], messages.user) == ("system", "7")
    assert (turns.messages, turns.turns) == (({"role": "user", "content": "c"},), ("d", "e"))


def test_times_are_seconds() -> None:
    assert [one.at_s for one in said('{"prompt": "a", "at_s": 0}', '{"prompt": "b", "at_s": 1.5}')] == [0.0, 1.5]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "mine.jsonl:2: not JSON: Expecting property name enclosed in double quotes (column 2)"),
        ("[1]", "mine.jsonl:2: not a JSON object"),
        ("{}", "mine.jsonl:2: one of messages, prompt and turns is wanted, it has none"),
        ('{"prompt": "a", "turns": ["b"]}', "it has prompt and turns"),
        ('{"prompt": 5}', "mine.jsonl:2: prompt: not a text"),
        ('{"turns": "a"}', "mine.jsonl:2: turns is no list"),
        ('{"turns": ["a", ""]}', "mine.jsonl:2: turns: not a text"),
        ('{"messages": [{"role": "user"}]}', "mine.jsonl:2: messages is no list of objects with role and content"),
        ('{"prompt": "a", "max_tokens": 0}', "mine.jsonl:2: max_tokens is no whole number from 1"),
        ('{"prompt": "a", "max_tokens": true}', "mine.jsonl:2: max_tokens is no whole number from 1"),
        ('{"prompt": "a", "at_s": -1}', "mine.jsonl:2: at_s is no number of seconds"),
        ('{"prompt": "a", "at_s": 3}', "mine.jsonl: some lines have at_s and some have none"),
    ],
)
def test_a_bad_line_is_one_error_that_names_file_and_line(line: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        said('{"prompt": "good"}', line)
    assert told in caught.value.message


def test_a_file_without_a_request_is_said_to_be_one() -> None:
    with pytest.raises(ConfigurationError, match=r"mine.jsonl: no request in it"):
        said("", " ")
