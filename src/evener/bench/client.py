"""The load client: HTTP/1.1 straight on the socket, stamps in the socket callback, nothing parsed while streams run.

Knows connections, deadlines and time; knows nothing of models or tokens. Why not aiohttp: docs/decisions/0004.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from evener.dialects.http1 import Ending, Exchange, ResponseReader
from evener.errors import ConfigurationError

CONNECT_WITHIN_S = 10.0
now_ns = time.perf_counter_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrl:
    """Where an OpenAI-compatible server lives. `prefix` is the path before `/v1`, without a trailing slash."""

    secure: bool
    host: str
    port: int
    prefix: str = ""

    @property
    def authority(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}"

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.prefix}"


def base_url(text: str) -> BaseUrl:
    """Read what people type: `host:port`, a base URL, one that ends in `/v1`, or a whole endpoint.

    Raises ConfigurationError for another scheme, a missing host, a bad port, or credentials inside the URL.
    """
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        port = parts.port
    except ValueError as error:
        raise ConfigurationError(f"{text}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{text}: not an http or https URL", hint="e.g. http://127.0.0.1:8080")
    if "@" in parts.netloc:
        raise ConfigurationError(
            "the URL holds credentials, which would end in logs",
            hint="put the key in a variable and name it: --api-key-env",
        )
    prefix = parts.path.rstrip("/")
    for tail in ("/chat/completions", "/completions", "/models", "/v1"):
        prefix = prefix.removesuffix(tail)
    secure = parts.scheme == "https"
    return BaseUrl(secure=secure, host=parts.hostname, port=port or (443 if secure else 80), prefix=prefix.rstrip("/"))


class Line:
    """One user's line to the server: at most one connection, kept open, opened again when it was closed.

    A server that hangs up between two requests is asked again, and from then on gets a new connection each time.

    Use as an async context manager, or call `close()`. One exchange at a time.
    """

    def __init__(self, url: BaseUrl, *, api_key: str | None = None) -> None:
        self._url = url
        self._wire: _Wire | None = None
        self._reuses = True
        self._head = f"Host: {url.authority}\r\nUser-Agent: evener\r\nAccept-Encoding: identity\r\n"
        if api_key:
            self._head += f"Authorization: Bearer {api_key}\r\n"

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._wire is not None:
            self._wire.abort()
            self._wire = None

    @property
    def so_far(self) -> Sequence[tuple[int, bytes]]:
        """What has come of the answer in flight, or of the last one: when, and the bytes."""
        return self._wire.reader.pieces if self._wire is not None else ()

    def give_up(self, why: str) -> None:
        """End the exchange in flight, if there is one: its ending is "timeout", and what came of it is kept."""
        if self._wire is not None:
            self._wire.give_up(why)

    async def open(self) -> float | None:
        """Connect unless connected. Seconds it took, None when the line was open. Raises OSError or TimeoutError."""
        if self._wire is not None and not self._wire.lost:
            return None
        begun = now_ns()
        async with asyncio.timeout(CONNECT_WITHIN_S):
            _, self._wire = await asyncio.get_running_loop().create_connection(
                _Wire, self._url.host, self._url.port, ssl=trusted() if self._url.secure else None
            )
        return (now_ns() - begun) / 1e9

    async def get(self, path: str, *, within_s: float) -> Exchange:
        return await self._exchange(f"GET {self._url.prefix}{path} HTTP/1.1\r\n{self._head}\r\n".encode(), within_s)

    async def post(self, path: str, body: bytes, *, within_s: float) -> Exchange:
        """Send JSON. Never raises for what the network does: the exchange says how it ended."""
        head = (
            f"POST {self._url.prefix}{path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return await self._exchange(head.encode() + body, within_s)

    async def _exchange(self, request: bytes, within_s: float) -> Exchange:
        kept = self._wire
        first = await self._once(request, within_s, retried=False)
        reused = kept if first.connect_s is None else None
        # A server may close an idle connection just as we use it. No byte came back, so nothing was lost: ask again.
        if first.ending == "cut" and reused is not None and not reused.reader.started:
            self._reuses = False  # llama-server promises keep-alive and hangs up after each stream: learn it once
            return await self._once(request, within_s, retried=True)
        return first

    async def _once(self, request: bytes, within_s: float, *, retried: bool) -> Exchange:
        try:
            connect_s = await self.open()
        except (OSError, TimeoutError) as error:
            return Exchange(
                ending="unreachable", sent_ns=None, end_ns=now_ns(), headers={}, pieces=[], detail=_why(error)
            )
        wire = self._wire
        assert wire is not None
        try:
            ending, detail = await wire.exchange(request, within_s)
        except BaseException:
            self.close()  # half an answer is in flight: the server is to stop, and nobody may reuse the line
            raise
        if not (wire.reader.keep_alive and self._reuses):
            self.close()
        return Exchange(
            ending=ending,
            sent_ns=wire.sent_ns,
            end_ns=wire.end_ns,
            status=wire.reader.status,
            headers=wire.reader.headers,
            pieces=wire.reader.pieces,
            detail=detail,
            connect_s=connect_s,
            retried=retried,
        )


@cache
def trusted() -> ssl.SSLContext:
    """One for all lines: reading the certificates that this machine trusts takes 20 ms each time."""
    return ssl.create_default_context()


class _Wire(asyncio.Protocol):
    """One connection. Each read is stamped before anything else is done with it."""

    def __init__(self) -> None:
        self.lost = False
        self.reader = ResponseReader()
        self.sent_ns: int | None = None
        self.end_ns = 0
        self._transport: asyncio.Transport | None = None
        self._ended: asyncio.Future[tuple[Ending, str | None]] | None = None

    async def exchange(self, request: bytes, within_s: float) -> tuple[Ending, str | None]:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self.reader, self.sent_ns = ResponseReader(), None
        self._ended = loop.create_future()
        deadline = loop.call_later(within_s, self._finish, "timeout", f"no end within {within_s:g} s")
        try:
            self._transport.write(request)
            if self._transport.get_write_buffer_size() == 0:
                self.sent_ns = now_ns()  # else resume_writing() stamps, when the last byte has gone
            return await self._ended
        finally:
            deadline.cancel()
            self._ended = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self.lost = True

    def give_up(self, why: str) -> None:
        self._finish("timeout", why)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=0)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        at_ns = now_ns()
        if self._ended is None:  # a farewell nobody asked for, such as 408 on an idle connection
            self.abort()
            return
        reader = self.reader
        reader.feed(at_ns, data)
        if reader.complete:
            self._finish("complete", None, at_ns)
        elif reader.fault is not None:
            self._finish("cut", reader.fault, at_ns)

    def resume_writing(self) -> None:
        if self.sent_ns is None:
            self.sent_ns = now_ns()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self.reader.end()
        if self.reader.complete:
            self._finish("complete", None)
        else:
            self._finish("cut", _why(error) if error else "the server closed the connection")

    def _finish(self, ending: Ending, detail: str | None, at_ns: int | None = None) -> None:
        if self._ended is None or self._ended.done():
            return
        self.end_ns = at_ns or now_ns()
        if ending != "complete":
            self.reader.keep_alive = False
        self._ended.set_result((ending, detail))


def _why(error: BaseException) -> str:
    """One line for a connection that failed. asyncio words refusals by the call, and several addresses as a list."""
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_WITHIN_S:g} s"
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return "connection refused"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
