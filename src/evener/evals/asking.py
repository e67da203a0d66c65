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

from evener.errors import CannotRun
from evener.evals import outcomes
from evener.ports import Chat, ChatReply, Report
from evener.records.answers import Answer, Arm, Asked
from evener.records.events import Progress
from evener.records.questions import Question
from evener.together import together, until

ATTEMPTS = 3
BUSY_WAIT_S = 2.0  # for a 429 or 503 that does not say how long, doubled each time
LONGEST_WAIT_S = 60.0
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
    return {name: value for name, value in (request | dict(manner.extra)).items() if name not in manner.refused}


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
) -> None:
    """Ask what is in `todo`, at most `manner.parallel` at once; each answer goes to `keep` as soon as it is there.

    Raises CannotRun when the server is away for longer than `manner.back_within_s`, or refuses everything.
    """
    left = deque(todo)
    of, done, refused = len(left), 0, 0
    report(Progress(what=what, of=of))

    async def one_after_the_other() -> None:
        nonlocal done, refused
        while left:
            asked = left.popleft()
            answer = await ask(chat, questions[asked.question], asked, manner, turns=turns(asked))
            keep(answer)
            done += 1
            refused += answer.outcome == "http_error"
            if refused == done and refused >= min(of, 2 * manner.parallel + 1):
                raise CannotRun(f"the server refuses every question: {answer.detail}")
            report(Progress(what=what, done=done, of=of))

    await together(one_after_the_other() for _ in range(max(1, manner.parallel)))


async def ask(
    chat: Chat, question: Question, asked: Asked, manner: Manner, *, turns: Sequence[Mapping[str, Any]] = ()
) -> Answer:
    """One answer. Asked again only when nothing was answered: a busy server, or one that went away and came back.

    Raises CannotRun when it does not come back.
    """
    request = body(question, asked, manner, turns=turns)
    attempts = 0
    while True:
        attempts += 1
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
    return _answer(reply, asked, manner, attempts=attempts)


def _answer(reply: ChatReply, asked: Asked, manner: Manner, *, attempts: int) -> Answer:
    read = outcomes.read(reply)
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
        tokens=read.tokens,
        cached_tokens=read.cached_tokens,
        thinking_asked=manner.thinking,
        thinking_observed=None
        if read.outcome in ("http_error", "timeout", "server_restarted")
        else bool(read.thinking),
        tool_calls=read.tool_calls,
        attempts=attempts,
        detail=read.detail,
    )


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
