"""An RPC worker that computes nothing: real sockets, a real protocol, any version, devices and bad manners.

Like ggml-rpc-server it serves one client at a time, keeps two more waiting, closes on what it does not understand, and
forgets a client's buffers when the client leaves.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from evener.dialects import rpc_wire as wire

MIB = 1 << 20
BACKLOG = 1  # as the real one
ALIGNMENT = 128
# silent: accepts and never answers. closes: accepts and leaves. garbles: changes data that is fetched.
Manners = Literal["serves", "silent", "closes", "garbles"]


class _Leaves(Exception):
    """The client is gone, or has to go: no failure of ours."""


@dataclass
class FakeWorker:
    """A context manager; `endpoint` is where it listens. `devices` holds (free, total) bytes for each device.

    `port` 0 takes a free one. `commands` records the number of every command that came.
    """

    devices: Sequence[tuple[int, int]] = ((24 << 30, 24 << 30),)
    protocol: tuple[int, int, int] = wire.PROTOCOL
    manners: Manners = "serves"
    address: str = "127.0.0.1"
    port: int = 0
    commands: list[int] = field(default_factory=list)
    _held: list[socket.socket] = field(default_factory=list)

    def __enter__(self) -> FakeWorker:
        self._listener = socket.create_server((self.address, self.port), backlog=BACKLOG)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self._listener, *self._held):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        return f"{self.address}:{self.port}"

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._held.append(client)
                if self.manners == "silent":
                    continue
                with client, suppress(OSError, _Leaves):
                    if self.manners != "closes":
                        self._serve(client)
                self._held.remove(client)

    def _serve(self, client: socket.socket) -> None:
        memory = _Memory()
        greeted = False
        while True:
            command, size = struct.unpack("<BQ", _exactly(client, wire.REQUEST_HEAD_BYTES))
            payload = _exactly(client, size)
            self.commands.append(command)
            if greeted == (command == wire.HELLO):
                raise _Leaves  # HELLO comes first, and once
            greeted = True
            said = self._answer(command, payload, memory)
            if said is not None:
                client.sendall(wire.answer(said))

    def _answer(self, command: int, payload: bytes, memory: _Memory) -> bytes | None:
        """The answer's payload, None for a command that has none."""
        match command:
            case wire.HELLO:
                return bytes((*self.protocol, 0)) + bytes(wire.CAPABILITIES_BYTES)
            case wire.DEVICE_COUNT:
                return struct.pack("<I", len(self.devices))
            case wire.GET_DEVICE_MEMORY:
                return struct.pack("<QQ", *self.devices[self._device(payload)])
            case wire.GET_ALIGNMENT:
                self._device(payload)
                return struct.pack("<Q", ALIGNMENT)
            case wire.GET_MAX_SIZE:
                return struct.pack("<Q", self.devices[self._device(payload)][1])
            case wire.ALLOC_BUFFER:
                free_bytes = self.devices[self._device(payload)][0]
                return struct.pack("<QQ", *memory.alloc(struct.unpack("<IQ", payload)[1], free_bytes))
            case wire.BUFFER_GET_BASE:
                return struct.pack("<Q", memory.base(struct.unpack("<Q", payload)[0]))
            case wire.GET_TENSOR:
                data = memory.get(payload)
                return bytes(len(data)) if self.manners == "garbles" else data
            case wire.SET_TENSOR:
                memory.set(payload)
            case wire.FREE_BUFFER:
                memory.free(struct.unpack("<Q", payload)[0])
            case _:
                raise _Leaves
        return None

    def _device(self, payload: bytes) -> int:
        (device,) = struct.unpack_from("<I", payload)
        if device >= len(self.devices):
            raise _Leaves
        return int(device)


class _Memory:
    """One client's buffers. A handle is also the buffer's base."""

    def __init__(self) -> None:
        self._buffers: dict[int, bytearray] = {}
        self._next = 1 << 40

    def alloc(self, size: int, free_bytes: int) -> tuple[int, int]:
        """(handle, size), or zeros where it does not fit."""
        if size > free_bytes - sum(map(len, self._buffers.values())):
            return 0, 0
        handle, self._next = self._next, self._next + size + MIB
        self._buffers[handle] = bytearray(size)
        return handle, size

    def base(self, handle: int) -> int:
        self._of(handle)
        return handle

    def free(self, handle: int) -> None:
        self._of(handle)
        del self._buffers[handle]

    def set(self, payload: bytes) -> None:
        buffer, start, size = self._region(payload)
        _, offset = struct.unpack_from("<BQ", payload, wire.TENSOR.size)
        data = payload[wire.TENSOR.size + 9 :]
        if offset + len(data) > size:
            raise _Leaves
        buffer[start + offset : start + offset + len(data)] = data

    def get(self, payload: bytes) -> bytes:
        buffer, start, size = self._region(payload)
        offset, wanted = struct.unpack_from("<QQ", payload, wire.TENSOR.size)
        if offset + wanted > size:
            raise _Leaves
        return bytes(buffer[start + offset : start + offset + wanted])

    def _region(self, payload: bytes) -> tuple[bytearray, int, int]:
        """(buffer, first byte, bytes) of the row of bytes that the payload's tensor names."""
        fields = wire.TENSOR.unpack_from(payload)
        handle, size, address = fields[2], fields[3], fields[-3]
        buffer = self._of(handle)
        if not 0 <= address - handle <= len(buffer) - size:
            raise _Leaves
        return buffer, address - handle, size

    def _of(self, handle: int) -> bytearray:
        if handle not in self._buffers:
            raise _Leaves
        return self._buffers[handle]


def _exactly(client: socket.socket, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        more = client.recv(min(MIB, size - len(got)))
        if not more:
            raise _Leaves
        got += more
    return bytes(got)
