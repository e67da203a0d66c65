"""Ask every question the right number of times, never twice the same, and give up neither early nor late.

A wrong answer is an answer. A dead server is none: what it did not finish is asked again when it is back, a few times,
and when it stays away the asking ends, with everything that was answered kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from evener.errors import CannotRun, ConfigurationError
from evener.evals import outcomes
from evener.ports import Chat, ChatReply, Report
from evener.records.answers import NO_REPLY, PASSING, Answer, Arm, Asked
from evener.records.events import Progress
from evener.records.questions import Question
from evener.together import together, until

ATTEMPTS = 3
BUSY_WAIT_S = 2.0  # for a 429 or 503 that does not say how long, doubled each time
LONGEST_WAIT_S = 60.0
COUNTED_WITHIN_S = 10.0
CUT_FROM = 8  # tokens that must be missing: a template may hold a date, and one of its renderings another
# What a run records as asked, and by what it is decided.
DECIDED_BY: Mapping[str, str] = {
    "seed": "--seed: each epoch and sample has its own",
    "temperature": "--temperature",
    "max_tokens": "--max-tokens",
    "max_completion_tokens": "--max-tokens",
    "model": "--model",
    "n": "--epochs, --vote",
    "cache_prompt": "the cache is always off: answers with it differ",
    "tools": "tools belong to a question",
    "messages": "the questions are the suite's",
    "stream": "answers are taken whole",
}
TURNS_AWAY = (*PASSING, 503)  # whoever asks, whatever is asked
SEED_STRIDE = 1_000  # between epochs; samples of one epoch lie between


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How all questions of one candidate are asked. `extra` is laid over each body, fields in `refused` are left out.
    `thinking` is what is asked for, None leaves it to the model."""

    model: str | None = None
    temperature: float = 0.0
    most_tokens: int = 1024
    seed: int = 1
    thinking: bool | None = False
    timeout_s: float = 600.0
    parallel: int = 1
    back_within_s: float = 120.0  # how long a server may be away
    extra: Mapping[str, Any] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()


def wanted(
    questions: Sequence[Question], *, candidate: str, epochs: int = 1, arm: Arm = "single", k: int = 5
) -> list[Asked]:
    """Every answer that one arm needs beside the single ones, epoch by epoch: a run cut short has whole epochs first.

    A vote takes the single answer and k - 1 more; a reflection is one more turn after the single answer.
    """
    samples = {"single": range(1), "vote": range(1, k), "reflection": range(1, 2)}[arm]
    return [
        Asked(question=question.id, candidate=candidate, arm=arm, epoch=epoch, sample=sample)
        for epoch in range(epochs)
        for question in questions
        for sample in samples
    ]


