"""What a streamed OpenAI-compatible answer was: when its tokens came, how many, and why it ended. Pure.

Reads chat and text completions as llama-server, vLLM, SGLang and hosted services send them. Knows nothing of sockets:
it is given stamped bytes after the answer has ended. Definitions: docs/reference/metrics.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from evener.dialects.http1 import Exchange
from evener.dialects.openai_errors import (
    compressed,
    error_text,
    http_failure,
    in_stream,
    is_error,
    loads,
    one_line,
    unstreamed,
)
from evener.dialects.sse import Event, SseParser
from evener.records.load import FailureClass, Request

BAD_FINISHES = ("error", "abort")  # SGLang and vLLM end what they gave up like that
_JSON = json.JSONDecoder()
MOST_TOKENS = 1 << 40  # no server has counted so far: a greater number is none


class _Mark(NamedTuple):
    """A chunk that carried generated tokens. `grown` is by how much the server's own count rose, None when silent."""

    at_ns: int
    answer: bool
    grown: int | None


class Reading:
    """One answer, read event by event. Feed it the pieces of an exchange in order, then ask for the `request()`."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._marks: list[_Mark] = []
        self._reasoning = 0
        self._events = 0
        self._done = False
        self._finish: str | None = None
        self._ended: dict[int, bool] = {}  # of each choice that was begun, whether its finish reason has come
        self._error: str | None = None
        self._count: int | None = None  # the server's latest count of generated tokens
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] = {}

    def feed(self, at_ns: int, piece: bytes) -> None:
        for event in self._sse.feed(piece):
            if not self._done and self._error is None:
                self._event(at_ns, event)

    def request(
        self, exchange: Exchange, *, id: int, users: int, user: int, started_ns: int, warm_up: bool = False
    ) -> Request:
        """What the request was. `started_ns` is the start of the run, on the clock of the exchange."""
        sent_ns = exchange.sent_ns if exchange.sent_ns is not None else exchange.end_ns
        since = _Since(sent_ns)
        tokens, estimated = self._tokens()
        first = self._first_tokens(tokens)
        failure, detail = self._failure(exchange, sent_ns)
        answer_ns = next((m.at_ns for m in self._marks if m.answer), None)
        cached = _count(_part(self._usage, "prompt_tokens_details"), "cached_tokens")
        times = _credit(self._marks, tokens, first)
        return Request(
            id=id,
            users=users,
            user=user,
            sent_s=round((sent_ns - started_ns) / 1e9, 6),
            ttft_s=since(self._marks[0].at_ns) if self._marks else None,
            ttfa_s=since(answer_ns),
            last_token_s=since(self._marks[-1].at_ns) if self._marks else None,
            end_s=since(exchange.end_ns),
            prompt_tokens=_count(self._usage, "prompt_tokens") or _sum(self._timings, "prompt_n", "cache_n"),
            cached_tokens=cached if cached is not None else _count(self._timings, "cache_n"),
            tokens=tokens,
            tokens_estimated=estimated,
            chunks=len(self._marks),
            reasoning_chunks=self._reasoning,
            arrivals=len(times),
            first_chunk_tokens=first,
            finish_reason=self._finish,
            failure=failure,
            detail=detail,
            warm_up=warm_up,
            server_prompt_ms=_number(self._timings, "prompt_ms"),
            server_predicted_ms=_number(self._timings, "predicted_ms"),
            server_prompt_tokens=_count(self._timings, "prompt_n"),
            connect_s=exchange.connect_s,
            retried=exchange.retried,
            token_times=tuple((since.seconds(at_ns), credit) for at_ns, credit in times),
            notes=() if failure else tuple(self._notes(exchange, tokens)),
        )

    def _event(self, at_ns: int, event: Event) -> None:
        if not event.type:
            stray = loads(event.data.encode())
            self._error = error_text(stray) if isinstance(stray, dict) and is_error(stray) else None
            return
        self._events += 1
        text = event.data.strip()
        if text == "[DONE]":
            self._done = True
            return
        try:
            chunk, end = _JSON.raw_decode(text) if text else ({}, 0)
        except (ValueError, RecursionError):
            chunk, end = None, -1
        if end != len(text):
            self._error = f"unreadable event: {one_line(text)}"  # it may be an error in words: never a success
            return
        if isinstance(chunk, dict) and not (event.type == "error" or is_error(chunk)):
            self._chunk(at_ns, chunk)
        elif chunk is not None or event.type == "error":
            self._error = error_text(chunk) or one_line(f"an error without words: {text}")

    def _chunk(self, at_ns: int, chunk: dict[str, Any]) -> None:
        choices = [c for c in _items(chunk, "choices") if isinstance(c, dict)]
        finish = self._finishes(choices)
        grown = self._growth(chunk, bool(choices), finish)
        answer = any(map(_answers, choices))
        reasons = not answer and any(map(_reasons, choices))
        if answer or reasons or grown:
            self._marks.append(_Mark(at_ns, answer, grown))
            self._reasoning += reasons
        self._finish = finish or self._finish

    def _finishes(self, choices: list[dict[str, Any]]) -> str | None:
        """The finish reason in this chunk, if any; which choices have ended is kept."""
        found = None
        for choice in choices:
            number, reason = _count(choice, "index") or 0, choice.get("finish_reason")
            if reason:
                found = found or one_line(str(reason))
            self._ended[number] = bool(reason) or self._ended.get(number, False)
        return found

    def _growth(self, chunk: dict[str, Any], carries: bool, finish: str | None) -> int | None:
        """Tokens the server's count rose by with this chunk; None when the chunk says nothing about itself.

        A chunk without choices is the bill and no token. A count first seen beside the finish reason is the total.
        """
        if not (chunk.get("usage") or chunk.get("timings")):
            return None
        usage, timings = _part(chunk, "usage"), _part(chunk, "timings")
        self._usage = usage or self._usage
        self._timings = timings or self._timings
        used = _count(usage, "completion_tokens")
        count = used if used is not None else _count(timings, "predicted_n")
        if count is None:
            return None
        before, self._count = self._count, count
        if not carries or (before is None and finish):
            return None
        return max(0, count - (before or 0))

    def _tokens(self) -> tuple[int | None, bool]:
        """(N, whether it is only the chunk count): usage first, then the engine's timings, then chunks."""
        used = _count(self._usage, "completion_tokens") or _count(self._timings, "predicted_n")
        if used:
            return used, False
        return (len(self._marks), True) if self._marks else (None, False)

    def _first_tokens(self, tokens: int | None) -> int | None:
        """Tokens that came with the first read: by the server's growing count, or one per chunk when that adds up."""
        together = [m for m in self._marks if m.at_ns == self._marks[0].at_ns]
        growths = [m.grown for m in together if m.grown is not None]
        if together and len(growths) == len(together):
            return max(1, sum(growths))
        return len(together) if tokens is not None and tokens == len(self._marks) else None

    def _failure(self, exchange: Exchange, sent_ns: int) -> tuple[FailureClass | None, str | None]:
        if exchange.status is not None and exchange.status != 200:
            return http_failure(exchange.status, exchange.body)
        if self._error is not None:
            return in_stream(self._error), self._error
        if coding := compressed(exchange.headers):
            return "client_invalid", f"the answer is compressed ({coding}), which was not asked for"
        if exchange.ending == "complete" and not self._events:
            return unstreamed(exchange)
        if not (self._done or (self._finish and all(self._ended.values()))):
            return self._cut(exchange)
        if self._finish in BAD_FINISHES:
            return "server_error_in_stream", f"finish reason: {self._finish}"
        if not self._marks:
            return "no_token", "the stream ended properly and carried no token"
        if not sent_ns < self._marks[0].at_ns <= self._marks[-1].at_ns <= exchange.end_ns:
            return "client_invalid", "stamps out of order: not 0 < TTFT <= end to end"
        return None, None

    def _cut(self, exchange: Exchange) -> tuple[FailureClass, str | None]:
        last = loads(self._sse.unfinished.removeprefix("data:").encode())
        if isinstance(last, dict) and is_error(last):  # the connection ended with these words, without a line's end
            return in_stream(error_text(last)), error_text(last)
        if exchange.ending == "timeout":
            return "timeout", exchange.detail
        return "connection_cut", exchange.detail or "the stream ended without a finish reason"

    def _notes(self, exchange: Exchange, tokens: int | None) -> Iterable[str]:
        if not any(mark.answer for mark in self._marks):
            yield "never answered: every token was reasoning"
        if not self._done:
            yield "no [DONE]"
        if not self._finish:
            yield "no finish reason"
        if exchange.ending != "complete":
            yield f"after the finish reason: {exchange.detail or exchange.ending}"
        predicted = _count(self._timings, "predicted_n")
        if predicted is not None and predicted != tokens:
            yield f"usage says {tokens} tokens, timings say {predicted}"
        if tokens is not None and len(self._marks) > tokens:
            yield f"{len(self._marks)} chunks carried tokens, the server counts {tokens}"


