"""One sequence at a time, through the server: llama-bench's tests as a client sees them and as the server clocks them.

A depth is what llama-bench means by it: so many tokens are in the cache, and the test comes behind them. On
llama-server the cache is filled first and used knowingly; each request says how much of it was used, and one that did
not find exactly the depth is left out. Elsewhere a prompt at a depth is the difference of two cold prompts.
Definitions: docs/reference/metrics.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from evener.bench.client import Line, now_ns
from evener.bench.load import WORDS, prompt_text
from evener.bench.probe import ANSWER_WITHIN_S, CHAT, Server, one_token_words
from evener.bench.sizes import Sizes, SpeedTest, body, token_prompt
from evener.bench.speed_rows import Sample, gaps, is_cache_hit, row
from evener.bench.watch import Watch
from evener.dialects.openai_stream import read
from evener.errors import ConfigurationError
from evener.ports import Report
from evener.records.events import Progress
from evener.records.load import Request
from evener.records.speed_rows import SpeedResult, SpeedRow
from evener.stats.intervals import quantile

COMPLETIONS = "/v1/completions"
ROUND_TRIPS = 9
KEEP_IN_ONE_SLOT = {"cache_prompt": True, "id_slot": 0}


@dataclass
class _Measuring:
    """A test that runs: what has been seen of it so far."""

    test: SpeedTest
    samples: list[Sample] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    excluded: int = 0


class SpeedBench:
    """One measurement. Requests go to `keep`, rows to `on_row`, as they are done; `result()` works at any time."""

    def __init__(
        self,
        server: Server,
        sizes: Sizes,
        *,
        keep: Callable[[Request], None],
        report: Report,
        on_row: Callable[[SpeedRow], None] = lambda _row: None,
    ) -> None:
        self._server = server
        self._sizes = sizes
        self._keep = keep
        self._report = report
        self._on_row = on_row
        self._line = server.line()
        self._ids: list[int] = []
        self._rtt_s: float | None = None
        self._prompts, self._requests = count(), count()
        self._rows: list[SpeedRow] = []
        self._now: _Measuring | None = None
        self._filled: list[int] = []  # what slot 0 has in its cache
        self._rolls_back = True  # recurrent and window caches do not: they are filled anew for every repetition
        self._gone: str | None = None
        self._watch = Watch()
        self._retries = 0
        self._started_ns = now_ns()

    def result(self, partial: str | None = None) -> SpeedResult:
        """What has been measured so far; `partial` says why it is not all."""
        rows = [*self._rows, *([self._row(self._now)] if self._now and self._now.samples else [])]
        client = self._watch.cost(retries=self._retries)
        return SpeedResult(
            url=str(self._server.url),
            model=self._server.model,
            repetitions=self._sizes.repetitions,
            rows=tuple(rows),
            rtt_ms=None if self._rtt_s is None else round(self._rtt_s * 1e3, 3),
            gaps=gaps(rows, through_template=not self._ids),
            client=client,
            validity="; ".join(_invalid(rows, saturated=client.saturated, late_ms=client.lag_p95_ms)) or "valid",
            partial=partial or self._gone,
            notes=self._server.notes,
        )

    async def run(self) -> SpeedResult:
        """All tests, one after the other. Raises ConfigurationError for one that the server's context cannot hold."""
        require_room(self._sizes.tests(), self._server)
        self._started_ns = now_ns()
        async with self._line, self._watch.watching():
            self._ids = await _word_ids(self._line, self._server)
            self._rtt_s = await round_trip_s(self._line, self._server)
            for test in self._sizes.tests():
                await self._test(test)
                if self._gone:
                    break
        return self.result()

    async def _test(self, test: SpeedTest) -> None:
        measuring = self._now = _Measuring(test)
        repetitions = self._sizes.repetitions
        for number in range(-1, repetitions):  # the first one warms up
            self._report(Progress(what=test.name, done=max(0, number), of=repetitions))
            sample = await self._sample(measuring, warm_up=number < 0)
            if self._gone:
                return
            if sample is not None and number >= 0:
                measuring.samples.append(sample)
        self._report(Progress(what=test.name, done=repetitions, of=repetitions))
        self._now = None
        self._rows.append(self._row(measuring))
        self._on_row(self._rows[-1])

    def _row(self, measuring: _Measuring) -> SpeedRow:
        asked = self._sizes.repetitions
        made = row(measuring.test, measuring.samples, rtt_s=self._rtt_s or 0.0)
        cut = measuring is self._now and len(measuring.samples) < asked
        note = f"cut short: {len(measuring.samples)} of {asked} repetitions" if cut else made.note
        return replace(made, by_class=dict(measuring.failures), excluded=measuring.excluded, note=note)

    async def _sample(self, measuring: _Measuring, *, warm_up: bool) -> Sample | None:
        """One repetition; None when it failed or is left out, which is counted."""
        test = measuring.test
        if not self._ids:
            return await self._through_chat(measuring, warm_up=warm_up)
        request = await self._by_tokens(test, warm_up=warm_up)
        missed = test.depth and test.prompt and request.failure is None and request.cached_tokens != test.depth
        if missed and self._rolls_back:
            self._rolls_back = False
            request = await self._by_tokens(test, warm_up=warm_up)
        if request.failure is not None:
            return self._failed(measuring, request)
        if test.prompt and (request.cached_tokens or 0) != test.depth:
            measuring.excluded += not warm_up
            return None
        return Sample(request)

    async def _by_tokens(self, test: SpeedTest, *, warm_up: bool) -> Request:
        tail = max(1, test.prompt)
        if not test.depth:
            return await self._send(self._fresh(tail), test.answer_tokens, warm_up=warm_up)
        if not (test.prompt or self._rolls_back):
            return await self._send(self._fresh(test.depth), test.answer_tokens, warm_up=warm_up)
        if len(self._filled) != test.depth or not self._rolls_back:
            self._filled = self._fresh(test.depth)
            await self._send(self._filled, 1, warm_up=True, more=KEEP_IN_ONE_SLOT)
        # An answer at a depth has its own last token to work on; a prompt comes behind.
        prompt = [*self._filled, *self._fresh(tail)] if test.prompt else self._filled
        return await self._send(prompt, test.answer_tokens, warm_up=warm_up, more=KEEP_IN_ONE_SLOT)

    def _fresh(self, tokens: int) -> list[int]:
        return token_prompt(self._ids, tokens, seed=self._sizes.seed, number=next(self._prompts))

    async def _send(
        self, prompt: Sequence[int], tokens: int, *, warm_up: bool, more: dict[str, Any] | None = None
    ) -> Request:
        extra = (more or {}) | self._sizes.extra
        return await self._exchange(COMPLETIONS, {"prompt": list(prompt)}, tokens, extra, warm_up=warm_up)

    async def _through_chat(self, measuring: _Measuring, *, warm_up: bool) -> Sample | None:
        """A server whose tokens nobody can name: words, as many as make the length; at a depth the difference."""
        test = measuring.test
        before = None
        if test.depth and test.prompt:
            before = await self._chat(test.depth, 1, warm_up=True)
            if before.failure is not None:
                return self._failed(measuring, before)
        request = await self._chat(test.depth + test.prompt, test.answer_tokens, warm_up=warm_up)
        if request.failure is not None:
            return self._failed(measuring, request)
        if test.prompt and any(map(is_cache_hit, filter(None, (request, before)))):
            measuring.excluded += not warm_up
            return None
        return Sample(request, before)

    async def _chat(self, prompt_tokens: int, tokens: int, *, warm_up: bool) -> Request:
        server, sizes = self._server, self._sizes
        words = max(1, prompt_tokens - (server.template_tokens or 0))
        text = prompt_text(server.words, words, seed=sizes.seed, number=next(self._prompts))
        asked = {"messages": [{"role": "user", "content": text}]}
        return await self._exchange(CHAT, asked, tokens, sizes.extra, warm_up=warm_up)

    async def _exchange(
        self, path: str, asked: dict[str, Any], tokens: int, extra: dict[str, Any], *, warm_up: bool
    ) -> Request:
        sent = body(self._server.fields, model=self._server.model, asked=asked, tokens=tokens, extra=extra)
        exchange = await self._line.post(path, sent, within_s=self._sizes.timeout_s)
        if exchange.ending == "unreachable":
            self._gone = f"the server went away: {exchange.detail}"
        who = {"id": next(self._requests), "users": 1, "user": 0, "started_ns": self._started_ns}
        request = read(exchange, **who, warm_up=warm_up)
        self._retries += request.retried
        self._keep(request)
        return request

    @staticmethod
    def _failed(measuring: _Measuring, request: Request) -> None:
        measuring.failures[str(request.failure)] += 1


