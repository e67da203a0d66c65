"""One HTTP/1.1 answer, read byte run by byte run as it arrives. Knows framing, and nothing of what the body means.

`ResponseReader.feed` runs in the socket callback of the load client, so it slices and counts, and decodes nothing.
RFC 9112: 1xx answers are skipped; a body ends by chunk, by length, or with the connection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Ending = Literal["complete", "cut", "timeout", "unreachable"]

LONGEST_HEAD_BYTES = 64 << 10
LONGEST_BODY_BYTES = 64 << 20  # all of it is kept until it is read: some 300,000 tokens at 200 bytes each
_DIGITS = re.compile(r"[0-9]{1,15}")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_HEAD, _LENGTH, _SIZE, _CHUNK, _TRAILER, _UNTIL_CLOSE = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what came back. Times are `time.perf_counter_ns()`.

    `sent_ns` is when the last request byte was handed to the socket, None when it never was. `pieces` are the runs of
    body bytes, each with the time its read returned. "cut": the connection ended before the answer did; "unreachable":
    no connection could be made. `connect_s` is None when an open connection was used.
    """

    ending: Ending
    sent_ns: int | None
    end_ns: int
    status: int | None = None
    headers: dict[str, str]
    pieces: list[tuple[int, bytes]]
    detail: str | None = None
    connect_s: float | None = None
    retried: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)


class ResponseReader:
    """Feed it what the socket gave; it collects `pieces` and says when the answer is `complete`.

    `fault` is one line when the bytes are not HTTP; nothing is read after it. `keep_alive` holds once complete.
    """

    __slots__ = (
        "_left", "_rest", "_room", "_skip", "_state", "complete", "fault", "headers", "keep_alive", "pieces", "status",
    )  # fmt: skip

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.pieces: list[tuple[int, bytes]] = []
        self.complete = False
        self.keep_alive = False
        self.fault: str | None = None
        self._state = _HEAD
        self._rest = b""  # the unfinished line or head
        self._left = 0  # body bytes still to come in this chunk or length
        self._skip = b""  # of the CRLF behind a chunk
        self._room = LONGEST_BODY_BYTES

    @property
    def started(self) -> bool:
        """Whether any byte has arrived."""
        return self.status is not None or bool(self._rest)

    def feed(self, at_ns: int, data: bytes) -> None:
        if self._rest:
            data, self._rest = self._rest + data, b""
        if self._state == _SIZE and (chunk := _one_chunk(data)):
            self._take(at_ns, chunk)
            return
        at, end = 0, len(data)
        while at < end and not self.complete and self.fault is None:
            if self._state in (_CHUNK, _LENGTH):
                at = self._body(at_ns, data, at)
            elif self._state == _UNTIL_CLOSE:
                self._take(at_ns, data[at:])
                return
            elif self._state == _HEAD:
                at = self._head(data, at)
            else:
                at = self._line(data, at)
        if self.complete and at < end:
            self.keep_alive = False  # bytes nobody asked for: this connection cannot be trusted again

    def forget(self) -> None:
        """Whoever reads has taken the pieces: they need not be kept, and leave room for as many more."""
        self.pieces.clear()
        self._room = LONGEST_BODY_BYTES

    def end(self) -> None:
        """The connection has ended."""
        if self._state == _UNTIL_CLOSE and self.fault is None:
            self.complete = True
        self.keep_alive = False

    def _take(self, at_ns: int, piece: bytes) -> None:
        self._room -= len(piece)
        if self._room < 0:
            self.fault = f"the answer is longer than {LONGEST_BODY_BYTES >> 20} MiB"
        else:
            self.pieces.append((at_ns, piece))

    def _body(self, at_ns: int, data: bytes, at: int) -> int:
        if self._left:
            piece = data[at : at + self._left]
            self._take(at_ns, piece)
            self._left -= len(piece)
            at += len(piece)
            if self._left or self.fault is not None:
                return at
        if self._state == _LENGTH:
            self.complete = True
            return at
        taken = data[at : at + len(self._skip)]
        if not self._skip.startswith(taken):
            self.fault = f"no end of a chunk: {taken!r}"
        self._skip = self._skip[len(taken) :]
        if not self._skip:
            self._state = _SIZE
        return at + len(taken)

    def _line(self, data: bytes, at: int) -> int:
        """A chunk size, or a line of the trailer."""
        stop = data.find(b"\r\n", at)
        if stop < 0:
            self._keep(data, at)
            return len(data)
        if self._state == _TRAILER:
            self.complete = stop == at
        elif size := _CHUNK_SIZE.fullmatch(data, at, stop):
            self._left = int(size[1], 16)
            self._skip = b"\r\n"
            self._state = _CHUNK if self._left else _TRAILER
        else:
            self.fault = f"not a chunk size: {data[at : at + 20]!r}"
        return stop + 2

    def _head(self, data: bytes, at: int) -> int:
        stop = data.find(b"\r\n\r\n", at)
        if stop < 0:
            self._keep(data, at)
            return len(data)
        first, *lines = data[at:stop].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        code = rest.partition(" ")[0]
        if not version.startswith("HTTP/1.") or len(code) != 3 or not _DIGITS.fullmatch(code):
            self.fault = f"not HTTP/1: {first[:40]!r}"
            return len(data)
        status = int(code)
        if 100 <= status < 200:  # informational: the answer is still to come
            return stop + 4
        self.status = status
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        self._frame(version)
        return stop + 4

    def _frame(self, version: str) -> None:
        connection = self.headers.get("connection", "").lower()
        self.keep_alive = "close" not in connection and (version != "HTTP/1.0" or "keep-alive" in connection)
        length = self.headers.get("content-length")
        if self.status in (204, 304):
            self.complete = True
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._state = _SIZE
        elif length is None:
            self._state = _UNTIL_CLOSE
        elif _DIGITS.fullmatch(length):
            self._state, self._left = _LENGTH, int(length)
            self.complete = self._left == 0
        else:
            self.fault = f"not a length: {length[:40]!r}"

    def _keep(self, data: bytes, at: int) -> None:
        self._rest = data[at:]
        if len(self._rest) > LONGEST_HEAD_BYTES:
            self.fault = f"no end of a line within {LONGEST_HEAD_BYTES} bytes"


def _one_chunk(data: bytes) -> bytes | None:
    """The content, where this is one whole chunk. Nearly every read of a stream is one: half of the work saved."""
    stop = data.find(b"\r\n")
    size = data[:stop]
    try:
        whole = size.isalnum() and data.endswith(b"\r\n") and len(data) == stop + int(size, 16) + 4
    except ValueError:
        return None
    return data[stop + 2 : -2] if whole else None
