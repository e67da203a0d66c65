"""Prompts of growing length, each with a question that code can judge: how well, how soon and how fast it is answered.

Every prompt is new to the server and exactly as long as asked. Says nothing about memory: whoever calls knows what the
deployment is, and hands its ceilings in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from evener.bench.ceilings import Stated, answer_of, invalid, ladder, refused, told
from evener.bench.client import Line, now_ns
from evener.bench.context_rows import Answered, length_row
from evener.bench.fitting import LEAST_TOKENS, Fitted, Fitting
from evener.bench.load import Load
from evener.bench.needles import Item, items
from evener.bench.probe import ANSWER_WITHIN_S, CHAT, Server
from evener.bench.sizes import body
from evener.bench.speed import round_trip_s
from evener.bench.watch import Watch
from evener.dialects.http1 import Exchange
from evener.dialects.openai_stream import read
from evener.dialects.openai_text import answer_text
from evener.errors import ConfigurationError
from evener.ports import Report
from evener.records.context_limits import Ceiling, ContextLength, ContextResult
from evener.records.events import Progress
from evener.records.load import Request

DECODES = 3  # of the same prompt, where a cache gives it back
AGAIN = {"cache_prompt": True, "ignore_eos": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to ask. `lengths` are prompt tokens with the template, None for a ladder that doubles up to the limit.

    `each_place` needles at every place, `chains` questions that need three places. `extra` is laid over every body.
    """

    lengths: tuple[int, ...] | None = None
    each_place: int = 2
    chains: int = 4
    answer_tokens: int = 64
    decode_tokens: int = 32
    seed: int = 0
    timeout_s: float = 1800.0
    model: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.lengths is not None and (not self.lengths or min(self.lengths) < LEAST_TOKENS):
            raise ConfigurationError(f"lengths start at {LEAST_TOKENS} tokens", hint="e.g. --lengths 1k,4k,16k")
        if self.each_place < 1 or self.chains < 0 or min(self.answer_tokens, self.decode_tokens) < 1:
            raise ConfigurationError("at least one needle per place, and answers of at least one token")

    @property
    def room(self) -> int:
        """What an answer takes beside its prompt."""
        return max(self.answer_tokens, self.decode_tokens + 1)

    def load(self) -> Load:
        """The same for the probe."""
        return Load(
            users=(1,),
            prompt_tokens=32,
            output_tokens=32,
            seed=self.seed,
            timeout_s=self.timeout_s,
            model=self.model,
            extra=self.extra,
        )


