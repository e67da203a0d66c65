"""The gate that every request of a level goes through: it says which ones are measured, and when the level is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from evener.bench.client import now_ns
from evener.bench.crowd import Crowd, Sending
from evener.bench.load import Load
from evener.bench.speaker import Speaker
from evener.bench.turnstile import Turnstile
from evener.dialects.http1 import Exchange
from evener.ports import Report
from evener.records.events import Progress


class Gate:
    """One for a run; `open()` it for each level, `send()` through it, and wait `until_over()`.

    `spans` tell when each level was measured, by its users: since its first measured request, until it was over;
    `on_turn` is called at both.
    """

    def __init__(self, crowd: Crowd, load: Load, *, report: Report, on_turn: Callable[[], None]) -> None:
        self.spans: dict[int, tuple[int, int | None]] = {}
        self._crowd = crowd
        self._load = load
        self._report = report
        self._on_turn = on_turn
        self._turnstile = Turnstile(0, asked=0, cold=())
        self._over = asyncio.Event()
        self._done = 0
        self._fault: BaseException | None = None

    def open(self, users: int, *, cold: Iterable[int]) -> None:
        """For so many users, of whom these have to warm up before anything is measured."""
        asked = self._load.requests_at(users)
        self._turnstile, self._done = Turnstile(users, asked=asked, cold=cold), 0
        self._over.clear()
        self._report(Progress(what=self._what(users), of=asked))

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        """Run something that sends. A fault in it ends the level, and `until_over()` raises it."""
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._on_end)
        return task

    async def send(
        self, speaker: Speaker, user: int, *, tokens: int, late_s: float | None = None
    ) -> tuple[Exchange, bool]:
        """One request of this user, and whether it was measured."""
        here = self._turnstile
        measured = here.is_measured()
        if measured and here.users not in self.spans:
            self.spans[here.users] = (now_ns(), None)
            self._on_turn()
        sending = Sending(users=here.users, user=user, warm_up=not measured, late_s=late_s)
        exchange = await self._crowd.send(speaker, sending, tokens=tokens)
        self._ended(here if measured else self._turnstile, user, measured=measured)
        return exchange, measured

    async def until_over(self) -> None:
        """Wait for the last measured request, or for nobody to be there any more."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._over, self._crowd.ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._fault is not None:
            raise self._fault
        if (span := self.spans.get(self._turnstile.users)) is not None:
            self.spans[self._turnstile.users] = (span[0], now_ns())
            self._on_turn()

    def _ended(self, turnstile: Turnstile, user: int, *, measured: bool) -> None:
        turnstile.ended(user, measured=measured)
        if measured:
            self._done += 1
            self._report(Progress(what=self._what(turnstile.users), done=self._done, of=turnstile.asked))
        if turnstile is self._turnstile and turnstile.is_over:
            self._over.set()

    def _on_end(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()
            self._over.set()

    def _what(self, users: int) -> str:
        if self._load.arrivals != "closed":
            rate = f"{self._load.rate_per_s:g} requests/s" if self._load.rate_per_s else "requests as recorded"
            return f"{rate}, at most {users} in flight"
        one, many = ("person", "people") if self._load.people else ("user", "users")
        return f"{users} {one if users == 1 else many}"
