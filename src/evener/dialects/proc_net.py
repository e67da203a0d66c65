"""Who listens where, from /proc/net/tcp and tcp6. Knows addresses and ports, not processes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN, ESTABLISHED = "0A", "01"
ANY = ("0.0.0.0", "::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who listens. `inode` names the socket, and thereby the process that holds it."""

    address: str
    port: int
    inode: int


def listeners(*tables: str) -> tuple[Listener, ...]:
    """Every listener of these tables. Addresses there are hexadecimal words in the machine's byte order."""
    return tuple(_sockets(tables, LISTEN))


def served(*tables: str) -> frozenset[int]:
    """Ports whose listener has accepted a client that is still there; one that waits in the queue has no inode yet."""
    return frozenset(one.port for one in _sockets(tables, ESTABLISHED) if one.inode)


def reached(*tables: str) -> frozenset[tuple[str, int]]:
    """(address, port) of the far end of every connection."""
    return frozenset((one.address, one.port) for one in _sockets(tables, ESTABLISHED, end=2))


def _sockets(tables: Iterable[str], state: str, *, end: int = 1) -> Iterator[Listener]:
    """Sockets in a state, each by its near end (1) or its far end (2)."""
    for table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == state:
                address, _, port = fields[end].partition(":")
                yield Listener(address=_address(address), port=int(port, 16), inode=int(fields[9]))


def _address(words: str) -> str:
    raw = b"".join(struct.pack("<I", int(words[i : i + 8], 16)) for i in range(0, len(words), 8))
    if len(raw) == 4:
        return socket.inet_ntoa(raw)
    if raw[:12] == bytes(10) + b"\xff\xff":  # an IPv4 address in IPv6 clothes
        return socket.inet_ntoa(raw[12:])
    return socket.inet_ntop(socket.AF_INET6, raw)


def listening(*tables: str) -> frozenset[tuple[str, int]]:
    """(address, port) of every listener."""
    return frozenset((one.address, one.port) for one in listeners(*tables))


def is_taken(listeners: frozenset[tuple[str, int]], address: str, port: int) -> bool:
    """Whether binding address:port would meet a listener. "::" is taken to serve IPv4 too, as it does by default."""
    return any(p == port and (a == address or a in ANY or address in ANY) for a, p in listeners)
