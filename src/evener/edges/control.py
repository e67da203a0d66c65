"""A supervisor's socket: one JSON object a line. The protocol is documented in docs/reference/control-socket.md.

Client to supervisor: {"do": "status"}, {"do": "follow"}, {"do": "down"}, {"do": "borrow"}, and the orders of a door.
Supervisor to client: {"deployment": ...} for status; {"lent": true} or {"refused": "why"} for borrow; one answer for
an order; for the others a stream of {"progress": ...} and {"fact": ...}, until the supervisor has ended and the
connection closes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from evener.edges.writing import writing
from evener.errors import HostBusy
from evener.together import to_the_end

Message = dict[str, Any]
Order = Callable[[Message], Awaitable[Message]]
MOST_WAITING = 1000  # messages a slow follower may lag behind before it is dropped
LAST_WORDS_WITHIN_S = 3.0


class Lender(Protocol):
    """Who can take its deployment off the machines for a while, so that somebody else may use them."""

    async def lend(self) -> str | None:
        """Return when nothing is up, None then; or at once, with the reason why not."""
        ...

    def give_back(self) -> None:
        """The borrower has gone, whichever way it went."""
        ...


class Control:
    """The supervisor's end. `status()` gives the deployment's data; `on_down()` is called when somebody asks for it.

    What a `lender` lends is given back when the borrower's connection ends, also when nothing was lent yet.
    `orders` are further things to do: each gets the request and gives the one answer to it.
    """

    def __init__(
        self,
        *,
        status: Callable[[], Message],
        on_down: Callable[[], None],
        lender: Lender | None = None,
        orders: Mapping[str, Order] | None = None,
    ) -> None:
        self._status = status
        self._on_down = on_down
        self._lender = lender
        self._orders = orders or {}
        self._followers: dict[asyncio.Queue[Message | None], asyncio.StreamWriter] = {}
        self._drained = asyncio.Event()
        self._drained.set()

    def publish(self, message: Message) -> None:
        """Hand a message to every follower. One that lags too far behind is dropped: it gets no gaps."""
        for queue, writer in list(self._followers.items()):
            if queue.qsize() < MOST_WAITING:
                queue.put_nowait(message)
            else:
                writer.transport.abort()
                self._leave(queue)

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[None]:
        """Listen while in the block; on leaving, followers get what is left and the end of the stream.

        One that does not read is cut off after `LAST_WORDS_WITHIN_S`. Raises HostError when the socket cannot be made.
        """
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.unlink(missing_ok=True)
            with _short(path) as name:
                server = await asyncio.start_unix_server(self._serve, name)
            path.chmod(0o600)
        try:
            yield
        finally:
            server.close()
            await to_the_end(self._drain())
            with suppress(OSError):
                path.unlink(missing_ok=True)

    async def _drain(self) -> None:
        for queue in self._followers:
            queue.put_nowait(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_WITHIN_S):
                await self._drained.wait()
        for writer in self._followers.values():
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError, asyncio.IncompleteReadError):
            request = json.loads(await reader.readline() or b"{}")
            asked = request.get("do") if isinstance(request, dict) else None
            if asked == "down":
                self._on_down()
            if asked in ("follow", "down"):
                await self._follow(writer)
            elif asked == "borrow":
                await self._lend(reader, writer)
            elif isinstance(asked, str) and asked in self._orders:
                await _send(writer, await self._orders[asked](request))
            else:
                await _send(writer, {"deployment": self._status()})
        writer.close()

    async def _follow(self, writer: asyncio.StreamWriter) -> None:
        queue: asyncio.Queue[Message | None] = asyncio.Queue()
        self._followers[queue] = writer
        self._drained.clear()
        try:
            await _send(writer, {"deployment": self._status()})
            while (message := await queue.get()) is not None:
                await _send(writer, message)
        finally:
            self._leave(queue)

    async def _lend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lender = self._lender
        if lender is None:
            await _send(writer, {"refused": "it lends nothing"})
            return
        left = asyncio.ensure_future(reader.read())
        lending = asyncio.ensure_future(lender.lend())
        try:
            await asyncio.wait([left, lending], return_when=asyncio.FIRST_COMPLETED)
            if lending.done() and (why := lending.result()) is not None:
                await _send(writer, {"refused": why})
                return
            try:
                if lending.done():
                    await _send(writer, {"lent": True})
                    await left
            finally:
                lender.give_back()
        finally:
            for wait in (left, lending):
                wait.cancel()

    def _leave(self, queue: asyncio.Queue[Message | None]) -> None:
        self._followers.pop(queue, None)
        if not self._followers:
            self._drained.set()


async def _send(writer: asyncio.StreamWriter, message: Message) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


async def ask(path: Path, what: str, **more: str | float | None) -> AsyncIterator[Message]:
    """Ask a supervisor and yield its messages. Ends at once, with nothing, when nobody listens. `more` goes along."""
    try:
        with _short(path) as name:
            reader, writer = await asyncio.open_unix_connection(name, limit=16 << 20)
    except OSError:
        return
    try:
        await _send(writer, {"do": what, **more})
        while line := await reader.readline():
            yield json.loads(line)
    except (ConnectionError, ValueError):
        return
    finally:
        writer.close()


@asynccontextmanager
async def borrow(path: Path) -> AsyncIterator[asyncio.Future[bytes]]:
    """Have a supervisor take its deployment down for the block; it brings it up again when the connection ends.

    Yields what is done when the supervisor has gone meanwhile. Raises HostBusy when it refuses or does not listen.
    """
    try:
        with _short(path) as name:
            reader, writer = await asyncio.open_unix_connection(name, limit=16 << 20)
    except OSError:
        raise HostBusy(f"{path.parent.name}: its supervisor does not listen", hint="evener status") from None
    try:
        await _send(writer, {"do": "borrow"})
        said = json.loads(await reader.readline() or b"{}")
        if "lent" not in said:
            raise HostBusy(f"{path.parent.name}: {said.get('refused', 'its supervisor has gone')}")
        gone = asyncio.ensure_future(reader.read())
        try:
            yield gone
        finally:
            gone.cancel()
    finally:
        writer.close()


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A path for a socket that is never too long (the kernel allows 108 bytes): through its folder's descriptor."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)
