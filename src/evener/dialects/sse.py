"""Server-sent events as the WHATWG HTML standard (9.2.6) defines them. Bytes in any cut to events; knows no JSON.

The standard ignores unknown fields. Two of them are how servers of models fail in the middle of a stream, which must
not look like a connection that was cut: a field named `error` (older llama-servers) is an event of type "error", and a
line that begins with a brace (Ollama) one of type "", which the standard gives to none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):  # not a frozen dataclass: made for every token, in a third of the time
    """`type` is "message" unless the stream named it. `data` holds the data lines, joined by newlines."""

    type: str
    data: str


class SseParser:
    """Feed it bytes, cut anywhere; it returns the events that became complete.

    An event without its blank line is never returned: the standard discards what the end of the stream cuts off.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # the unfinished line
        self._after_cr = False  # a following LF belongs to the line end that was already seen
        self._first = True
        self._type = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Event]:
        # Nearly every read of a stream is one whole event of one line: three quarters of the work saved.
        if not (self._line or self._data or self._type or self._first or self._after_cr) and _is_one_line(piece):
            return [Event("message", piece[6:-2].decode(errors="replace"))]
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        head, *lines = _LINE_END.split(piece)
        self._line += head
        events: list[Event] = []
        for line in lines:
            if event := self._end_of_line(bytes(self._line)):
                events.append(event)
            self._line = bytearray(line)
        return events

    @property
    def unfinished(self) -> str:
        """The line whose end has not come."""
        return self._line.decode(errors="replace")

    def _end_of_line(self, line: bytes) -> Event | None:
        if self._first:
            line, self._first = line.removeprefix(_BOM), False
        if not line:
            return self._dispatch()
        name, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "error":
            return Event("error", value)
        elif name.startswith("{"):
            return Event("", line.decode(errors="replace"))
        return None  # comments have no name; id and retry steer reconnection, which we never do

    def _dispatch(self) -> Event | None:
        event = Event(self._type or "message", "\n".join(self._data)) if self._data else None
        self._type, self._data = "", []
        return event


def _is_one_line(piece: bytes) -> bool:
    end = len(piece) - 2
    return piece.startswith(b"data: ") and piece.find(b"\n") == end and piece[end + 1 :] == b"\n" and b"\r" not in piece
