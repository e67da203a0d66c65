"""Captured streams with their read times, and shapes that servers may legally send. Expected values by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.dialects.http1 import Ending, Exchange, ResponseReader
from evener.dialects.openai_errors import http_failure
from evener.dialects.openai_stream import Reading, read
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


def test_tokens_that_came_four_at_a_time_are_credited_four_at_a_time() -> None:
    got = captured("mtp4")
    assert [credit for _, credit in got.token_times] == [4.0, 4.0, 4.0]
    assert [at_s for at_s, _ in got.token_times] == pytest.approx([0.26, 0.3377, 0.4203], abs=2e-6)


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
        ([(5, token()), (6, "data: {} is what is left\n\n"), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, chunk({}, finish="error")), (6, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, {"error": {"message": "Context size has been exceeded."}})], "kv_exhausted"),
        ([(5, token()), (6, {"error": {"code": 500}}), (6, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, 'error: {"code":500,"message":"boom"}\n\n')], "server_error_in_stream"),
        ([(5, token()), (6, '{"error":"llama runner process has terminated"}\n')], "server_error_in_stream"),
        ([(5, token()), (6, '{"error":"llama runner process has terminated"}')], "server_error_in_stream"),
        ([(5, token()), (6, 'data: {"error":"cut off before its line end"}')], "server_error_in_stream"),
        ([(5, token()), (6, {"object": "error", "message": "boom", "code": 400}), (6, DONE)], "server_error_in_stream"),
        ([(5, '{"object": "error", "message": "boom", "code": 400}')], "server_error_in_stream"),
        ([(5, token()), (6, 'data: "boom"\n\n'), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, "event: error\ndata: boom\n\n"), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, "event: error\ndata:\n\n"), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, "event: error\ndata: null\n\n"), (7, END), (7, DONE)], "server_error_in_stream"),
        ([(5, token()), (6, chunk({}, finish="abort")), (6, DONE)], "server_error_in_stream"),
        ([(5, token())], "connection_cut"),
        ([(5, token()), (6, '{"object": "list"}\n')], "connection_cut"),
        ([(5, chunk({"role": "assistant", "content": ""})), (6, END), (6, DONE)], "no_token"),
        ([(5, '{"choices": [{"message": {"content": "a"}}]}')], "client_invalid"),
        ([(5, '{"choices": [{"message": {"content": "a"}}]}\n')], "client_invalid"),
        ([(5, '{"error": {"message": "boom"}}')], "server_error_in_stream"),
        ([(5, '{"error": {"message": "boom"}}\n')], "server_error_in_stream"),
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


def test_what_is_only_null_is_nothing() -> None:
    assert request((5, token()), (6, "data: null\n\n"), (7, END), (7, DONE)).failure is None


def test_a_stream_that_is_done_without_a_finish_reason_is_noted() -> None:
    assert request((5, token()), (7, DONE)).notes == ("no finish reason",)


def test_what_comes_behind_a_finish_reason_takes_nothing_back() -> None:
    assert request((5, token()), (6, END), (7, chunk({}, **usage(1))), ending="cut").failure is None


def test_of_several_choices_all_must_finish() -> None:
    def of(index: int, *, finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": {"content": "a"}, "finish_reason": finish}]}

    begun = [(5, of(0)), (6, of(1)), (7, of(0, finish="stop"))]
    assert request(*begun, ending="cut").failure == "connection_cut"
    whole = request(*begun, (8, of(1, finish="length")), ending="cut")
    assert (whole.failure, whole.tokens, whole.chunks) == (None, 4, 4)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-encoding": "gzip"},
        {"content-encoding": "Br"},
        {"transfer-encoding": "gzip, chunked"},
        {"content-encoding": "identity", "transfer-encoding": "gzip, chunked"},
    ],
)
def test_a_compressed_answer_is_named_and_no_cut_connection(headers: dict[str, str]) -> None:
    pieces = [(5 * MS, b"\x1f\x8b\x08\x00\n\n")]
    exchange = Exchange(ending="complete", sent_ns=0, end_ns=5 * MS, status=200, headers=headers, pieces=pieces)
    got = read(exchange, id=1, users=1, user=0, started_ns=0)
    assert got.failure == "client_invalid"
    assert got.detail is not None
    assert "compressed" in got.detail


@pytest.mark.parametrize("headers", [{"content-encoding": "identity"}, {"transfer-encoding": "chunked"}, {}])
def test_plain_text_is_not_compressed(headers: dict[str, str]) -> None:
    pieces = [(5 * MS, _event(token()) + _event(END) + DONE.encode())]
    exchange = Exchange(ending="complete", sent_ns=0, end_ns=5 * MS, status=200, headers=headers, pieces=pieces)
    assert read(exchange, id=1, users=1, user=0, started_ns=0).failure is None


def test_what_a_server_says_can_be_written_down_and_shown() -> None:
    raw = r'data: {"error": {"message": "\ud83d \u001b[31m red"}}' + "\n\n"
    got = request((5, raw))
    assert got.detail == "\ufffd \ufffd[31m red"


@pytest.mark.parametrize(
    "usage_text",
    ['{"completion_tokens": 1e999}', '{"completion_tokens": -3}', '{"completion_tokens": true}', '[3]',
     '{"completion_tokens": ' + "9" * 400 + "}"],
)  # fmt: skip
def test_a_count_that_is_none_is_not_believed(usage_text: str) -> None:
    got = request((5, token()), (6, f'data: {{"choices": [], "usage": {usage_text}}}\n\n'), (7, END), (7, DONE))
    assert (got.tokens, got.tokens_estimated, got.failure) == (1, True, None)


def test_times_of_the_server_that_are_no_numbers_are_unknown() -> None:
    timings = '{"prompt_ms": NaN, "predicted_ms": Infinity}'
    got = request((5, token()), (7, END), (7, f'data: {{"choices": [], "timings": {timings}}}\n\n'), (7, DONE))
    assert (got.server_prompt_ms, got.server_predicted_ms) == (None, None)


SSE_TYPE = b"Content-Type: text/event-stream\r\n"


def framed(body: bytes, how: str) -> bytes:
    """A whole answer: by chunk (of 100 bytes, with an extension and a trailer), by length, or until the close."""
    if how == "length":
        return b"HTTP/1.1 200 OK\r\n" + SSE_TYPE + b"Content-Length: %d\r\n\r\n" % len(body) + body
    if how == "close":
        return b"HTTP/1.0 200 OK\r\n" + SSE_TYPE + b"\r\n" + body
    chunks = [body[at : at + 100] for at in range(0, len(body), 100)]
    runs = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(one), one) for one in chunks)
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + SSE_TYPE + b"Transfer-Encoding: chunked\r\n\r\n"
    return head + runs + b"0\r\nX-Trailer: 1\r\n\r\n"


def over_the_wire(*reads: bytes) -> Request:
    """What a client makes of these reads, after which the connection ends."""
    reader = ResponseReader()
    for at, data in enumerate(reads, start=1):
        if not reader.complete:
            reader.feed(at * MS, data)
    reader.end()
    ending: Ending = "complete" if reader.complete else "cut"
    end_ns = (len(reads) + 1) * MS
    exchange = Exchange(
        ending=ending, sent_ns=0, end_ns=end_ns, status=reader.status, headers=reader.headers, pieces=reader.pieces
    )
    return read(exchange, id=1, users=1, user=0, started_ns=0)


def told_after(body: bytes) -> int:
    """How many bytes of the body must have come for a success: up to the end of the finish reason's own event."""
    at = body.find(b'"finish_reason":"')
    return len(body) + 1 if at < 0 else body.index(b"\n\n", at) + 2


