"""Who may talk to the page, and how: host, origin, token, CSRF, sizes, deadlines, headers. One ASGI layer around all.

Nothing behind it is reached by a request that fails here.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "evener"
CSRF_HEADER = b"x-csrf-token"
MOST_BODY_BYTES = 8 << 20
BODY_WITHIN_S = 30.0
OPEN = ("/login", "/static/", "/style.css", "/language/")  # reached without the token
READING = ("GET", "HEAD")
HEADERS = (
    (b"content-security-policy",
     b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
     b"form-action 'self'; frame-ancestors 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`hosts` are the values of the Host header that are ours: a page of another name must not reach us through a
    resolver that lies. `token` is asked for beyond loopback, None on it. `csrf` goes into every page, and comes back
    with every change."""

    hosts: frozenset[str]
    scheme: str = "http"
    token: str | None = field(default=None, repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def is_let_in(self, cookie: str | None) -> bool:
        return self.token is None or (cookie is not None and same(cookie, self.token))


def same(a: str, b: str) -> bool:
    """In a time that says nothing about where they differ."""
    return hmac.compare_digest(a.encode(), b.encode())


class Safety:
    """The ASGI layer."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value for name, value in reversed(scope["headers"])}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        body = _Body(receive, send)
        try:
            await self._app(scope, body.receive, body.send)
        except Exception:
            if body.fault is None:  # else it is told already: the page has been cut off from a body that is none
                raise

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str, str | None] | None:
        """(status, why, where to instead); None for a request that may pass."""
        rules = self._rules
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host not in rules.hosts:
            return 421, f"nobody here is called {host or 'nothing'}", None
        path, method = scope["path"], scope["method"]
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin != f"{rules.scheme}://{host}":
            return 403, "another page must not talk to this one", None
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            return 403, "another page must not talk to this one", None
        if not path.startswith(OPEN) and not rules.is_let_in(_cookie(headers)):
            return (303, "", "/login") if method in READING else (401, "the token is needed", None)
        if method not in READING and path != "/login":
            if not origin:
                return 403, "a change says where it comes from", None
            if not same(headers.get(CSRF_HEADER, b"").decode("latin-1"), rules.csrf):
                return 403, "this page is old: reload it", None
        if int(_digits(headers.get(b"content-length", b"0"))) > MOST_BODY_BYTES:
            return 413, f"at most {MOST_BODY_BYTES >> 20} MiB", None
        return None


class _Body:
    """The request's body, bounded in size and time, and the answer with our headers."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.fault: tuple[int, bytes] | None = None  # why no more of the body is taken
        self._left = MOST_BODY_BYTES
        self._is_whole = False
        self._deadline = asyncio.get_running_loop().time() + BODY_WITHIN_S

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()  # the end of the connection, whenever that comes
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.fault = (408, b"the request did not arrive in time")
            return {"type": "http.disconnect"}
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._is_whole = not message.get("more_body", False)
            if self._left < 0:
                self.fault = (413, f"at most {MOST_BODY_BYTES >> 20} MiB".encode())
                return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if self.fault is not None:
            message = self._instead(message)
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(h for h in HEADERS if h[0] not in given)]
            if b"cache-control" not in given:
                message["headers"].append((b"cache-control", b"no-store"))
        await self._send(message)

    def _instead(self, message: Message) -> Message:
        """The fault, in the place of whatever the page makes of half a body."""
        assert self.fault is not None
        status, why = self.fault
        if message["type"] == "http.response.start":
            return {"type": message["type"], "status": status, "headers": [(b"content-type", b"text/plain")]}
        return {"type": message["type"], "body": why}


async def _answer(send: Send, status: int, why: str, to: str | None) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    headers += [(b"location", to.encode())] if to else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})


def _cookie(headers: dict[bytes, bytes]) -> str | None:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None


def _digits(value: bytes) -> str:
    return value.decode("latin-1") if value.isdigit() else "0"