def read(exchange: Exchange, **who: Any) -> Request:
    """Read a whole exchange at once; `who` as in `Reading.request`."""
    reading = Reading()
    for at_ns, piece in exchange.pieces:
        reading.feed(at_ns, piece)
    return reading.request(exchange, **who)


def _credit(marks: list[_Mark], tokens: int | None, first: int | None) -> list[tuple[int, float]]:
    """(time, tokens) per arrival, adding up to N: by the server's growing count, else evenly behind the first read."""
    if not marks or tokens is None:
        return []
    growths = [m.grown or 0 for m in marks]
    shares = [float(g) for g in growths] if sum(growths) == tokens else _even(marks, tokens, first)
    arrivals: dict[int, float] = {}
    for mark, share in zip(marks, shares, strict=True):
        arrivals[mark.at_ns] = arrivals.get(mark.at_ns, 0.0) + share
    return [(at_ns, round(credit, 3)) for at_ns, credit in arrivals.items()]


def _even(marks: list[_Mark], tokens: int, first: int | None) -> list[float]:
    together = sum(m.at_ns == marks[0].at_ns for m in marks)
    rest = len(marks) - together
    if first is None or not rest or first >= tokens:
        return [tokens / len(marks)] * len(marks)
    return [first / together] * together + [(tokens - first) / rest] * rest