@pytest.mark.parametrize("how", ["length", "close"])
def test_a_body_of_a_length_and_one_until_the_close_end_at_any_byte_too(how: str) -> None:
    body = (CAPTURES / "short.http").read_bytes()
    raw = framed(body, how)
    head = len(raw) - len(body)
    for at in range(head, len(raw) + 1):
        assert (over_the_wire(raw[:at]).failure is None) == (at - head >= told_after(body)), at


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["status"] == 200])
def test_a_connection_that_ends_at_any_byte_is_classified_and_never_a_success_before_its_finish(name: str) -> None:
    body, whole = (CAPTURES / f"{name}.http").read_bytes(), CASES[name]["expected"]
    reader, reading, told = ResponseReader(), Reading(), told_after(body)
    for at, byte in enumerate(framed(body, "chunked"), start=1):
        known = len(reader.pieces)
        reader.feed(at, bytes([byte]))
        for piece in reader.pieces[known:]:
            reading.feed(*piece)
        exchange = Exchange(
            ending="complete" if reader.complete else "cut", sent_ns=0, end_ns=at, status=reader.status,
            headers=reader.headers, pieces=reader.pieces,
        )  # fmt: skip
        got = reading.request(exchange, id=1, users=1, user=0, started_ns=0).failure
        if whole["ok"]:
            assert got == (None if len(reader.pieces) >= told else "connection_cut"), at
        else:
            assert got in ("connection_cut", whole["error_class"]), at
    assert got == whole.get("error_class")


@settings(deadline=None)
@given(
    name=st.sampled_from([name for name, case in CASES.items() if case["status"] == 200]),
    how=st.sampled_from(["chunked", "length", "close"]),
    end=st.sampled_from([b"\n", b"\r", b"\r\n"]),
    cuts=st.lists(st.integers(0, 5000), max_size=20),
)
def test_no_cut_and_no_line_end_changes_what_an_answer_was(name: str, how: str, end: bytes, cuts: list[int]) -> None:
    body = (CAPTURES / f"{name}.http").read_bytes()
    raw = framed(body.replace(b"\n", end), how)
    places = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    got = over_the_wire(*(raw[a:b] for a, b in pairwise(places)))
    once = over_the_wire(framed(body, "length"))
    facts = ("failure", "detail", "tokens", "tokens_estimated", "chunks", "reasoning_chunks", "finish_reason", "notes")
    assert [getattr(got, fact) for fact in facts] == [getattr(once, fact) for fact in facts]
    assert sum(credit for _, credit in got.token_times) == pytest.approx(got.tokens or 0)


KEYS = (
    "choices delta content index finish_reason usage completion_tokens timings predicted_n prompt_ms error message "
    "object prompt_tokens_details text detail"
)


@settings(deadline=None)
@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS.split()),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_document_at_all_makes_the_reading_raise(data: Any) -> None:
    for ending in ("complete", "cut"):
        got = request((1, _event(data).decode()), (2, token()), (3, END), ending=ending)  # type: ignore[arg-type]
        json.dumps([got.detail, got.finish_reason, got.notes], ensure_ascii=False).encode()
    http_failure(500, json.dumps(data).encode())
