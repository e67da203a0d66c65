import json

import pytest

from evener.evals.outcomes import read, split_thinking
from evener.ports import ChatReply


def reply(message, *, reason="stop", status=200, **more):
    document = {"choices": [{"index": 0, "finish_reason": reason, "message": message}], "model": "m", **more}
    return ChatReply(ending="complete", seconds=1.0, status=status, body=json.dumps(document).encode())


def test_a_plain_answer_is_ok_and_stripped():
    found = read(reply({"role": "assistant", "content": " Paris.\n"}))
    assert (found.outcome, found.text, found.thinking, found.model) == ("ok", "Paris.", None, "m")


@pytest.mark.parametrize(
    ("text", "answer", "thinking", "is_open"),
    [
        ("A", "A", None, False),
        ("<think>B</think>A", "A", "B", False),
        ("B</think>\n\nA", "A", "B", False),  # the template opened it
        ("<think>B", "", "B", True),
        ("<think>B</think>A<think>C", "", "C", True),
        ("<THINK>B</Think>A", "A", "B", False),
        ("<think></think>A", "A", None, False),
        ("[THINK]B[/THINK]A", "A", "B", False),
        ("◁think▷B◁/think▷A", "A", "B", False),
        ("<seed:think>B</seed:think>A", "A", "B", False),
        ("[thinking] A [think]", "[thinking] A [think]", None, False),  # a stage direction
    ],
)
def test_thinking_is_cut_off_however_it_is_tagged(text, answer, thinking, is_open):
    assert split_thinking(text) == (answer, thinking, is_open)


def test_thinking_beside_the_content_is_thinking():
    found = read(reply({"content": "A", "reasoning_content": "because"}))
    assert (found.outcome, found.text, found.thinking) == ("ok", "A", "because")


@pytest.mark.parametrize(
    ("message", "more", "has_thought"),
    [
        ({"content": "A"}, {}, False),
        ({"content": "<think>\n\n</think>A"}, {}, False),
        ({"content": "<think>B</think>A"}, {}, True),
        ({"content": "<think>"}, {}, True),
        ({"content": "A", "reasoning_content": "B"}, {}, True),
        ({"content": "A", "reasoning": "B"}, {}, True),
        ({"content": "A"}, {"usage": {"completion_tokens_details": {"reasoning_tokens": 7}}}, True),
        ({"content": "A"}, {"usage": {"completion_tokens_details": {"reasoning_tokens": 0}}}, False),
        ({"content": "A"}, {"usage": {"completion_tokens_details": None}}, False),
    ],
)
def test_thinking_is_seen_also_where_only_its_tokens_are_counted(message, more, has_thought):
    assert read(reply(message, **more)).has_thought is has_thought


@pytest.mark.parametrize(
    ("message", "reason", "outcome"),
    [
        ({"content": ""}, "stop", "empty"),
        ({"content": None}, "stop", "empty"),
        ({"content": "", "reasoning_content": "hm"}, "stop", "reasoning_only"),
        ({"content": "<think>hm"}, "length", "think_unclosed"),
        ({"content": "half an ans"}, "length", "truncated"),
        ({"content": None, "refusal": "I will not"}, "stop", "refused"),
        ({"content": ""}, "content_filter", "refused"),
        ({"content": [{"type": "text", "text": "A"}]}, "stop", "ok"),
        ({"content": None, "tool_calls": [{"function": {"name": "f"}}]}, "tool_calls", "ok"),
    ],
)
def test_how_an_answer_ended_is_known_before_it_is_scored(message, reason, outcome):
    assert read(reply(message, reason=reason)).outcome == outcome


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"choices": []}', b'{"choices": [null]}', b"[" * 100_000])
def test_what_is_no_completion_is_an_error_and_no_answer(body):
    assert read(ChatReply(ending="complete", seconds=0, status=200, body=body)).outcome == "http_error"


def test_error_keeps_its_message():
    body = json.dumps({"error": {"message": "Context size has been exceeded."}}).encode()
    found = read(ChatReply(ending="complete", seconds=0, status=500, body=body))
    assert (found.outcome, found.detail) == ("http_error", "HTTP 500: Context size has been exceeded.")


def test_no_control_sequence_of_an_error_reaches_a_terminal():
    body = json.dumps({"error": {"message": "no\x1b[2J\nway"}}).encode()
    for status, content in ((400, body), (500, b"no\x1b[2J\nway")):
        found = read(ChatReply(ending="complete", seconds=0, status=status, body=content))
        assert found.detail == f"HTTP {status}: no\ufffd[2J way"


def test_silence_is_a_timeout():
    assert read(ChatReply(ending="timeout", seconds=9, detail="no answer")).outcome == "timeout"


def test_counts_are_the_server_s_and_never_invented():
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    found = read(reply({"content": "A"}, usage=usage))
    assert (found.prompt_tokens, found.tokens, found.cached_tokens) == (12, 3, 4)
    assert read(reply({"content": "A"}, usage={"completion_tokens": True})).tokens is None


def test_an_error_that_is_null_is_none():
    assert read(reply({"content": "A"}, error=None)).outcome == "ok"
    assert read(reply({"content": "A"}, error="overloaded")).outcome == "http_error"


@pytest.mark.parametrize("calls", [3, "abc", {"a": 1}, [1, None], True])
def test_tool_calls_of_a_wrong_shape_are_none(calls):
    assert read(reply({"content": "A", "tool_calls": calls})).tool_calls == ()


def test_half_a_character_is_replaced_so_that_a_file_can_hold_it():
    found = read(reply({"content": "a\ud800b", "tool_calls": [{"function": {"name": "\udfff"}}]}))
    assert found.text == "a?b"
    assert found.tool_calls == ({"function": {"name": "?"}},)
