"""One connection to an RPC worker, and every way it fails, translated at this one point.

A worker serves one client, and dies of SIGPIPE when it answers somebody who has left. So a visitor that gives up in the
queue resets the connection (SO_LINGER 0): the worker's read fails instead, and it lives. One that is served takes the
answer that it has asked for before it leaves, also when it is cancelled.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from evener.dialects import rpc_wire as wire
from evener.errors import (
    EndpointBusy,
    EndpointError,
    EndpointNotRpc,
    EndpointRefused,
    EndpointTimedOut,
    EndpointUnresolved,
    EndpointWrongProtocol,
)
from evener.together import to_the_end


class Visit:
    """A connection: ask, tell, receive. Every failure is an EndpointError that names the endpoint."""

    def __init__(self, endpoint: str, sock: socket.socket) -> None:
        self._endpoint = endpoint
        self._sock = sock
        self._greeted = False

    async def hello(self, ours: tuple[int, int, int], *, within_s: float) -> tuple[int, int, int]:
        """Say HELLO and return the worker's protocol version. Raises EndpointWrongProtocol when ours refuses it."""
        version = wire.read_version(await self.ask(wire.hello(), wire.HELLO_ANSWER_BYTES, within_s=within_s))
        if not wire.compatible(version, ours):
            raise EndpointWrongProtocol(
                self._endpoint,
                f"speaks RPC {wire.dotted(version)}, our engine {wire.dotted(ours)}",
                hint="run the same llama.cpp build on every host; a stale worker may still be running there",
            )
        self._greeted = True
        return version

    async def ask(self, request: bytes, size: int, *, within_s: float) -> bytes:
        """Send a request and receive its answer of `size` bytes."""
        asking = self._ask(request, size, within_s)
        return await (to_the_end(asking) if self._greeted else asking)

    async def _ask(self, request: bytes, size: int, within_s: float) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within_s):
                await loop.sock_sendall(self._sock, request)
                said = wire.answer_size(await self._exactly(wire.SIZE_BYTES))
                if said != size:
                    raise self._not_rpc(f"answered {min(said, 1 << 62)} bytes where RPC answers {size}")
                return await self._exactly(size)
        except TimeoutError:
            raise await self._silent(within_s) from None
        except OSError as error:
            raise self._not_rpc(f"closed the connection ({error.strerror or error})") from error

    async def tell(self, *parts: bytes, within_s: float) -> None:
        """Send what is not answered."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within_s):
                for part in parts:
                    await loop.sock_sendall(self._sock, part)
        except TimeoutError:
            raise await self._silent(within_s) from None
        except OSError as error:
            raise self._not_rpc(f"closed the connection ({error.strerror or error})") from error

    async def fetch(self, request: bytes, size: int, *, within_s: float) -> bytearray:
        """`ask` for much data, received as the engine does it: a loop that polls is three times slower."""
        return await to_the_end(self._fetch(request, size, within_s))

    async def _fetch(self, request: bytes, size: int, within_s: float) -> bytearray:
        try:
            await self.tell(request, within_s=within_s)
            async with asyncio.timeout(within_s):
                said = wire.answer_size(await self._exactly(wire.SIZE_BYTES))
            if said != size:
                raise self._not_rpc(f"answered {min(said, 1 << 62)} bytes where {size} were asked for")
            return await asyncio.to_thread(self._block, size, within_s)
        except TimeoutError:
            raise await self._silent(within_s) from None
        except OSError as error:
            raise self._not_rpc(f"closed the connection ({error.strerror or error})") from error

    def _block(self, size: int, within_s: float) -> bytearray:
        got = bytearray(size)
        self._sock.setblocking(True)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(within_s))
        try:
            filled = self._sock.recv_into(got, size, socket.MSG_WAITALL)
        except BlockingIOError:
            raise TimeoutError from None
        finally:
            self._sock.setblocking(False)
        if filled < size:
            raise self._not_rpc(f"stopped after {filled} of {size} bytes")
        return got

    async def _exactly(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        got = bytearray(size)
        view, filled = memoryview(got), 0
        while filled < size:
            more = await loop.sock_recv_into(self._sock, view[filled:])
            if not more:
                raise self._not_rpc(f"closed the connection after {filled} of {size} bytes")
            filled += more
        return bytes(got)

    async def _silent(self, within_s: float) -> EndpointError:
        if self._greeted:
            return EndpointTimedOut(self._endpoint, f"answered HELLO, then nothing for {within_s:g} s", hint="it hangs")
        if await self._is_web_server():
            return self._not_rpc("a web server answers there")
        return EndpointBusy(
            self._endpoint,
            f"connected, but no answer to HELLO within {within_s:g} s",
            hint="it serves another client (one at a time), hangs, or is no RPC worker",
        )

    async def _is_web_server(self) -> bool:
        """HELLO has no line end, so a web server waits for one. A worker would never read these bytes: we reset."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(0.5):
                await loop.sock_sendall(self._sock, b"\r\n\r\n")
                return bool(await loop.sock_recv(self._sock, 16))
        except (TimeoutError, OSError):
            return False

    def _not_rpc(self, what: str) -> EndpointError:
        return EndpointNotRpc(
            self._endpoint, what, hint="something else listens there, or a worker older than protocol 7"
        )

    def close(self) -> None:
        self._sock.close()

    def reset(self) -> None:
        with suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()


@asynccontextmanager
async def visit(endpoint: str, *, within_s: float) -> AsyncIterator[Visit]:
    """Connect; afterwards close politely, or reset when the block failed."""
    made = Visit(endpoint, await _connect(endpoint, within_s))
    try:
        yield made
    except BaseException:
        made.reset()
        raise
    made.close()


async def _connect(endpoint: str, within_s: float) -> socket.socket:
    """The engine splits at the first colon and knows IPv4 only; so do we."""
    host, _, port = endpoint.partition(":")
    if not (host and port.isdigit() and 0 < int(port) < 65536):
        raise EndpointUnresolved(endpoint, "not an endpoint", hint='write "address:port", e.g. "10.0.0.2:50052"')
    loop = asyncio.get_running_loop()
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        async with asyncio.timeout(within_s):
            found = await loop.getaddrinfo(host, int(port), family=socket.AF_INET, type=socket.SOCK_STREAM)
            await loop.sock_connect(sock, found[0][4])
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    except BaseException as error:
        sock.close()
        if (translated := _translated(endpoint, error, within_s)) is None:
            raise
        raise translated from error


def _timeval(within_s: float) -> bytes:
    """Seconds as the kernel takes them, to the microsecond; never 0, which means for ever."""
    return struct.pack("@ll", *divmod(max(1, math.ceil(within_s * 1e6)), 1_000_000))


def _translated(endpoint: str, error: BaseException, within_s: float) -> EndpointError | None:
    if isinstance(error, socket.gaierror):
        return EndpointUnresolved(endpoint, "the name does not resolve to an IPv4 address", hint="check the rig file")
    if isinstance(error, ConnectionRefusedError):
        return EndpointRefused(endpoint, "nobody listens", hint="start the worker there, or check the port")
    if isinstance(error, TimeoutError):
        return EndpointTimedOut(
            endpoint,
            f"no answer to a connection within {within_s:g} s",
            hint="a firewall drops it, the host is off, or the worker's queue is full",
        )
    if isinstance(error, OSError):
        return EndpointTimedOut(endpoint, error.strerror or str(error), hint="check the cable, address and route")
    return None
