"""The closed loop: so many users, each sending its next request when the former has ended.

No time box: what is in flight at a level's end is finished, not cut. Answers are read beside the load in small
portions, so that no stream's stamps wait for another stream's JSON.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from evener.bench.client import Line, now_ns
from evener.bench.load import Load
from evener.bench.probe import CHAT, Server
from evener.bench.summarise import users_result
from evener.bench.watch import Watch
from evener.dialects.http1 import Exchange
from evener.dialects.openai_stream import Reading
from evener.ports import Report
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.together import together

Keep = Callable[[Request], None]
PORTION = 16  # pieces read before the loop gets its turn: some 0.1 ms


@dataclass(frozen=True, slots=True)
class _Finished:
    """An exchange that nobody has read yet."""

    exchange: Exchange
    number: int
    users: int
    user: int
    warm_up: bool


class UsersBench:
    """One measurement. Every request goes to `keep` as soon as it is read; `result()` works at any time.

    When `run` is cancelled, finished requests have been kept and `result("why")` is the partial answer.
    """

    def __init__(self, server: Server, load: Load, *, keep: Keep, report: Report) -> None:
        self._server = server
        self._load = load
        self._keep_outside = keep
        self._report = report
        self._requests: list[Request] = []
        self._unread: deque[_Finished] = deque()
        self._arrived = asyncio.Event()
        self._over = False
        self._gone: str | None = None
        self._numbers = count()
        self._lines: list[Line] = []
        self._watch = Watch()
        self._started_ns = now_ns()

    def result(self, partial: str | None = None) -> UsersResult:
        """What has been measured so far; `partial` says why it is not all."""
        retries = sum(request.retried for request in self._requests)
        return users_result(
            self._requests,
            load=self._load,
            server=self._server,
            client=self._watch.cost(retries=retries),
            partial=partial or self._gone,
        )

    async def run(self) -> UsersResult:
        """All levels, one after the other. Ends early, and says so in `partial`, when the server is gone."""
        self._started_ns = now_ns()
        try:
            async with self._watch.watching():
                await together([self._levels(), self._read_all()])
        except asyncio.CancelledError:
            self._read_rest()
            raise
        finally:
            for line in self._lines:
                line.close()
        return self.result()

    async def _levels(self) -> None:
        for users in self._load.users:
            if self._gone is None:
                await self._level(users)
        self._over = True
        self._arrived.set()

    async def _level(self, users: int) -> None:
        asked = self._load.requests_at(users)
        turns = iter(range(asked))
        while len(self._lines) < users:
            self._lines.append(self._server.line())
        what = f"{users} user{'s' if users > 1 else ''}"
        done = count(1)
        self._report(Progress(what=what, of=asked))

        def ended() -> None:
            self._report(Progress(what=what, done=next(done), of=asked))

        await together(self._user(users, user, turns, ended) for user in range(users))

    async def _user(self, users: int, user: int, turns: Iterator[int], ended: Callable[[], None]) -> None:
        await self._request(users, user, tokens=self._load.warm_up_tokens(user, users), warm_up=True)
        while self._gone is None and next(turns, None) is not None:
            await self._request(users, user, tokens=self._load.output_tokens, warm_up=False)
            ended()

    async def _request(self, users: int, user: int, *, tokens: int, warm_up: bool) -> None:
        number = next(self._numbers)
        body = self._server.body(self._load, number=number, tokens=tokens)
        exchange = await self._lines[user].post(CHAT, body, within_s=self._load.timeout_s)
        if exchange.ending == "unreachable":
            self._gone = f"the server went away: {exchange.detail}"
        self._unread.append(_Finished(exchange, number, users, user, warm_up))
        self._arrived.set()

    async def _read_all(self) -> None:
        while self._unread or not self._over:
            if not self._unread:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            finished, reading = self._unread[0], Reading()
            for at, (at_ns, piece) in enumerate(finished.exchange.pieces, start=1):
                reading.feed(at_ns, piece)
                if at % PORTION == 0:
                    await asyncio.sleep(0)
            self._keep(finished, reading)

    def _read_rest(self) -> None:
        while self._unread:
            reading = Reading()
            for at_ns, piece in self._unread[0].exchange.pieces:
                reading.feed(at_ns, piece)
            self._keep(self._unread[0], reading)

    def _keep(self, finished: _Finished, reading: Reading) -> None:
        request = reading.request(
            finished.exchange,
            id=finished.number,
            users=finished.users,
            user=finished.user,
            started_ns=self._started_ns,
            warm_up=finished.warm_up,
        )
        self._unread.popleft()
        self._requests.append(request)
        self._keep_outside(request)
