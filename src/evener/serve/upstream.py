"""One request to a deployment, and its answer handed on piece by piece in the socket's own callback.

Why no HTTP library between: docs/decisions/0023. Knows framing and deadlines; knows nothing of who asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from evener.dialects.http1 import ResponseReader

Take = Callable[[bytes], None]


class Gone(Exception):
    """The deployment cannot be reached, or ended in the middle."""


class Upstream(asyncio.Protocol):
    """Use `asked(...)`. First `head()`, then `passed(take)` or `whole()`."""

    def __init__(self) -> None:
        self.reader = ResponseReader()
        self._transport: asyncio.Transport | None = None
        self._take: Take | None = None
        self._fault: str | None = None
        self._head = asyncio.Event()
        self._end = asyncio.Event()

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers, as soon as they are there. Raises Gone."""
        await self._head.wait()
        if self.reader.status is None:
            raise Gone(self._fault or "it hung up")
        return self.reader.status, self.reader.headers

    async def passed(self, take: Take) -> str | None:
        """Give every piece to `take` as it arrives; returns at the end: None, or why it came too early."""
        self._take = take
        self._hand_on()
        await self._end.wait()
        return self._fault

    async def whole(self) -> bytes:
        """All of the answer. Raises Gone."""
        await self._end.wait()
        if self._fault:
            raise Gone(self._fault)
        return b"".join(piece for _, piece in self.reader.pieces)

    def pause(self) -> None:
        """Take nothing more from it until `go_on`: whoever reads this is slow."""
        if self._transport is not None and not self._end.is_set():
            self._transport.pause_reading()

    def go_on(self) -> None:
        if self._transport is not None and not self._end.is_set():
            self._transport.resume_reading()

    def cut(self, why: str) -> None:
        """It is known that nothing more comes, whatever the socket says."""
        self._over(why)
        if self._transport is not None:
            self._transport.abort()

    # ---- asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.reader.feed(0, data)
        if self.reader.status is not None:
            self._head.set()
        self._hand_on()
        if self.reader.fault:
            self._over(self.reader.fault)
        elif self.reader.complete:
            self._over(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.reader.end()
        self._hand_on()
        self._over(None if self.reader.complete else str(exc or "it hung up"))

    def _hand_on(self) -> None:
        if self._take is not None and self.reader.pieces:
            for _, piece in self.reader.pieces:
                self._take(piece)
            self.reader.forget()

    def _over(self, fault: str | None) -> None:
        if not self._end.is_set():
            self._fault = fault
            self._head.set()
            self._end.set()


@asynccontextmanager
async def asked(
    host: str, port: int, path: str, headers: Sequence[tuple[str, str]], body: bytes, *, within_s: float
) -> AsyncIterator[Upstream]:
    """POST `body`; `within_s` is for the connection. When the block is left it is closed: an engine that has
    not come to its end stops at once. Raises Gone where nobody listens."""
    try:
        async with asyncio.timeout(within_s):
            transport, upstream = await asyncio.get_running_loop().create_connection(Upstream, host, port)
    except OSError as error:  # a TimeoutError is one
        raise Gone(f"it cannot be reached: {error or type(error).__name__}") from None
    try:
        lines = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: close", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        transport.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body)
        yield upstream
    finally:
        transport.abort()
