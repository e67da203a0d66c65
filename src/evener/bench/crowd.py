"""Lines to one server: what is sent on them is read beside the load, kept, and given up when nothing comes any more.

Answers are read in small portions, so that no stream's stamps wait for another stream's JSON. Knows nothing of levels.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from evener.bench.client import Line, now_ns
from evener.bench.load import Load
from evener.bench.probe import CHAT, Server
from evener.bench.speaker import Speaker
from evener.dialects.http1 import Exchange
from evener.dialects.openai_stream import Reading
from evener.dialects.openai_text import answer_text
from evener.records.load import Request

Keep = Callable[[Request], None]
PORTION = 32  # pieces read before the loop gets its turn: some 0.1 ms
LOOKS_PER_SILENCE = 10  # how often the watchdog looks, within the time that it allows
MOST_BETWEEN_LOOKS_S = 1.0
GOODBYE_S = 1.0
FEW_PIECES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What a request is for. Fields as in `records.load.Request`."""

    users: int
    user: int
    warm_up: bool
    long: bool = False
    late_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Finished:
    """An exchange that nobody has read yet."""

    exchange: Exchange
    number: int
    turn: int
    given_up: bool
    sending: Sending


def has_failed(exchange: Exchange) -> bool:
    """Whether it plainly failed, as far as that is seen without reading it: an error in a stream is a short answer."""
    if exchange.ending != "complete" or exchange.status != 200:
        return True
    return len(exchange.pieces) <= FEW_PIECES and b'"error"' in exchange.body


class Crowd:
    """Every request goes to `keep` as soon as it is read. `gone` says why nobody should send any more.

    `earlier` are requests of the run's former parts: times and numbers go on behind them.
    """

    def __init__(self, server: Server, load: Load, *, keep: Keep, earlier: Sequence[Request] = ()) -> None:
        self.requests: list[Request] = list(earlier)
        self.gone: str | None = None
        self.ended = asyncio.Event()  # with `gone`
        self._server = server
        self._load = load
        self._keep_outside = keep
        self._part = max((r.part for r in earlier), default=-1) + 1
        self._numbers = count(max((r.id for r in earlier), default=-1) + 1)
        self._elapsed_s = max((r.sent_s + (r.end_s or 0.0) + 1.0 for r in earlier), default=0.0)
        self._started_ns = now_ns()
        self._lines: list[Line] = []
        self._in_flight: dict[int, int] = {}  # line -> number of the request
        self._released: set[int] = set()  # numbers that were given up because nobody needs them any more
        self._heard_ns = now_ns()
        self._unread: deque[_Finished] = deque()
        self._arrived = asyncio.Event()
        self._over = False

    def begin(self) -> None:
        """Start the clock of this part."""
        self._started_ns = now_ns() - round(self._elapsed_s * 1e9)

    def close(self) -> None:
        for line in self._lines:
            line.close()

    async def send(self, speaker: Speaker, sending: Sending, *, tokens: int) -> Exchange:
        """Say what the speaker says next on the user's line, and let the speaker hear the answer when it wants to."""
        at = sending.user
        while len(self._lines) <= at:
            self._lines.append(self._server.line())
        number = next(self._numbers)
        saying = speaker.saying(number, tokens=tokens)
        if not self._in_flight:
            self._heard_ns = now_ns()
        self._in_flight[at] = number
        try:
            exchange = await self._lines[at].post(CHAT, saying.body, within_s=self._load.timeout_s)
        finally:
            self._in_flight.pop(at, None)
        if exchange.ending == "unreachable":
            self._stop(f"the server went away: {exchange.detail}")
        elif exchange.ending != "timeout":
            self._heard_ns = now_ns()
        given_up = number in self._released and exchange.ending == "timeout"
        self._unread.append(_Finished(exchange, number, saying.turn, given_up, sending))
        self._arrived.set()
        listens = speaker.listens and not has_failed(exchange)
        speaker.heard(answer_text(piece for _, piece in exchange.pieces) if listens else None)
        return exchange

    def so_far(self, at: int) -> Sequence[tuple[int, bytes]]:
        """What has come on a line of the answer that is in flight there; nothing when none is."""
        return self._lines[at].so_far if at in self._in_flight else ()

    async def dismiss(self, tasks: Mapping[int, asyncio.Future[None]]) -> None:
        """Let the users of these lines go, who have been told to stop; what hangs in a connection is cancelled."""
        try:
            self._release(tasks)
            if tasks:
                await asyncio.wait(tasks.values(), timeout=GOODBYE_S)
        finally:
            for task in tasks.values():
                task.cancel()
        for ended in await asyncio.gather(*tasks.values(), return_exceptions=True):
            if isinstance(ended, Exception):  # a fault of ours, which nobody else has awaited
                raise ended

    async def watching(self) -> None:
        """The watchdog: nothing on any stream for too long while requests are in flight, and all of them end."""
        allowed_s = self._load.silent_for_s
        while self.gone is None:
            await asyncio.sleep(min(allowed_s / LOOKS_PER_SILENCE, MOST_BETWEEN_LOOKS_S))
            self._heard_ns = max([self._heard_ns, *map(self._last_heard_ns, self._in_flight)])
            if self._in_flight and (now_ns() - self._heard_ns) / 1e9 > allowed_s:
                why = f"nothing arrived on any stream for {allowed_s:g} s"
                self._stop(why)
                for at in tuple(self._in_flight):
                    self._lines[at].give_up(why)

    async def reading(self) -> None:
        """Read what has ended until `finish_reading()`."""
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

    def finish_reading(self) -> None:
        """Nothing more will be sent: `reading()` returns when all is read."""
        self._over = True
        self._arrived.set()

    def read_rest(self) -> None:
        """Read at once what nobody has read."""
        while self._unread:
            reading = Reading()
            for at_ns, piece in self._unread[0].exchange.pieces:
                reading.feed(at_ns, piece)
            self._keep(self._unread[0], reading)

    def _release(self, lines: Iterable[int]) -> None:
        """End what is in flight there. Nobody needs it any more, unless the server is gone: then it has failed."""
        for at in lines:
            if at in self._in_flight:
                if self.gone is None:
                    self._released.add(self._in_flight[at])
                self._lines[at].give_up(self.gone or "its level was over")

    def _stop(self, why: str) -> None:
        if self.gone is None:
            self.gone = why
            self.ended.set()

    def _last_heard_ns(self, at: int) -> int:
        """When something other than a comment came on this line; comments are sent by servers that hang, too."""
        heard = (at_ns for at_ns, piece in reversed(self._lines[at].so_far) if not piece.startswith(b":"))
        return next(heard, 0)

    def _keep(self, finished: _Finished, reading: Reading) -> None:
        sending = finished.sending
        request = replace(
            reading.request(
                finished.exchange,
                id=finished.number,
                users=sending.users,
                user=sending.user,
                started_ns=self._started_ns,
                warm_up=sending.warm_up,
            ),
            turn=finished.turn,
            part=self._part,
            long=sending.long,
            late_s=sending.late_s,
        )
        self._unread.popleft()
        if finished.given_up:
            if not sending.warm_up or sending.long:
                return  # interrupted: half of what was to be measured says nothing
            request = replace(request, failure=None, detail=None, given_up=True)
        self.requests.append(request)
        self._keep_outside(request)
