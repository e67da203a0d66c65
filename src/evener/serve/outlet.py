"""The client's end of one stream: pieces go straight to its socket while it takes them, and wait where it does not."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from aiohttp import HttpVersion11, web

from evener.serve.counting import TAIL_BYTES
from evener.serve.upstream import Upstream

MOST_UNTAKEN_BYTES = 256 << 10


class Outlet:
    """One stream to one client, whose response is prepared before anything is passed.

    `head` and `tail` are its first and last bytes, `pieces` how many events have been passed.
    """

    LATE: ClassVar[str] = "this answer took too long"

    def __init__(
        self, request: web.Request, response: web.StreamResponse, answer: Upstream, *, write_within_s: float
    ) -> None:
        self.head, self.tail = b"", bytearray()
        self.pieces = 0
        self._response, self._answer = response, answer
        self._transport = request.transport
        self._is_chunked = request.version >= HttpVersion11
        self._write_within_s = write_within_s
        self._untaken: list[bytes] = []
        self._woken = asyncio.Event()

    async def passed(self, *, until: float) -> str | None:
        """Pass everything on; None at its end, else why it ended before. `until` is on the loop's clock.

        Raises TimeoutError or OSError for a client that takes nothing, or has gone.
        """
        passing = asyncio.ensure_future(self._answer.passed(self._take))
        passing.add_done_callback(lambda _done: self._woken.set())
        late = asyncio.get_running_loop().call_at(until, passing.cancel)
        try:
            while not passing.done() or self._untaken:
                await self._woken.wait()
                self._woken.clear()
                if self._untaken:
                    waiting, self._untaken = b"".join(self._untaken), []
                    await self.write(waiting)
                    self._answer.go_on()
            return self.LATE if passing.cancelled() else passing.result()
        finally:
            late.cancel()
            passing.cancel()

    async def write(self, piece: bytes) -> None:
        """Behind everything that was passed on. Raises TimeoutError for a client that takes nothing."""
        async with asyncio.timeout(self._write_within_s):
            await self._response.write(piece)

    def _take(self, piece: bytes) -> None:
        self.head = self.head or piece
        self.pieces += piece.count(b"data: {")
        self.tail += piece
        if len(self.tail) > 2 * TAIL_BYTES:
            del self.tail[:-TAIL_BYTES]
        to = self._transport
        if self._untaken or not self._is_chunked or to is None or to.get_write_buffer_size() > MOST_UNTAKEN_BYTES:
            self._untaken.append(piece)
            self._answer.pause()
            self._woken.set()
        else:
            to.write(b"%x\r\n%b\r\n" % (len(piece), piece))
