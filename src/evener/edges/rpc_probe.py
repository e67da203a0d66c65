"""A short visit to an RPC worker behind the `Rpc` port. Translates every way it fails, at this one point.

A worker serves one client and dies of SIGPIPE when a queued visitor said HELLO and left politely. So a visit that
gives up resets the connection (SO_LINGER 0): the worker's read fails instead, and it lives.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

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
from evener.ports import WorkerSeen

MOST_DEVICES = 16  # llama_max_devices()


class RpcProbe:
    """Real sockets. `protocol` is the version of the engine that will be the client."""

    def __init__(self, protocol: tuple[int, int, int] = wire.PROTOCOL) -> None:
        self._protocol = protocol

    async def hello(self, endpoint: str, *, within_s: float = 3.0) -> WorkerSeen:
        visit = _Visit(endpoint, await _connect(endpoint, within_s))
        try:
            version = wire.read_version(await visit.ask(wire.hello(), wire.HELLO_ANSWER_BYTES, within_s=within_s))
            if not wire.compatible(version, self._protocol):
                raise EndpointWrongProtocol(
                    endpoint,
                    f"speaks RPC {wire.dotted(version)}, our engine {wire.dotted(self._protocol)}",
                    hint="run the same llama.cpp build on every host; a stale worker may still be running there",
                )
            count = wire.read_count(await visit.ask(wire.device_count(), 4, within_s=within_s))
            memory = [
                wire.read_memory(await visit.ask(wire.device_memory(i), 16, within_s=within_s))
                for i in range(min(count, MOST_DEVICES))
            ]
            visit.close()
        except BaseException:
            visit.reset()
            raise
        return WorkerSeen(endpoint=endpoint, protocol=wire.dotted(version), devices=tuple(memory))


class _Visit:
    """One connection to a worker: ask, then close politely or reset."""

    def __init__(self, endpoint: str, sock: socket.socket) -> None:
        self._endpoint = endpoint
        self._sock = sock

    async def ask(self, request: bytes, size: int, *, within_s: float) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within_s):
                await loop.sock_sendall(self._sock, request)
                said = wire.answer_size(await self._exactly(wire.SIZE_BYTES))
                if said != size:
                    raise self._not_rpc(f"answered {min(said, 1 << 62)} bytes where RPC answers {size}")
                return await self._exactly(size)
        except TimeoutError:
            if await self._is_web_server():
                raise self._not_rpc("a web server answers there") from None
            raise EndpointBusy(
                self._endpoint,
                f"connected, but no answer to HELLO within {within_s:g} s",
                hint="it serves another client (one at a time), hangs, or is no RPC worker",
            ) from None
        except OSError as error:
            raise self._not_rpc(f"closed the connection ({error.strerror or error})") from error

    async def _exactly(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        got = b""
        while len(got) < size:
            more = await loop.sock_recv(self._sock, size - len(got))
            if not more:
                raise self._not_rpc(f"closed the connection after {len(got)} of {size} bytes")
            got += more
        return got

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