def require_room(tests: Sequence[SpeedTest], server: Server) -> None:
    """Raise ConfigurationError for a test that is longer than one sequence may be there."""
    longest = max(tests, key=lambda test: test.context)
    if server.context is not None and longest.context > server.context:
        raise ConfigurationError(
            f"{longest.name} needs {longest.context} tokens of context, the server gives {server.context} to a user",
            hint="a smaller -d or -p, or evener up with a longer --context",
        )


async def _word_ids(line: Line, server: Server) -> list[int]:
    """Tokens that are whole words of the server's vocabulary; empty when it cannot be asked for tokens."""
    if not server.llama:
        return []
    asked = json.dumps({"content": " " + " ".join(WORDS), "with_pieces": True}).encode()
    answer = await line.post("/tokenize", asked, within_s=ANSWER_WITHIN_S)
    try:
        tokens = json.loads(answer.body)["tokens"] if answer.status == 200 else []
    except (ValueError, KeyError, TypeError):
        return []
    words = {f" {word}" for word in one_token_words(tokens) or ()}
    return [t["id"] for t in tokens if t.get("piece") in words and isinstance(t.get("id"), int)] if words else []


async def round_trip_s(line: Line, server: Server) -> float | None:
    """Median time of a small question on an open connection, in seconds; None when it is not answered."""
    path = "/health" if server.llama else "/v1/models"
    times = []
    for _ in range(ROUND_TRIPS):
        answer = await line.get(path, within_s=ANSWER_WITHIN_S)
        if answer.status is not None and answer.connect_s is None and answer.sent_ns is not None:
            times.append((answer.end_ns - answer.sent_ns) / 1e9)
    return quantile(times, 0.5)


def _invalid(rows: Sequence[SpeedRow], *, saturated: bool | None, late_ms: float | None) -> Iterator[str]:
    if saturated:
        yield f"this client was saturated: its loop woke up {late_ms:g} ms late (p95)"
    if rows and not any(one.client.n for one in rows):
        yield "no repetition could be used"
