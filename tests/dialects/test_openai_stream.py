"""Captured streams with their read times, and shapes that servers may legally send. Expected values by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evener.dialects.http1 import Ending, Exchange
from evener.dialects.openai_stream import http_failure, read
from evener.records.load import Request

CAPTURES = Path(__file__).parent.parent / "captures" / "sse"
CASES: dict[str, dict[str, Any]] = json.loads((CAPTURES / "expected.json").read_text())
MS = 1_000_000


def request(
    *pieces: tuple[float, str | dict[str, Any]],
    ending: Ending = "complete",
    status: int = 200,
    detail: str | None = None,
) -> Request:
    """A request from (milliseconds, event) pairs; text goes out as it stands, data as an event."""
    stamped = [(int(ms * MS), x.encode() if isinstance(x, str) else _event(x)) for ms, x in pieces]
    end_ns = stamped[-1][0] if stamped else MS
    return read(
        Exchange(ending=ending, sent_ns=0, end_ns=end_ns, status=status, headers={}, pieces=stamped, detail=detail),
        id=1,
        users=1,
        user=0,
        started_ns=0,
    )


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def chunk(delta: dict[str, Any], *, finish: str | None = None, **beside: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **beside}


def token(text: str = " a", **beside: Any) -> dict[str, Any]:
    return chunk({"content": text}, **beside)


def usage(tokens: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": 9, "completion_tokens": tokens}}


END = chunk({}, finish="length")
DONE = "data: [DONE]\n\n"


def captured(name: str) -> Request:
    case, raw, at = CASES[name], (CAPTURES / f"{name}.http").read_bytes(), 0
    pieces: list[tuple[int, bytes]] = []
    for ms, size in case["reads_ms_len"]:
        pieces.append((int(ms * MS) + 1, raw[at : at + size]))
        at += size
    assert at == len(raw) == case["bytes"]
    return read(
        Exchange(ending="complete", sent_ns=0, end_ns=pieces[-1][0], status=case["status"], headers={}, pieces=pieces),
        id=1,
        users=1,
        user=0,
        started_ns=0,
    )


@pytest.mark.parametrize("name", CASES)
def test_a_captured_stream_is_what_its_source_says(name: str) -> None:
    expected, got = CASES[name]["expected"], captured(name)
    assert got.failure == expected.get("error_class")
    if expected["ok"]:
        assert got.tokens == expected["tokens"]
        assert sum(credit for _, credit in got.token_times) == pytest.approx(expected["tokens"])
        assert got.tokens_estimated is ("estimated" in expected.get("tokens_source", ""))
        assert got.finish_reason == expected.get("finish", "length")
    assert got.chunks == expected.get("chunks", expected.get("tokens_before", got.chunks))
    assert got.reasoning_chunks == expected.get("reasoning_chunks", got.reasoning_chunks)
    assert got.chunks - got.reasoning_chunks == expected.get("content_chunks", got.chunks - got.reasoning_chunks)
    assert (got.cached_tokens or 0) == expected.get("cached", 0)


# Name, TTFT and TTFA as the captured read times give them, in milliseconds.
@pytest.mark.parametrize(
    ("name", "ttft_ms", "ttfa_ms"),
    [
        ("plain", 203.9, 203.9),
        ("rolefirst", 200.3, 200.3),  # not 5.6, when the role came
        ("rolenull", 200.5, 200.5),
        ("ping", 199.8, 199.8),  # not 50.3, the first comment
        ("progress", 200.5, 200.5),  # not 40.6, the first progress
        ("split", 207.9, 207.9),  # the read that completes the event
        ("reason", 202.2, 320.2),
        ("reasononly", 200.8, None),
    ],
)
def test_the_first_token_is_no_role_no_comment_and_no_progress(
    name: str, ttft_ms: float, ttfa_ms: float | None
) -> None:
    got = captured(name)
    assert got.ttft_s == pytest.approx(ttft_ms / 1e3, abs=2e-6)
    assert got.ttfa_s == (None if ttfa_ms is None else pytest.approx(ttfa_ms / 1e3, abs=2e-6))


def test_an_answer_that_stays_in_reasoning_says_so() -> None:
    assert captured("reasononly").notes == ("never answered: every token was reasoning",)


def test_a_missing_done_after_the_finish_reason_is_a_note() -> None:
    assert captured("nodone").notes == ("no [DONE]",)


def test_tokens_that_share_a_read_are_one_arrival() -> None:
    got = captured("burst")
    assert (got.chunks, got.arrivals) == (12, 7)
    assert got.token_times[-1] == (pytest.approx(0.4209, abs=2e-6), 6.0)


def test_the_engines_own_times_are_kept() -> None:
    got = captured("usage1")
    assert (got.server_prompt_ms, got.server_prompt_tokens, got.server_predicted_ms) == (200.0, 100, 240.0)


def test_a_full_context_says_how_much_was_asked_and_offered() -> None:
    detail = captured("ctx400").detail
    assert detail is not None
    assert "9001" in detail
    assert "8192" in detail


def test_a_count_that_grows_tells_how_many_came_first() -> None:
    got = request(
        (1, chunk({"role": "assistant", "content": ""}, **usage(0))),
        (10, token(**usage(3))),
        (20, token(**usage(4))),
        (30, chunk({}, finish="length", **usage(4))),
        (30, {"choices": [], **usage(4)}),
        (30, DONE),
    )
    assert (got.first_chunk_tokens, got.tokens, got.failure) == (3, 4, None)
    assert got.token_times == ((0.01, 3.0), (0.02, 1.0))


def test_a_count_that_grows_under_an_empty_delta_is_a_token() -> None:
    got = request((5, chunk({}, **usage(1))), (9, token(**usage(2))), (10, END), (10, DONE))
    assert (got.ttft_s, got.ttfa_s, got.tokens, got.chunks) == (0.005, 0.009, 2, 2)


def test_the_engines_count_per_chunk_grows_too() -> None:
    per_token = [chunk({"content": t}, timings={"predicted_n": n}) for t, n in ((" a", 2), (" b", 5))]
    got = request((5, per_token[0]), (9, per_token[1]), (10, END), (10, DONE))
    assert (got.first_chunk_tokens, got.tokens) == (2, 5)


def test_a_total_beside_the_finish_reason_is_a_bill_and_no_token() -> None:
    got = request((5, token()), (8, token()), (20, chunk({}, finish="stop", **usage(2))), (20, DONE))
    assert (got.last_token_s, got.tokens, got.chunks) == (0.008, 2, 2)


def test_the_bill_of_an_empty_answer_is_no_token() -> None:
    got = request((5, END), (5, {"choices": [], **usage(12)}), (5, DONE))
    assert (got.failure, got.ttft_s) == ("no_token", None)


def test_a_tool_call_is_an_answer() -> None:
    call = chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]})
    assert request((7, call), (9, END), (9, DONE)).ttfa_s == 0.007


def test_reasoning_under_its_other_name_is_reasoning() -> None:
    got = request((7, chunk({"reasoning": "hm"})), (8, token()), (9, END), (9, DONE))
    assert (got.ttft_s, got.ttfa_s, got.reasoning_chunks) == (0.007, 0.008, 1)


def test_a_text_completion_is_read_like_a_chat() -> None:
    got = request((7, {"choices": [{"text": " a", "finish_reason": None}]}), (9, END), (9, DONE))
    assert (got.ttft_s, got.tokens) == (0.007, 1)


def test_unequal_counts_are_noted_and_usage_is_believed() -> None:
    got = request(
        (5, token()), (6, token()), (9, END), (9, {"choices": [], **usage(2), "timings": {"predicted_n": 3}}), (9, DONE)
    )
    assert got.tokens == 2
    assert got.notes == ("usage says 2 tokens, timings say 3",)


def test_fewer_tokens_than_chunks_are_noted() -> None:
    got = request((5, token()), (6, token()), (9, END), (9, {"choices": [], **usage(1)}), (9, DONE))
    assert got.notes == ("2 chunks carried tokens, the server counts 1",)


@pytest.mark.parametrize(
    ("pieces", "failure"),
    [
        ([(5, token()), (6, {"error": {"message": "Compute error."}}), (6, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, {"error": "Compute error."})], "server_error_in_stream"),
        ([(5, token()), (6, "event: error\ndata: {}\n\n"), (6, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, "data: Internal Server Error\n\n"), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, chunk({}, finish="error")), (6, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, {"error": {"message": "Context size has been exceeded."}})], "kv_exhausted"),
        ([(5, token())], "connection_cut"),
        ([(5, chunk({"role": "assistant", "content": ""})), (6, END), (6, DONE)], "no_token"),
        ([(5, '{"choices": [{"message": {"content": "a"}}]}')], "client_invalid"),
        ([(5, '{"error": {"message": "boom"}}')], "server_error_in_stream"),
        ([(5, "<html>")], "no_token"),
        ([], "no_token"),
    ],
)
def test_a_good_status_is_no_success_by_itself(pieces: list[tuple[float, Any]], failure: str) -> None:
    assert request(*pieces).failure == failure


def test_tokens_before_a_failure_are_counted_and_marked_as_estimated() -> None:
    got = captured("errmid")
    assert (got.tokens, got.tokens_estimated, got.detail) == (10, True, "Compute error.")


@pytest.mark.parametrize(("ending", "failure"), [("cut", "connection_cut"), ("timeout", "timeout")])
def test_a_stream_that_stops_short_is_named_by_what_ended_it(ending: Ending, failure: str) -> None:
    assert request((5, token()), ending=ending, detail="x").failure == failure


def test_a_connection_that_ends_after_the_finish_reason_took_nothing_away() -> None:
    got = request((5, token()), (9, END), ending="cut", detail="reset")
    assert got.failure is None
    assert "after the finish reason: reset" in got.notes


def test_no_answer_at_all_is_a_cut_connection() -> None:
    exchange = Exchange(ending="unreachable", sent_ns=None, end_ns=5, headers={}, pieces=[], detail="refused")
    got = read(exchange, id=1, users=1, user=0, started_ns=0)
    assert (got.failure, got.detail) == ("connection_cut", "refused")


def test_stamps_that_run_backwards_are_invalid_and_not_zero() -> None:
    assert request((0, token()), (9, END), (9, DONE)).failure == "client_invalid"


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (401, b'{"error":{"message":"Invalid API Key"}}', "http_error"),
        (500, b'{"error":{"message":"Context size has been exceeded.","code":500}}', "kv_exhausted"),
        (400, b'{"error":{"message":"too long","code":"context_length_exceeded"}}', "context_exceeded"),
        (400, b'{"message":"This model\'s maximum context length is 4096 tokens."}', "context_exceeded"),
        (503, b'{"error":{"message":"Loading model"}}', "model_loading"),
        (503, b"upstream is away", "http_error"),
        (422, b'{"detail":[{"loc":["body","seed"],"msg":"extra"}]}', "http_error"),
        (404, b"", "http_error"),
        (500, b"[" * 100_000, "http_error"),
    ],
)
def test_an_error_answer_has_a_class_and_one_line(status: int, body: bytes, failure: str) -> None:
    name, detail = http_failure(status, body)
    assert name == failure
    assert detail.startswith(f"HTTP {status}")
    assert "\n" not in detail
    assert len(detail) < 250


@pytest.mark.parametrize("name", ["plain", "reason", "mtp4", "usage1"])
def test_a_stream_that_ends_at_any_byte_is_a_success_only_with_its_finish_reason(name: str) -> None:
    raw = (CAPTURES / f"{name}.http").read_bytes()
    told = raw.index(b"\n\n", raw.index(b'"finish_reason":"length"')) + 2
    for at in range(len(raw)):
        got = request((5, raw[:at].decode()), ending="cut", detail="cut")
        assert (got.failure is None) == (at >= told), at
