"""Users who each send their next request when the former has ended and they have thought. They stay from one level to
the next: only newcomers start, one after the other, and what is in flight at the change warms up the next level."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from evener.bench.arrivals import thinking_s
from evener.bench.crowd import Crowd, has_failed
from evener.bench.gate import Gate
from evener.bench.load import Load
from evener.bench.probe import Server
from evener.bench.speaker import Speaker, dealt

AFTER_FAILURE_S = 0.25  # a warm-up that failed is not repeated at once; twice as long after each further one
MOST_AFTER_FAILURE_S = 8.0


@dataclass(frozen=True, slots=True)
class _User:
    """Somebody who sends. `leaves` tells them to stop."""

    task: asyncio.Future[None]
    leaves: asyncio.Event


class ClosedLoop:
    """One for a run: a `level()` after the other, then `end()`."""

    def __init__(self, crowd: Crowd, gate: Gate, server: Server, load: Load) -> None:
        self._crowd = crowd
        self._gate = gate
        self._server = server
        self._load = load
        self._users: dict[int, _User] = {}
        self._recorded = dealt(load.replay, max(load.levels, default=0)) if load.replay else None

    async def level(self, users: int) -> None:
        """Measure with so many. They go on when it is over."""
        await self._let_go(user for user in tuple(self._users) if user >= users)
        self._gate.open(users, cold=range(users))
        newcomers = [user for user in range(users) if user not in self._users]
        for place, user in enumerate(newcomers):
            leaves = asyncio.Event()
            first = self._load.warm_up_tokens(place, len(newcomers))
            self._users[user] = _User(self._gate.start(self._user(user, leaves, first_tokens=first)), leaves)
        await self._gate.until_over()

    async def end(self) -> None:
        await self._let_go(tuple(self._users))

    async def _user(self, user: int, leaves: asyncio.Event, *, first_tokens: int) -> None:
        speaker = Speaker(self._server, self._load, self._recorded[user] if self._recorded else None)
        thinks, failures, tokens = thinking_s(self._load, user), 0, first_tokens
        while True:
            await _pause(next(thinks) + _patience_s(failures), leaves)
            if leaves.is_set() or self._crowd.gone is not None:
                return
            exchange, measured = await self._gate.send(speaker, user, tokens=tokens)
            failures = failures + 1 if has_failed(exchange) and not measured else 0
            tokens = self._load.output_tokens

    async def _let_go(self, users: Iterable[int]) -> None:
        going = {user: self._users.pop(user) for user in users}
        for user in going.values():
            user.leaves.set()
        await self._crowd.dismiss({at: user.task for at, user in going.items()})


async def _pause(seconds: float, leaves: asyncio.Event) -> None:
    if seconds <= 0:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await leaves.wait()


def _patience_s(failures: int) -> float:
    return min(AFTER_FAILURE_S * 2 ** (failures - 1), MOST_AFTER_FAILURE_S) if failures else 0.0
