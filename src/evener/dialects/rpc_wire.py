"""llama.cpp's RPC protocol on the wire: the few commands of a visit. Knows no socket.

Request: u8 command | u64 size | payload. Response: u64 size | payload, only for commands that answer.
Little-endian, packed. Source: ggml/include/ggml-rpc.h and ggml/src/ggml-rpc/ggml-rpc.cpp, protocol 7.0.0.
"""

from __future__ import annotations

import struct

PROTOCOL = (7, 0, 0)  # what our engine build speaks
GET_DEVICE_MEMORY, HELLO, DEVICE_COUNT = 11, 14, 15

CAPABILITIES_BYTES = 24  # all zero: plain TCP, no RDMA
HELLO_ANSWER_BYTES = 4 + CAPABILITIES_BYTES
SIZE_BYTES = 8
LONGEST_ANSWER_BYTES = 64  # of the commands above; a larger claim is not RPC


def request(command: int, payload: bytes = b"") -> bytes:
    return struct.pack("<BQ", command, len(payload)) + payload


def hello() -> bytes:
    """The first command of every connection; a second one closes it."""
    return request(HELLO, bytes(CAPABILITIES_BYTES))


def device_count() -> bytes:
    return request(DEVICE_COUNT)


def device_memory(device: int) -> bytes:
    return request(GET_DEVICE_MEMORY, struct.pack("<I", device))


def answer_size(head: bytes) -> int:
    """Payload bytes that follow the eight bytes of `head`."""
    return int(struct.unpack("<Q", head)[0])


def read_version(payload: bytes) -> tuple[int, int, int]:
    """(major, minor, patch) from the answer to `hello`."""
    return payload[0], payload[1], payload[2]


def read_count(payload: bytes) -> int:
    return int(struct.unpack("<I", payload)[0])


def read_memory(payload: bytes) -> tuple[int, int]:
    """(free, total) in bytes."""
    free, total = struct.unpack("<QQ", payload)
    return int(free), int(total)


def compatible(server: tuple[int, int, int], client: tuple[int, int, int] = PROTOCOL) -> bool:
    """The engine's own rule: same major, and the server's minor is not newer. Patch is never compared."""
    return server[0] == client[0] and server[1] <= client[1]


def dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))
