"""Requests sent by the clock, whatever has been answered by then. The client's own cap is the only thing that holds one
back; then it goes out late, and how late is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle, repeat

from evener.bench.arrivals import due_s, lead
from evener.bench.crowd import Crowd
from evener.bench.gate import Gate
from evener.bench.load import Load, Replayed
from evener.bench.probe import Server
from evener.bench.speaker import Speaker


class OpenLoop:
    """One for a run: its only `level()`, then `end()`."""

    def __init__(self, crowd: Crowd, gate: Gate, server: Server, load: Load) -> None:
        self._crowd = crowd
        self._gate = gate
        self._server = server
        self._load = load
        self._senders: dict[int, asyncio.Future[None]] = {}
        self._clock: asyncio.Future[None] | None = None

    async def level(self, users: int) -> None:
        """Measure with at most so many in flight."""
        ahead = lead(self._load, self._load.requests_at(users))
        self._gate.open(users, cold=range(min(users, ahead)))  # lines are used in turn: each of these once
        self._clock = self._gate.start(self._send_when_due(users))
        await self._gate.until_over()

    async def end(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            await asyncio.gather(self._clock, return_exceptions=True)
        await self._crowd.dismiss(self._senders)

    async def _send_when_due(self, most: int) -> None:
        loop, free = asyncio.get_running_loop(), asyncio.Queue[int]()
        for line in range(most):
            free.put_nowait(line)
        begun = loop.time()
        for due, recorded in zip(due_s(self._load), _recorded(self._load), strict=False):
            await asyncio.sleep(begun + due - loop.time())
            line = await free.get()
            if self._crowd.gone is not None:
                return
            late_s = max(0.0, loop.time() - begun - due)
            speaker = Speaker(self._server, self._load, iter([recorded]) if recorded else None)
            self._senders[line] = self._gate.start(self._send(speaker, line, free, late_s=late_s))

    async def _send(self, speaker: Speaker, line: int, free: asyncio.Queue[int], *, late_s: float) -> None:
        await self._gate.send(speaker, line, tokens=self._load.output_tokens, late_s=round(late_s, 6))
        free.put_nowait(line)


def _recorded(load: Load) -> Iterator[Replayed | None]:
    """What each request says, in the order in which they are due."""
    if not load.replay:
        return repeat(None)
    if load.arrivals == "replay":
        return iter(sorted(load.replay, key=lambda one: one.at_s or 0.0))
    return cycle(load.replay)