def body(
    question: Question, asked: Asked, manner: Manner, *, turns: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The request. `turns` follow the question: a draft and what is said about it."""
    system = [{"role": "system", "content": question.system}] if question.system else []
    request: dict[str, Any] = {"model": manner.model} if manner.model else {}
    request |= {
        "messages": [*system, {"role": "user", "content": user_text(question)}, *turns],
        "temperature": manner.temperature,
        "max_completion_tokens" if "max_tokens" in manner.refused else "max_tokens": manner.most_tokens,
        "seed": seed_of(asked, manner),
        "cache_prompt": False,
    }
    if question.tools:
        request["tools"] = list(question.tools)
    if manner.thinking is not None:
        request["chat_template_kwargs"] = {"enable_thinking": manner.thinking}
    laid = request | dict(manner.extra)
    if "chat_template_kwargs" in manner.extra:
        laid["chat_template_kwargs"] = {
            **manner.extra["chat_template_kwargs"],
            **request.get("chat_template_kwargs", {}),
        }
    return {name: value for name, value in laid.items() if name not in manner.refused}


def require_own_fields(extra: Mapping[str, Any]) -> None:
    """Fields that are recorded as asked cannot be laid over. Raises ConfigurationError."""
    if name := next((name for name in extra if name in DECIDED_BY), None):
        raise ConfigurationError(f"an extra body cannot set {name!r}", hint=DECIDED_BY[name])
    kwargs = extra.get("chat_template_kwargs", {})
    if not isinstance(kwargs, dict):
        raise ConfigurationError("chat_template_kwargs of an extra body is no JSON object")
    if "enable_thinking" in kwargs:
        raise ConfigurationError("an extra body cannot set 'enable_thinking'", hint="--thinking off, on or model")


def seed_of(asked: Asked, manner: Manner) -> int:
    """One seed per epoch and sample: repeats with one seed would be one answer several times."""
    return manner.seed + SEED_STRIDE * asked.epoch + asked.sample


def user_text(question: Question) -> str:
    """The context, where there is one, before the question."""
    return f"{question.context}\n\n{question.prompt}" if question.context else question.prompt


async def ask_all(
    chat: Chat,
    questions: Mapping[str, Question],
    todo: Iterable[Asked],
    manner: Manner,
    *,
    keep: Callable[[Answer], None],
    report: Report,
    what: str = "asking",
    turns: Callable[[Asked], Sequence[Mapping[str, Any]]] = lambda asked: (),
    has_answered: bool = False,
) -> None:
    """Ask what is in `todo`, at most `manner.parallel` at once; each answer goes to `keep` as soon as it is there.

    `has_answered` says that this server has answered such questions before: a refusal then concerns the question.
    Raises CannotRun when the server is away for longer than `manner.back_within_s`, or refuses everything.
    """
    left = deque(todo)
    of, done = len(left), 0
    refusals = _Refusals(keep=keep, most=2 * manner.parallel, has_answered=has_answered)
    report(Progress(what=what, of=of))

    async def one_after_the_other() -> None:
        nonlocal done
        while left:
            asked = left.popleft()
            refusals.take(await ask(chat, questions[asked.question], asked, manner, turns=turns(asked)))
            done += 1
            report(Progress(what=what, done=done, of=of))

    await together(one_after_the_other() for _ in range(max(1, manner.parallel)))
    refusals.end()


@dataclass(kw_only=True)
class _Refusals:
    """Tells a refused question from a server that refuses: refusals wait until it has answered something.

    A refused question is kept and never asked again. Of a server that refuses whatever comes nothing is kept: its
    questions are still to be asked when it has been put right.
    """

    keep: Callable[[Answer], None]
    most: int  # in a row
    has_answered: bool
    waiting: list[Answer] = field(default_factory=list)

    def take(self, answer: Answer) -> None:
        """Keep it, or let it wait. Raises CannotRun after more than `most` in a row."""
        self.has_answered = self.has_answered or answer.outcome not in NO_REPLY
        if answer.outcome == "http_error" and (not self.has_answered or answer.http_status in TURNS_AWAY):
            self.waiting.append(answer)
            if len(self.waiting) > self.most:
                raise _refuses(answer)
            return
        self._keep_waiting()
        self.keep(answer)

    def end(self) -> None:
        """Nothing is left to ask. Raises CannotRun when nothing was answered at all, and that may pass."""
        if not self.has_answered and any(not answer.is_final for answer in self.waiting):
            raise _refuses(self.waiting[-1])
        self._keep_waiting()

    def _keep_waiting(self) -> None:
        for answer in self.waiting:
            self.keep(answer)
        self.waiting.clear()


def _refuses(answer: Answer) -> CannotRun:
    return CannotRun(
        f"the server refuses every question: {answer.detail}",
        hint="what was answered is kept; --resume goes on when it has been put right",
    )


async def ask(
    chat: Chat, question: Question, asked: Asked, manner: Manner, *, turns: Sequence[Mapping[str, Any]] = ()
) -> Answer:
    """One answer. Asked again only when nothing was answered: a busy server, or one that went away and came back.

    Raises CannotRun when it does not come back.
    """
    request = body(question, asked, manner, turns=turns)
    attempts, sent = 0, None
    while True:
        attempts += 1
        sent = sent or await chat.prompt_tokens(request, within_s=COUNTED_WITHIN_S)
        reply = await chat.ask(request, within_s=manner.timeout_s)
        if reply.ending in ("unreachable", "cut"):
            await _wait_back(chat, reply, manner)
        elif reply.status in (429, 503):
            if attempts < ATTEMPTS:
                await asyncio.sleep(_pause(reply, attempts))
        else:
            break
        if attempts == ATTEMPTS:
            break
    return _answer(reply, asked, manner, attempts=attempts, sent=sent)


def _answer(reply: ChatReply, asked: Asked, manner: Manner, *, attempts: int, sent: int | None) -> Answer:
    """`sent` is how many tokens its prompt has, None when nobody counted."""
    read = _with_whole_prompt(outcomes.read(reply), sent)
    if read.outcome == "http_error" and reply.ending != "complete":
        read = replace(read, outcome="server_restarted")
    return Answer(
        asked=asked,
        outcome=read.outcome,
        text=read.text,
        seed=seed_of(asked, manner),
        at=datetime.now(UTC),
        seconds=reply.seconds,
        raw=reply.body.decode(errors="replace"),
        reasoning=read.thinking,
        finish_reason=read.finish_reason,
        prompt_tokens=read.prompt_tokens,
        prompt_tokens_sent=sent,
        tokens=read.tokens,
        cached_tokens=read.cached_tokens,
        http_status=reply.status if read.outcome == "http_error" else None,
        thinking_asked=manner.thinking,
        thinking_observed=None if read.outcome in NO_REPLY else read.has_thought,
        tool_calls=read.tool_calls,
        attempts=attempts,
        detail=read.detail,
    )


def _with_whole_prompt(read: outcomes.Read, sent: int | None) -> outcomes.Read:
    """An answer to part of a question is no answer to it."""
    if sent is None or read.prompt_tokens is None or read.prompt_tokens > sent - CUT_FROM:
        return read
    return replace(read, outcome="prompt_cut", detail=f"the server read {read.prompt_tokens} of {sent} prompt tokens")


async def _wait_back(chat: Chat, reply: ChatReply, manner: Manner) -> None:
    async def up() -> bool | None:
        return True if await chat.is_up(within_s=5.0) else None

    if await until(up, within_s=manner.back_within_s, every_s=0.5) is None:
        raise CannotRun(
            f"the server went away and did not come back within {manner.back_within_s:g} s: {reply.detail}",
            hint="what was answered is kept; --resume goes on from there",
        )


def _pause(reply: ChatReply, attempts: int) -> float:
    asked = BUSY_WAIT_S * 2 ** (attempts - 1) if reply.retry_after_s is None else reply.retry_after_s
    return min(LONGEST_WAIT_S, asked)
