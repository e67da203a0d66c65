"""Open the page: uvicorn on one address, until it is told to end."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from evener.errors import ConfigurationError, PortTaken
from evener.web import app
from evener.web.safety import Rules

ENDS_WITHIN_S = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the page is. `tls`: certificate and key. `open_in_clear`: a token may cross the network unencrypted."""

    host: str = "127.0.0.1"
    port: int = 8190
    tls: tuple[Path, Path] | None = None
    open_in_clear: bool = False
    names: tuple[str, ...] = ()  # by which browsers may call it, beside its address

    @property
    def is_loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def rules_of(place: Place, port: int) -> Rules:
    """Raises ConfigurationError for a page that would be open to the network, or talk to it in the clear unasked."""
    if not place.is_loopback and place.tls is None and not place.open_in_clear:
        raise ConfigurationError(
            f"{place.host}: the page would be reached over the network without encryption",
            hint="--tls-cert and --tls-key, or ssh -L to loopback; --in-the-clear where the network is yours alone",
        )
    names = {place.host, *place.names, *(("localhost", "127.0.0.1", "[::1]") if place.is_loopback else ())}
    hosts = frozenset(f"{name.lower()}:{port}" for name in names) | frozenset(name.lower() for name in place.names)
    return Rules(
        hosts=hosts,
        scheme="https" if place.tls else "http",
        token=None if place.is_loopback else secrets.token_urlsafe(24),
    )


async def serve(
    rig: str | None, place: Place, *, language: str | None = None, on_open: Callable[[str, str | None], None]
) -> None:
    """Until cancelled. `on_open` gets the URL and the token, when it is reached. Raises PortTaken."""
    with _listening(place) as listener:
        port = listener.getsockname()[1]
        rules = rules_of(place, port)
        config = uvicorn.Config(
            app.create(rig=rig, rules=rules, language=language),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=ENDS_WITHIN_S,
            h11_max_incomplete_event_size=64 << 10,
            ssl_certfile=str(place.tls[0]) if place.tls else None,
            ssl_keyfile=str(place.tls[1]) if place.tls else None,
        )
        server = _Server(config)
        on_open(f"{rules.scheme}://{place.host}:{port}/", rules.token)
        try:
            await server.serve(sockets=[listener])
        except asyncio.CancelledError:
            server.should_exit = True
            with suppress(asyncio.CancelledError):
                await server.shutdown(sockets=[listener])


class _Server(uvicorn.Server):
    """Signals are the command line's: it cancels."""

    def capture_signals(self):  # type: ignore[no-untyped-def]
        from contextlib import nullcontext

        return nullcontext()


def _listening(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((place.host, place.port))
        listener.listen()  # whoever is told the URL may come at once
    except OSError as error:
        listener.close()
        raise PortTaken(f"{place.host}:{place.port}: {error.strerror or error}", hint="--port names another") from None
    return listener
