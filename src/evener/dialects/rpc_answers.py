"""What an RPC worker answers, for workers that only pretend to hold anything. Knows no socket; keeps no byte.

Enough for a dry run (`llama-fit-params`, `--list-devices`, loads without allocation). Sizes are answered as the kind
of card would: ggml_backend_*_buffer_type_get_alloc_size, build 11434.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from evener.dialects import rpc_wire as wire
from evener.dialects.gguf_types import TENSOR_TYPES

SET_TENSOR_HASH, COPY_TENSOR, GET_ALLOC_SIZE = 7, 9, 13
UNANSWERED = frozenset({4, 5, 6, 10, 12, 16, 17})  # free, clear, set, compute, init, recompute, memset
PAGE_BYTES = 4096
LARGEST_BYTES = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PretendDevice:
    """A device of a stand-in worker. `row_elements` is what the last row of a quantised tensor is filled up to."""

    free_bytes: int
    total_bytes: int
    alignment: int = 128
    row_elements: int = 512


def pretend(kind: str, free_bytes: int, total_bytes: int) -> PretendDevice:
    """A device of a card's kind: CUDA aligns to 128 and pads rows, a CPU aligns to 32 and does not."""
    if kind == "cpu":
        return PretendDevice(free_bytes=free_bytes, total_bytes=total_bytes, alignment=32, row_elements=1)
    return PretendDevice(free_bytes=free_bytes, total_bytes=total_bytes)


@dataclass(slots=True, kw_only=True)
class Answers:
    """One client's session with a pretending worker of protocol 7."""

    devices: Sequence[PretendDevice]
    version: tuple[int, int, int] = wire.PROTOCOL
    _next: int = field(default=1 << 40, init=False)

    def answer(self, command: int, payload: bytes) -> bytes | None:
        """The answer with its size in front, None for a command without one.

        Raises ValueError for a command or device that does not exist: a real worker closes the connection.
        """
        if command in UNANSWERED:
            return None
        return wire.answer(self._payload(command, payload))

    def _payload(self, command: int, payload: bytes) -> bytes:
        if command == wire.HELLO:
            return bytes([*self.version, 0]) + bytes(wire.CAPABILITIES_BYTES)
        if command == wire.DEVICE_COUNT:
            return struct.pack("<I", len(self.devices))
        if command == wire.GET_DEVICE_MEMORY:
            device = self._device(payload)
            return struct.pack("<QQ", device.free_bytes, device.total_bytes)
        if command == wire.GET_ALIGNMENT:
            return struct.pack("<Q", self._device(payload).alignment)
        if command == wire.GET_MAX_SIZE:
            return struct.pack("<Q", LARGEST_BYTES)
        if command == GET_ALLOC_SIZE:
            return struct.pack("<Q", alloc_bytes(payload[4 : 4 + wire.TENSOR.size], self._device(payload).row_elements))
        return self._buffers(command, payload)

    def _buffers(self, command: int, payload: bytes) -> bytes:
        if command == wire.ALLOC_BUFFER:
            _device, size = struct.unpack("<IQ", payload)
            handle, self._next = self._next, self._next + size + PAGE_BYTES - size % PAGE_BYTES
            return struct.pack("<QQ", handle, size)
        if command == wire.BUFFER_GET_BASE:
            return payload  # where a pretended buffer begins is what it is called
        if command == wire.GET_TENSOR:
            return bytes(struct.unpack_from("<Q", payload, wire.TENSOR.size + 8)[0])
        if command in (SET_TENSOR_HASH, COPY_TENSOR):
            return b"\1"
        raise ValueError(f"no such command: {command}")

    def _device(self, payload: bytes) -> PretendDevice:
        index = int(struct.unpack_from("<I", payload)[0])
        if index >= len(self.devices):
            raise ValueError(f"no such device: {index}")
        return self.devices[index]


def alloc_bytes(tensor: bytes, row_elements: int) -> int:
    """What a tensor takes: ggml_nbytes, and for a quantised one the padding of its last row."""
    fields = wire.TENSOR.unpack(tensor)
    kind = TENSOR_TYPES.get(fields[1])
    elements: tuple[int, ...] = fields[3:7]
    strides: tuple[int, ...] = fields[7:11]
    if kind is None or kind.block == 1:
        size = kind.block_bytes if kind else 4
        return size + sum((n - 1) * stride for n, stride in zip(elements, strides, strict=True))
    size = elements[0] * strides[0] // kind.block
    size += sum((n - 1) * stride for n, stride in zip(elements[1:], strides[1:], strict=True))
    return size + -elements[0] % row_elements // kind.block * kind.block_bytes