class ContextBench:
    """One measurement. Requests go to `keep` and answers to `on_answer` as they come; `result()` works at any time.

    `ceilings` are those that the caller knows, `allocation` is what they hold for.
    """

    def __init__(
        self,
        server: Server,
        asked: Asked,
        *,
        allocation: str,
        ceilings: tuple[Ceiling, ...],
        keep: Callable[[Request], None],
        on_answer: Callable[[dict[str, Any]], None],
        report: Report,
    ) -> None:
        self._server = server
        self._asked = asked
        self._allocation = allocation
        self._ceilings = ceilings
        self._keep, self._on_answer, self._report = keep, on_answer, report
        self._line = server.line()
        self._fitting = Fitting(self._line, server, seed=asked.seed, extra=asked.extra)
        self._answered: dict[int, list[Answered]] = {}
        self._decodes: dict[int, list[Request]] = {}
        self._rtt_s: float | None = None
        self._numbers = count()
        self._watch = Watch()
        self._retries = 0
        self._gone: str | None = None
        self._started_ns = now_ns()

    def result(self, partial: str | None = None) -> ContextResult:
        """What has been measured so far; `partial` says why it is not all."""
        rows = self._rows()
        client = self._watch.cost(retries=self._retries)
        found = [one for answers in self._answered.values() for one in answers]
        return answer_of(
            url=str(self._server.url),
            model=self._server.model,
            allocation=self._allocation,
            ceilings=self._ceilings,
            lengths=rows,
            client=client,
            rtt_ms=None if self._rtt_s is None else round(self._rtt_s * 1e3, 3),
            validity="; ".join(invalid(found, client)) or "valid",
            partial=partial or self._gone,
            notes=(
                *self._server.notes,
                *told(rows, answer_tokens=self._asked.answer_tokens, thinking=self._server.thinking),
            ),
        )

    def _rows(self) -> tuple[ContextLength, ...]:
        rtt_s = self._rtt_s or 0.0
        return tuple(
            length_row(tokens, answers, self._decodes.get(tokens, []), rtt_s=rtt_s)
            for tokens, answers in self._answered.items()
            if answers
        )

    async def run(self) -> ContextResult:
        """All lengths, the shortest first. Ends early where a length was refused, or when the server is gone.

        Raises ConfigurationError for lengths that one sequence cannot be given there.
        """
        lengths = ladder(self._asked.lengths, limit=self._server.context, room=self._asked.room)
        self._started_ns = now_ns()
        async with self._line, self._watch.watching():
            self._rtt_s = await round_trip_s(self._line, self._server)
            for tokens in lengths:
                await self._length(tokens)
                if self._gone or refused(self._answered[tokens]):
                    break
        return self.result()

    async def _length(self, tokens: int) -> None:
        asked = self._asked
        questions = list(items(tokens, seed=asked.seed, each_place=asked.each_place, chains=asked.chains))
        answers = self._answered[tokens] = []
        what = f"{tokens} tokens"
        last: Fitted | None = None
        for done, item in enumerate(questions):
            self._report(Progress(what=what, done=done, of=len(questions)))
            last = await self._fitting.fit(item, tokens)
            answers.append(await self._answer(item, last))
            self._on_answer(_fact(answers[-1], tokens))  # when `result()` knows it
            if self._gone or (done == 0 and refused(answers)):
                return
        if last is not None:
            await self._decode(last, tokens)
        self._report(Progress(what=what, done=len(questions), of=len(questions)))

    async def _answer(self, item: Item, fitted: Fitted) -> Answered:
        request, said = await self._exchange(fitted, self._asked.answer_tokens, {"ignore_eos": False})
        self._fitting.learn(fitted, request.prompt_tokens)
        return Answered(item=item, fitted=fitted, request=request, said=said)

    async def _decode(self, fitted: Fitted, tokens: int) -> None:
        """The decode rate behind a prompt of that length: the last one again, which a cache may give back."""
        decodes = self._decodes[tokens] = []
        for _ in range(DECODES):
            request, _ = await self._exchange(fitted, self._asked.decode_tokens + 1, AGAIN)
            decodes.append(request)
            if (request.cached_tokens or 0) < (request.prompt_tokens or 0) // 2:
                return  # nothing is given back: each would cost the whole prompt

    async def _exchange(self, fitted: Fitted, tokens: int, more: dict[str, Any]) -> tuple[Request, str]:
        known = {name: value for name, value in more.items() if name in self._server.fields}
        fields = self._server.fields | known
        asked = {"messages": fitted.messages}
        sent = body(fields, model=self._server.model, asked=asked, tokens=tokens, extra=self._asked.extra)
        exchange = await self._line.post(CHAT, sent, within_s=self._asked.timeout_s)
        if exchange.ending == "unreachable":
            self._gone = f"the server went away: {exchange.detail}"
        request = read(exchange, id=next(self._numbers), users=1, user=0, started_ns=self._started_ns)
        self._retries += request.retried
        self._keep(request)
        return request, answer_text(piece for _, piece in exchange.pieces)


def _fact(answered: Answered, tokens: int) -> dict[str, Any]:
    item = answered.item
    return {
        "tokens": tokens,
        "kind": item.kind,
        "place": item.place,
        "asked": item.question,
        "answer": item.answer,
        "said": answered.said,
        "right": answered.right,
    }


async def stated(line: Line, server: Server) -> Stated:
    """What a server says of its own limits."""
    listed = _data(await line.get("/v1/models", within_s=ANSWER_WITHIN_S))
    models = listed.get("data")
    entries = [m for m in models if isinstance(m, dict)] if isinstance(models, list) else []
    mine = next((m for m in entries if m.get("id") == server.model), entries[0] if len(entries) == 1 else {})
    meta = mine.get("meta")
    trained = meta.get("n_ctx_train") if isinstance(meta, dict) else None
    longest = mine.get("max_model_len")
    return Stated(
        trained=trained if isinstance(trained, int) and trained > 0 else None,
        configured=server.context or (longest if isinstance(longest, int) and longest > 0 else None),
        by="/props" if server.context else "/v1/models",
    )


def _data(answer: Exchange) -> dict[str, Any]:
    try:
        data = json.loads(answer.body) if answer.status == 200 else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
