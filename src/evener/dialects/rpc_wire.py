"""llama.cpp's RPC protocol on the wire: the commands of a visit and of a measurement. Knows no socket.

Request: u8 command | u64 size | payload. Response: u64 size | payload, only for commands that answer.
Little-endian, packed. Source: ggml/include/ggml-rpc.h and ggml/src/ggml-rpc/ggml-rpc.cpp, protocol 7.0.0.
"""

from __future__ import annotations

import struct

PROTOCOL = (7, 0, 0)  # what our engine build speaks
ALLOC_BUFFER, GET_ALIGNMENT, GET_MAX_SIZE, BUFFER_GET_BASE, FREE_BUFFER = 0, 1, 2, 3, 4
SET_TENSOR, GET_TENSOR, GET_DEVICE_MEMORY, HELLO, DEVICE_COUNT = 6, 8, 11, 14, 15

CAPABILITIES_BYTES = 24  # all zero: plain TCP, no RDMA
HELLO_ANSWER_BYTES = 4 + CAPABILITIES_BYTES
SIZE_BYTES = 8
REQUEST_HEAD_BYTES = 1 + SIZE_BYTES
I8 = 24  # ggml_type of a byte
# id, type, buffer, ne[4], nb[4], op, op_params[16], flags, src[10], view_src, view_offs, data, name[64], use_count
TENSOR = struct.Struct("<QIQ4I4II16ii10QQQQ64si")


def request(command: int, payload: bytes = b"") -> bytes:
    return struct.pack("<BQ", command, len(payload)) + payload


def hello() -> bytes:
    """The first command of every connection; a second one closes it."""
    return request(HELLO, bytes(CAPABILITIES_BYTES))


def device_count() -> bytes:
    return request(DEVICE_COUNT)


def device_memory(device: int) -> bytes:
    return request(GET_DEVICE_MEMORY, struct.pack("<I", device))


def alloc(device: int, size: int) -> bytes:
    """Answered by `read_buffer`."""
    return request(ALLOC_BUFFER, struct.pack("<IQ", device, size))


def buffer_base(buffer: int) -> bytes:
    """Answered by eight bytes: the address at which the buffer's first byte lives."""
    return request(BUFFER_GET_BASE, struct.pack("<Q", buffer))


def free(buffer: int) -> bytes:
    """Not answered."""
    return request(FREE_BUFFER, struct.pack("<Q", buffer))


def region(buffer: int, base: int, size: int) -> bytes:
    """The first `size` bytes of a buffer as a row of bytes. One larger than its buffer kills the server."""
    row = (size, 1, 1, 1)
    strides = (1, size, size, size)
    return TENSOR.pack(1, I8, buffer, *row, *strides, 0, *(0,) * 16, 0, *(0,) * 10, 0, 0, base, b"evener", 0)


def set_tensor_head(tensor: bytes, size: int) -> bytes:
    """What stands before the `size` bytes of data. Not answered; commands run in order: a later answer is a fence."""
    payload = tensor + struct.pack("<BQ", 0, 0)  # no cache, from offset 0
    return struct.pack("<BQ", SET_TENSOR, len(payload) + size) + payload


def get_tensor(tensor: bytes, size: int) -> bytes:
    """Answered by `size` bytes of data."""
    return request(GET_TENSOR, tensor + struct.pack("<QQ", 0, size))


def answer(payload: bytes) -> bytes:
    """What a server sends back."""
    return struct.pack("<Q", len(payload)) + payload


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


def read_buffer(payload: bytes) -> int | None:
    """The handle of a new buffer, None where the server could not allocate it."""
    handle, _size = struct.unpack("<QQ", payload)
    return int(handle) or None


def read_number(payload: bytes) -> int:
    return int(struct.unpack("<Q", payload)[0])


def compatible(server: tuple[int, int, int], client: tuple[int, int, int] = PROTOCOL) -> bool:
    """The engine's own rule: same major, and the server's minor is not newer. Patch is never compared."""
    return server[0] == client[0] and server[1] <= client[1]


def dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))
