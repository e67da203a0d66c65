"""A supervisor's socket: one JSON object a line. The protocol is documented in docs/reference/control-socket.md.

Client to supervisor: {"do": "status"}, {"do": "follow"}, {"do": "down"}.
Supervisor to client: {"deployment": ...} for status; a stream of {"progress": ...} and {"fact": ...} for the others,
until the supervisor has ended and the connection closes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

Message = dict[str, Any]
MOST_WAITING = 1000  # messages a slow follower may lag behind before it is dropped


class Control:
    """The supervisor's end. `status()` gives the deployment's data; `on_down()` is called when somebody asks for it."""

    def __init__(self, *, status: Callable[[], Message], on_down: Callable[[], None]) -> None:
        self._status = status
        self._on_down = on_down
        self._followers: set[asyncio.Queue[Message | None]] = set()
        self._drained = asyncio.Event()
        self._drained.set()

    def publish(self, message: Message) -> None:
        for queue in list(self._followers):
            if queue.qsize() < MOST_WAITING:
                queue.put_nowait(message)

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[None]:
        """Listen while in the block; on leaving, followers get what is left and the end of the stream."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        with _short(path) as name:
            server = await asyncio.start_unix_server(self._serve, name)
        path.chmod(0o600)
        try:
            yield
        finally:
            server.close()
            for queue in list(self._followers):
                queue.put_nowait(None)
            await self._drained.wait()
            path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError, asyncio.IncompleteReadError):
            asked = json.loads(await reader.readline() or b"{}").get("do")
            if asked in ("follow", "down"):
                await self._follow(writer, down=asked == "down")
            else:
                await _send(writer, {"deployment": self._status()})
        writer.close()

    async def _follow(self, writer: asyncio.StreamWriter, *, down: bool) -> None:
        queue: asyncio.Queue[Message | None] = asyncio.Queue()
        self._followers.add(queue)
        self._drained.clear()
        try:
            await _send(writer, {"deployment": self._status()})
            if down:
                self._on_down()
            while (message := await queue.get()) is not None:
                await _send(writer, message)
        finally:
            self._followers.discard(queue)
            if not self._followers:
                self._drained.set()


async def _send(writer: asyncio.StreamWriter, message: Message) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


async def ask(path: Path, what: str) -> AsyncIterator[Message]:
    """Ask a supervisor and yield its messages. Ends at once, with nothing, when nobody listens."""
    try:
        with _short(path) as name:
            reader, writer = await asyncio.open_unix_connection(name, limit=16 << 20)
    except OSError:
        return
    try:
        await _send(writer, {"do": what})
        while line := await reader.readline():
            yield json.loads(line)
    except (ConnectionError, ValueError):
        return
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
