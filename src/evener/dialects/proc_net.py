"""Who listens where, from /proc/net/tcp. Knows addresses and ports, not processes."""

from __future__ import annotations

import socket
import struct

LISTEN = "0A"
ANY = "0.0.0.0"


def listening(table: str) -> frozenset[tuple[str, int]]:
    """(IPv4 address, port) of every listener. The address is little-endian hexadecimal there."""
    found = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[3] == LISTEN:
            address, _, port = fields[1].partition(":")
            found.add((socket.inet_ntoa(struct.pack("<I", int(address, 16))), int(port, 16)))
    return frozenset(found)


def is_taken(listeners: frozenset[tuple[str, int]], address: str, port: int) -> bool:
    """Whether binding address:port would meet a listener."""
    return any(p == port and (a in (address, ANY) or address == ANY) for a, p in listeners)
