"""An OpenAI-compatible server whose token times are known exactly: a real socket, real HTTP, no model.

Every token is due at  received + ttft_s + i * itl_s.  `seen` records when each was really handed to the socket, on the
clock of `time.perf_counter_ns`, so that a test compares a report with the truth and not with a wish. The `timings` at
the end of a stream say the same to a client in another process. One word is one token.

Scenarios, beside "plain" (the shape of llama-server, one token per chunk, usage and timings at the end):
    role-first   the role chunk goes out at once, the first token when it is due
    reasoning    the first half of the tokens is reasoning, "reasoning-only" all of them
    batches      four tokens per chunk, as with speculation
    ping         SSE comments before the first token
    pings        SSE comments for ever, and never a token
    progress     prompt_progress chunks before the first token
    no-usage     nobody counts
    cached       nearly the whole prompt came from a cache
    short        stops by itself after a quarter of the tokens
    error-first, error-middle    HTTP 200, then an error in the stream
    cut          the connection ends in the middle, without a word
    no-done      all tokens and the finish reason, no [DONE]
    empty        ends properly, without a token
    stall        half the tokens, then silence
    context, kv, loading, failing    HTTP 400, 500, 503, 500
    unstreamed   one JSON document, although a stream was asked for
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

TEMPLATE = ("[system]", "you", "are", "a", "fake", "[user]", "{}", "[assistant]")
TEMPLATE_TOKENS = len(TEMPLATE) - 1
WORDS = ("so", "two", "unequal", "horses", "pull", "one", "load", "and", "the", "bar", "between", "them", "gives")
STALL_S = 3600.0

CONTEXT_ERROR = "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it"
REFUSALS: dict[str, tuple[int, dict[str, Any]]] = {
    "context": (400, {"code": 400, "message": CONTEXT_ERROR, "type": "exceed_context_size_error"}),
    "kv": (500, {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}),
    "loading": (503, {"code": 503, "message": "Loading model", "type": "unavailable_error"}),
    "failing": (500, {"code": 500, "message": "Compute error.", "type": "server_error"}),
}


@dataclass(slots=True)
class Seen:
    """One completion request: what was asked, and when its tokens were really written."""

    body: dict[str, Any]
    received_ns: int
    token_ns: list[int] = field(default_factory=list)
    cached: int = 0  # words of its prompt that an earlier one began with


@dataclass(kw_only=True)
class FakeEngine:
    """Settings, and what happened. `scenario` may be a function of the request's number (the first is 0).

    `slowdown` stretches the time between tokens by the number of streams that run. `llama` answers /props, /tokenize
    and /apply-template too. `refuses` are body fields answered with HTTP 400. `hangs_up_on_reuse` drops a connection
    without a word when it is used a second time, as servers do to idle ones. `ignores_limit` sends that many tokens,
    whatever was asked. `says_nothing_at` are paths answered with HTTP 501, as by a server without `--metrics`.

    `caches` remembers prompts: where `cache_prompt` is not false, what one begins with as an earlier one did is cached,
    and the first token comes the sooner. `read_s` is added per prompt token that is not cached, to the first token and,
    while a prompt is read, to every other stream, as on a server that does both in turns. Without `rolls_back` only
    what goes on where the last prompt ended is cached, as with recurrent models.

    `says` makes the answer of a prompt's text. A prompt of more tokens than `refuses_beyond` is refused; of one of more
    than `truncates_at` the rest is dropped without a word. A prompt given as tokens has no template.
    """

    ttft_s: float = 0.02
    itl_s: float = 0.002
    scenario: str | Callable[[int], str] = "plain"
    slowdown: Callable[[int], float] = lambda streams: 1.0
    llama: bool = True
    model: str = "fake"
    slots: int = 4
    context: int = 4096
    api_key: str | None = None
    refuses: tuple[str, ...] = ()
    hangs_up_on_reuse: bool = False
    ignores_limit: int | None = None
    says_nothing_at: tuple[str, ...] = ()
    caches: bool = False
    read_s: float = 0.0
    rolls_back: bool = True
    says: Callable[[str], str] | None = None
    refuses_beyond: int | None = None
    truncates_at: int | None = None
    seen: list[Seen] = field(default_factory=list)
    streams: int = 0
    known: list[list[str]] = field(default_factory=list)  # prompts, word by word
    reading_until_ns: int = 0
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def fake_engine(engine: FakeEngine) -> AsyncIterator[FakeEngine]:
    """Serve on a loopback port (`engine.port`, 0 for a free one) until the block is left."""
    open_ones: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        engine.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await _serve(engine, reader, writer)
        except asyncio.CancelledError:
            pass  # the block is left; asyncio's own callback would log the cancellation
        finally:
            open_ones.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", engine.port, backlog=1024)
    engine.port = server.sockets[0].getsockname()[1]
    try:
        yield engine
    finally:
        server.close()
        for task in tuple(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


async def _serve(engine: FakeEngine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    first = True
    while head := await reader.readuntil(b"\r\n\r\n"):
        request, *lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        received_ns = time.perf_counter_ns()
        if engine.hangs_up_on_reuse and not first:
            return
        first = False
        path = request.split(" ")[1]
        if path in ("/v1/chat/completions", "/v1/completions") and _may(engine, headers):
            if not await _complete(engine, json.loads(body), received_ns, writer):
                return
        else:
            status, answer = _answer(engine, path, body) if _may(engine, headers) else UNAUTHORISED
            _reply(writer, status, answer)
        await writer.drain()


UNAUTHORISED = (401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}})


def _may(engine: FakeEngine, headers: dict[str, str]) -> bool:
    return engine.api_key is None or headers.get("authorization") == f"Bearer {engine.api_key}"


def _reply(writer: asyncio.StreamWriter, status: int, answer: object) -> None:
    body = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
    kind = "text/plain" if isinstance(answer, str) else "application/json"
    head = f"HTTP/1.1 {status} Fake\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


def _answer(engine: FakeEngine, path: str, body: bytes) -> tuple[int, object]:
    """Everything but completions."""
    if path in engine.says_nothing_at:
        return 501, {"error": {"code": 501, "message": "This server does not support it", "type": "not_supported"}}
    if path == "/health":
        return 200, {"status": "ok"}
    if path == "/v1/models":
        return 200, {"object": "list", "data": [{"id": engine.model, "object": "model"}]}
    if path == "/metrics":
        return 200, _metrics(engine)
    if engine.llama and path == "/slots":
        return 200, [{"id": slot, "is_processing": slot < engine.streams} for slot in range(engine.slots)]
    if engine.llama and path == "/props":
        settings = {"n_ctx": engine.context}
        return 200, {"total_slots": engine.slots, "default_generation_settings": settings, "model_path": "fake.gguf"}
    if engine.llama and path == "/tokenize":
        words = json.loads(body)["content"].split()
        return 200, {"tokens": [{"id": number, "piece": f" {word}"} for number, word in enumerate(words)]}
    if engine.llama and path == "/apply-template":
        return 200, {"prompt": " ".join(TEMPLATE).format(json.loads(body)["messages"][-1]["content"])}
    return 404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}


def _metrics(engine: FakeEngine) -> str:
    """As of a server that decodes all its streams together: a decode is a token of each."""
    tokens, busy = sum(len(seen.token_ns) for seen in engine.seen), min(engine.streams, engine.slots)
    return "".join(
        f"# TYPE llamacpp:{name} gauge\nllamacpp:{name} {value}\n"
        for name, value in {
            "tokens_predicted_total": tokens,
            "n_decode_total": tokens / max(1, busy),
            "requests_processing": busy,
            "requests_deferred": engine.streams - busy,
            "n_busy_slots_per_decode": max(1, busy),
        }.items()
    )


async def _complete(engine: FakeEngine, body: dict[str, Any], received_ns: int, writer: asyncio.StreamWriter) -> bool:
    """Answer one completion; False when the connection is to end."""
    number = len(engine.seen)
    seen = Seen(body, received_ns)
    engine.seen.append(seen)
    scenario = engine.scenario if isinstance(engine.scenario, str) else engine.scenario(number)
    refused = [name for name in engine.refuses if name in body]
    if refused:
        _reply(writer, 400, {"error": {"code": 400, "message": f"Unrecognized request argument: {refused[0]}"}})
    elif body.get("model") not in (None, engine.model):
        _reply(writer, 404, {"error": {"code": 404, "message": f"The model `{body['model']}` does not exist."}})
    elif engine.refuses_beyond is not None and _tokens(body) > engine.refuses_beyond:
        _reply(writer, 400, {"error": REFUSALS["context"][1]})
    elif scenario in REFUSALS:
        status, error = REFUSALS[scenario]
        _reply(writer, status, {"error": error})
    elif scenario == "unstreamed" or not body.get("stream"):
        _reply(writer, 200, {"choices": [{"message": {"content": "so"}, "finish_reason": "stop"}], "usage": {}})
    else:
        _remember(engine, seen)
        engine.streams += 1
        try:
            return await _stream(engine, scenario, seen, writer)
        finally:
            engine.streams -= 1
    return True


async def _stream(engine: FakeEngine, scenario: str, seen: Seen, writer: asyncio.StreamWriter) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    loop = asyncio.get_running_loop()
    due = loop.time() - (time.perf_counter_ns() - seen.received_ns) / 1e9 + _reads_for_s(engine, seen)
    for step in _script(engine, scenario, seen):
        stretch = engine.slowdown(engine.streams) if seen.token_ns else 1.0
        due += step.after_s * stretch
        await asyncio.sleep(max(0.0, due - loop.time()))
        if seen.token_ns and engine.reading_until_ns:
            due += await _wait_for_reading(engine)
        # Before the write: whoever reads it may take this core before a later stamp is taken.
        seen.token_ns += [time.perf_counter_ns()] * step.tokens
        writer.write(b"%x\r\n%b\r\n" % (len(step.data), step.data))
        await writer.drain()
    if scenario == "cut":
        return False
    writer.write(b"0\r\n\r\n")
    return True


def _remember(engine: FakeEngine, seen: Seen) -> None:
    words = _prompt_words(seen.body)
    if engine.caches and seen.body.get("cache_prompt", True):
        useful = engine.known if engine.rolls_back else [k for k in engine.known[-1:] if k == words[: len(k)]]
        seen.cached = max((_shared(words, known) for known in useful), default=0)
    engine.known.append(words)


def _shared(words: list[str], known: list[str]) -> int:
    """Words that both begin with; the last one is always read again, as by llama-server."""
    same = next(
        (at for at, (a, b) in enumerate(zip(words, known, strict=False)) if a != b), min(len(words), len(known))
    )
    return min(same, len(words) - 1)


def _reads_for_s(engine: FakeEngine, seen: Seen) -> float:
    """How long its prompt is read; meanwhile the other streams wait."""
    reads_s = engine.read_s * (len(_prompt_words(seen.body)) - seen.cached)
    if reads_s:
        engine.reading_until_ns = max(engine.reading_until_ns, seen.received_ns + round(reads_s * 1e9))
    return reads_s


async def _wait_for_reading(engine: FakeEngine) -> float:
    wait_s = (engine.reading_until_ns - time.perf_counter_ns()) / 1e9
    await asyncio.sleep(max(0.0, wait_s))
    return max(0.0, wait_s)


def _prompt_words(body: dict[str, Any]) -> list[str]:
    if isinstance(body.get("prompt"), list):
        return [str(token) for token in body["prompt"]]
    said = [str(one["content"]) for one in body["messages"]] if "messages" in body else [str(body.get("prompt", ""))]
    return " ".join(said).split()


def _tokens(body: dict[str, Any]) -> int:
    """Of the prompt, with the template that words get and tokens do not."""
    return len(_prompt_words(body)) + (0 if isinstance(body.get("prompt"), list) else TEMPLATE_TOKENS)


@dataclass(frozen=True, slots=True)
class _Step:
    """Bytes due `after_s` the step before, and how many tokens they carry."""

    after_s: float
    data: bytes
    tokens: int = 0


def _script(engine: FakeEngine, scenario: str, seen: Seen) -> Iterator[_Step]:
    body = seen.body
    asked = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
    tokens = engine.ignores_limit or (max(1, asked // 4) if scenario == "short" else asked)
    sent = {"error-first": 0, "empty": 0, "error-middle": tokens // 2, "cut": tokens // 2, "stall": tokens // 2}
    words = list(islice(cycle(WORDS), sent.get(scenario, tokens)))
    if engine.says is not None and not body.get("ignore_eos"):
        words = engine.says(" ".join(_prompt_words(body))).split()[:tokens]
    yield from _before(engine, scenario)
    size = 4 if scenario == "batches" else 1
    for at in range(0, len(words), size):
        batch = words[at : at + size]
        name = "reasoning_content" if scenario == "reasoning-only" or _reasons(scenario, at, tokens) else "content"
        wait = engine.ttft_s * _left(scenario) + (size - 1) * engine.itl_s if at == 0 else size * engine.itl_s
        yield _Step(wait, _chunk({name: "".join(f" {word}" for word in batch)}), len(batch))
    if scenario == "stall":
        yield _Step(STALL_S, b"")
    elif scenario.startswith("error"):
        yield _Step(engine.itl_s, _event({"error": {"code": 500, "message": "Compute error."}}) + b"data: [DONE]\n\n")
    elif scenario != "cut":
        yield _Step(0.0, _end(engine, scenario, seen, len(words)))


def _before(engine: FakeEngine, scenario: str) -> Iterator[_Step]:
    """What goes out ahead of the first token: half of the waiting time is spent here."""
    half = engine.ttft_s * (1 - _left(scenario))
    while scenario == "pings":
        yield _Step(engine.ttft_s, b": ping\n\n")
    if scenario == "role-first":
        yield _Step(half, _chunk({"role": "assistant", "content": None}))
    elif scenario == "ping":
        yield _Step(half, b": ping\n\n")
    elif scenario == "progress":
        progress = {"prompt_progress": {"total": 2, "cache": 0, "processed": 1, "time_ms": 1}}
        yield _Step(half, _event({"choices": [{"delta": {"role": "assistant"}, "finish_reason": None}]} | progress))


def _left(scenario: str) -> float:
    return 0.5 if scenario in ("role-first", "ping", "progress") else 1.0


def _reasons(scenario: str, at: int, tokens: int) -> bool:
    return scenario == "reasoning" and at < tokens // 2


def _end(engine: FakeEngine, scenario: str, seen: Seen, tokens: int) -> bytes:
    end = _chunk({}, finish="stop" if scenario == "short" else "length")
    if scenario != "no-usage":
        end += _event(_bill(engine, scenario, seen, tokens))
    return end if scenario == "no-done" else end + b"data: [DONE]\n\n"


def _bill(engine: FakeEngine, scenario: str, seen: Seen, tokens: int) -> dict[str, Any]:
    prompt = min(_tokens(seen.body), engine.truncates_at or sys.maxsize)
    cached = prompt - 1 if scenario == "cached" else seen.cached
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    timings: dict[str, float] = {
        "cache_n": cached,
        "prompt_n": prompt - cached,
        "predicted_n": tokens,
    }
    if seen.token_ns:
        timings["prompt_ms"] = (seen.token_ns[0] - seen.received_ns) / 1e6
        timings["predicted_ms"] = (seen.token_ns[-1] - seen.token_ns[0]) / 1e6
    return {"choices": [], "usage": usage} | ({"timings": timings} if engine.llama else {})


def _chunk(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def main() -> None:
    """`python -m evener.testing.fake_engine`: serve in a process of its own until it is ended."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server with exactly known token times.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ttft-ms", type=float, default=200)
    parser.add_argument("--itl-ms", type=float, default=20)
    parser.add_argument("--scenario", default="plain")
    asked = parser.parse_args()

    async def serve() -> None:
        engine = FakeEngine(
            port=asked.port, ttft_s=asked.ttft_ms / 1e3, itl_s=asked.itl_ms / 1e3, scenario=asked.scenario
        )
        async with fake_engine(engine):
            sys.stdout.write(f"{engine.url}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