def _answers(choice: dict[str, Any]) -> bool:
    delta = _part(choice, "delta")
    return bool(
        delta.get("content")
        or choice.get("text")
        or delta.get("tool_calls")
        or delta.get("function_call")
        or delta.get("refusal")
    )


def _reasons(choice: dict[str, Any]) -> bool:
    delta = _part(choice, "delta")
    return bool(delta.get("reasoning_content") or delta.get("reasoning"))


@dataclass(frozen=True, slots=True)
class _Since:
    start_ns: int

    def seconds(self, at_ns: int) -> float:
        return round((at_ns - self.start_ns) / 1e9, 6)

    def __call__(self, at_ns: int | None) -> float | None:
        return None if at_ns is None else self.seconds(at_ns)


def _part(data: dict[str, Any], key: str) -> dict[str, Any]:
    part = data.get(key)
    return part if isinstance(part, dict) else {}


def _items(data: dict[str, Any], key: str) -> list[Any]:
    items = data.get(key)
    return items if isinstance(items, list) else []


def _count(data: dict[str, Any], key: str) -> int | None:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS else None


def _number(data: dict[str, Any], key: str) -> float | None:
    value = data.get(key)
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_TOKENS
    return float(value) if known and value is not None else None  # NaN is not less than anything


def _sum(data: dict[str, Any], *keys: str) -> int | None:
    counts = [_count(data, key) for key in keys]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
