"""One long prompt arrives while others decode: how long do they stall, and how long does it wait? The sums are pure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evener.bench.crowd import Crowd, Sending, has_failed
from evener.bench.load import Load, MixedLoad
from evener.bench.probe import Server
from evener.bench.sharing import placed_gaps, usual_gap_s
from evener.bench.speaker import Speaker
from evener.bench.spreads import spread
from evener.ports import Report
from evener.records.events import Progress
from evener.records.load import LongArrival, Mixed, Request
from evener.together import until

LONG_ANSWER_TOKENS = 16
OTHERS_ANSWER_TOKENS = 512  # long enough to be decoding when the long prompt comes, and while it is read
READS_BEFORE = 8  # of each other stream before the long prompt comes: the usual gaps
LOOK_EVERY_S = 0.05
MOST_FAILURES = 3  # of one user, one after the other
MARGIN_TOKENS = 64  # of a slot, for a template nobody has counted


async def run_mixed(crowd: Crowd, server: Server, load: Load, *, report: Report) -> None:
    """Keep `mixed.users` decoding, and send one long prompt after the other on one more line. Ends what it began."""
    mixed = load.mixed
    assert mixed is not None
    users = others_beside(mixed, server)
    what, plain = f"{users} decode, a long prompt arrives", _plain(load)
    over = asyncio.Event()
    others = {
        user: asyncio.ensure_future(_decode(crowd, server, plain, user, users=users, over=over))
        for user in range(users)
    }
    speaker = Speaker(server, replace(plain, prompt_tokens=long_prompt_tokens(mixed, server)))
    sending = Sending(users=users + 1, user=users, warm_up=True, long=True)
    try:
        for repeat in range(mixed.repeats):
            report(Progress(what=what, done=repeat, of=mixed.repeats))
            if not await _all_decode(crowd, others, slots=server.slots, within_s=load.timeout_s):
                return
            await crowd.send(speaker, sending, tokens=LONG_ANSWER_TOKENS)
        report(Progress(what=what, done=mixed.repeats, of=mixed.repeats))
    finally:
        over.set()
        await crowd.dismiss(others)


def others_beside(mixed: MixedLoad, server: Server) -> int:
    """As asked, or as many as leave a slot for the long prompt: waiting for one is another question."""
    return mixed.users if server.slots is None else max(1, min(mixed.users, server.slots - 1))


def long_prompt_tokens(mixed: MixedLoad, server: Server) -> int:
    """As asked, or as much as one slot holds beside its answer."""
    if server.context is None:
        return mixed.prompt_tokens
    return max(1, min(mixed.prompt_tokens, server.context - LONG_ANSWER_TOKENS - MARGIN_TOKENS))


def others_answer_tokens(load: Load, server: Server) -> int:
    asked = max(load.output_tokens, OTHERS_ANSWER_TOKENS)
    room = asked if server.context is None else server.context - load.prompt_tokens - MARGIN_TOKENS
    return max(1, min(asked, room))


def mixed_result(requests: Sequence[Request], mixed: MixedLoad, server: Server) -> Mixed | None:
    """Of all requests of a run; None when no long prompt was sent."""
    part = max((r.part for r in requests if r.long), default=0)
    longs = sorted((r for r in requests if r.long and r.part == part), key=lambda r: r.sent_s)
    if not longs:
        return None
    others = [r for r in requests if r.part == part and not r.long and _end_s(r) > longs[0].sent_s]
    ends = [0.0, *map(_end_s, longs)]
    arrivals = tuple(arrival(long, others, since=end) for long, end in zip(longs, ends, strict=False))
    whole = long_prompt_tokens(mixed, server) == mixed.prompt_tokens
    return Mixed(
        users=others_beside(mixed, server),
        users_asked=mixed.users,
        prompt_tokens_asked=mixed.prompt_tokens,
        arrivals=arrivals,
        worst_stall_ms=spread((a.worst_stall_ms for a in arrivals if a.worst_stall_ms is not None), "ms"),
        usual_gap_ms=spread((a.usual_gap_ms for a in arrivals if a.usual_gap_ms is not None), "ms"),
        ttft_ms=spread((a.ttft_ms for a in arrivals if a.ttft_ms is not None and a.failure is None), "ms"),
        limited_by=None if whole else f"a slot holds {server.context} tokens",
    )


def arrival(long: Request, others: Sequence[Request], *, since: float) -> LongArrival:
    """What one long prompt did to the streams beside it. Usual is what they did between `since` and its coming."""
    came, first = long.sent_s, long.sent_s + (long.ttft_s or long.end_s or 0.0)
    beside = [gap for r in others for at, gap in placed_gaps(r) if at > came and at - gap < first]
    usual = usual_gap_s(others, between=(since, came))
    return LongArrival(
        ttft_ms=None if long.ttft_s is None else long.ttft_s * 1e3,
        worst_stall_ms=max(beside) * 1e3 if beside else None,
        usual_gap_ms=None if usual is None else usual * 1e3,
        prompt_tokens=long.prompt_tokens,
        failure=long.failure,
    )


def _end_s(request: Request) -> float:
    return request.sent_s + (request.end_s or 0.0)


def _plain(load: Load) -> Load:
    """The same lengths without conversations, recordings and caches."""
    return replace(load, replay=(), turns=1, mode="cold", shared_prefix_tokens=0, arrivals="closed", rate_per_s=None)


async def _decode(crowd: Crowd, server: Server, load: Load, user: int, *, users: int, over: asyncio.Event) -> None:
    """Be answered all the time. Gives up when nothing comes of it."""
    speaker, tokens = Speaker(server, load), others_answer_tokens(load, server)
    sending, failures = Sending(users=users + 1, user=user, warm_up=True), 0
    while crowd.gone is None and not over.is_set() and failures < MOST_FAILURES:
        exchange = await crowd.send(speaker, sending, tokens=tokens)
        failures = failures + 1 if has_failed(exchange) else 0


async def _all_decode(
    crowd: Crowd, others: Mapping[int, asyncio.Future[None]], *, slots: int | None, within_s: float
) -> bool:
    """Wait until the other streams have brought some tokens from now on, as many streams as there are slots for. False
    when none will."""
    enough = len(others) if slots is None else min(len(others), slots)
    before = {user: crowd.so_far(user) for user in others}
    had = {user: len(pieces) for user, pieces in before.items()}

    def since(user: int) -> int:
        now = crowd.so_far(user)
        return len(now) - had[user] if now is before[user] else len(now)

    async def decoding() -> bool | None:
        if crowd.gone is not None or all(task.done() for task in others.values()):
            return False
        return True if sum(since(user) >= READS_BEFORE for user in others) >= enough else None

    return bool(await until(decoding, within_s=within_s, every_s=LOOK_EVERY_S))
