"""What one person may use, and what an answer took, read from its end."""

from __future__ import annotations

import json

import pytest

from evener.records.serving import PersonLimits
from evener.serve.counting import Counted, in_stream, in_whole
from evener.serve.limits import Lately, Refusal

DAY = "2026-01-02"


def refusal(lately: Lately, *, now_s: float = 100.0, day: str = DAY, **limits: int) -> Refusal | None:
    return lately.refusal(PersonLimits(**limits), now_s=now_s, day=day, seconds_left_of_day=3600.5)


def test_requests_of_the_last_minute_count_and_the_next_try_is_when_one_has_left_it() -> None:
    lately = Lately()
    for at_s in (45.0, 50.0, 60.0):
        lately.began(at_s)
    found = refusal(lately, requests_per_minute=3)
    assert found is not None
    assert found.retry_after_s == 5
    assert "3 requests a minute" in found.why
    assert refusal(lately, now_s=105.5, requests_per_minute=3) is None
    assert refusal(Lately(), requests_per_minute=3) is None


def test_tokens_of_a_day_end_with_the_day() -> None:
    lately = Lately()
    lately.used(60, day=DAY)
    assert refusal(lately, tokens_per_day=100) is None
    lately.used(40, day=DAY)
    found = refusal(lately, tokens_per_day=100)
    assert found is not None
    assert found.retry_after_s == 3601
    assert refusal(lately, day="2026-01-03", tokens_per_day=100) is None
    lately.used(1, day="2026-01-03")
    assert lately.tokens == 1


def test_without_limits_nothing_is_refused() -> None:
    lately = Lately()
    for _ in range(1000):
        lately.began(100.0)
    lately.used(10**9, day=DAY)
    assert refusal(lately) is None


USAGE = {"prompt_tokens": 30, "completion_tokens": 7}
TIMINGS = {"prompt_n": 10, "cache_n": 20, "predicted_n": 7}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": USAGE},
        {"choices": [{"finish_reason": "stop"}], "timings": TIMINGS},
        {"usage": {"input_tokens": 30, "output_tokens": 7}},
    ],
)
def test_the_last_event_that_counts_is_read(last: dict[str, object]) -> None:
    words = "".join(f'data: {{"choices": [{{"delta": {{"content": "{n}"}}}}]}}\n\n' for n in range(9))
    stream = f"{words}data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode()
    assert in_stream(b"", stream) == Counted(prompt=30, output=7)
    assert in_stream(b"", stream[20:]) == Counted(prompt=30, output=7), "the tail may begin in the middle of an event"
    assert in_whole(json.dumps(last).encode()) == Counted(prompt=30, output=7)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"data: [DONE]\n\n",
        b'data: {"usage": null}\n\n',
        b'data: {"usage": {"prompt_tokens": -1}}\n\n',
        b'data: {"usage": {"prompt_tokens": true}}\n',
        b'data: {"usage"',
        b"\xff\xfe",
        b"data: [" + b"[" * 5000 + b'"usage"',
    ],
)
def test_what_nobody_counted_is_unknown(text: bytes) -> None:
    assert in_stream(text, text) is None
    assert in_whole(text) is None


def test_words_about_usage_are_no_counts() -> None:
    said = json.dumps({"choices": [{"delta": {"content": 'the "usage": {"prompt_tokens": 5}'}}]})
    assert in_stream(b"", f"data: {said}\n\n".encode()) is None


def test_of_messages_the_prompt_is_counted_at_the_beginning_and_the_answer_at_the_end() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 25}}}
    head = f"event: message_start\ndata: {json.dumps(start)}\n\n".encode()
    tail = b'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":7}}\n\n'
    assert in_stream(head, tail) == in_stream(head, head + tail) == Counted(prompt=30, output=7)


def test_counts_are_found_in_an_event_that_is_longer_than_what_is_kept_of_it() -> None:
    response = {"output": ["x" * 20_000], "usage": {"input_tokens": 30, "output_tokens": 7, "details": {"a": {}}}}
    last = json.dumps({"type": "response.completed", "response": response})
    assert in_stream(b"", f"data: {last}\n\n".encode()[-8000:]) == Counted(prompt=30, output=7)


def test_an_embedding_has_a_prompt_only() -> None:
    assert in_whole(b'{"data": [], "usage": {"prompt_tokens": 9, "total_tokens": 9}}') == Counted(prompt=9, output=0)


def test_a_limit_that_makes_no_sense_refuses_and_does_not_fail() -> None:
    for most in (0, -1):
        found = refusal(Lately(), requests_per_minute=most)
        assert found is not None
        assert found.retry_after_s == 60
