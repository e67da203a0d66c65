"""Stand-in workers on loopback: devices of any size that hold nothing, for the engine's own dry runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from evener.dialects import rpc_wire as wire
from evener.dialects.rpc_answers import Answers, PretendDevice

LONGEST_REQUEST_BYTES = 1 << 30  # a dry run sends graphs and zeroes, never a weight


class StandIns:
    """The `StandIns` port on real sockets."""

    @asynccontextmanager
    async def serving(self, devices: Sequence[PretendDevice]) -> AsyncIterator[str]:
        """Serve `devices` on a free port of 127.0.0.1; yields the endpoint. Ends with the block, clients included."""

        visits: dict[asyncio.Task[object], asyncio.StreamWriter] = {}

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            visits[task] = writer
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                with suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
                    await _converse(reader, writer, Answers(devices=devices))
            finally:
                writer.close()
                del visits[task]

        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
        host, port = server.sockets[0].getsockname()[:2]
        try:
            yield f"{host}:{port}"
        finally:
            server.close()
            left = list(visits)
            for writer in visits.values():
                writer.transport.abort()
            await asyncio.gather(*left, return_exceptions=True)


async def _converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: Answers) -> None:
    while True:
        head = await reader.readexactly(wire.REQUEST_HEAD_BYTES)
        size = wire.answer_size(head[1:])
        if size > LONGEST_REQUEST_BYTES:
            raise ValueError(f"a request of {size} bytes")
        answer = answers.answer(head[0], await reader.readexactly(size))
        if answer is not None:
            writer.write(answer)
            await writer.drain()
