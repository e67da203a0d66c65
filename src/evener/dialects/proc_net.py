"""Who listens where, from /proc/net/tcp. Knows addresses and ports, not processes."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

LISTEN = "0A"
ANY = "0.0.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who listens. `inode` names the socket, and thereby the process that holds it."""

    address: str
    port: int
    inode: int


def listeners(table: str) -> tuple[Listener, ...]:
    """Every IPv4 listener. The address is little-endian hexadecimal there."""
    found = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == LISTEN:
            address, _, port = fields[1].partition(":")
            text = socket.inet_ntoa(struct.pack("<I", int(address, 16)))
            found.append(Listener(address=text, port=int(port, 16), inode=int(fields[9])))
    return tuple(found)


def listening(table: str) -> frozenset[tuple[str, int]]:
    """(IPv4 address, port) of every listener."""
    return frozenset((one.address, one.port) for one in listeners(table))


def is_taken(listeners: frozenset[tuple[str, int]], address: str, port: int) -> bool:
    """Whether binding address:port would meet a listener."""
    return any(p == port and (a in (address, ANY) or address == ANY) for a, p in listeners)
