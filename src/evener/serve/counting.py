"""How many tokens an answer took, read from its end as it passes. Pure; nothing of what it says is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TAIL_BYTES = 8 << 10  # of a stream: its last event holds the counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Tokens as the engine counted them."""

    prompt: int
    output: int


def in_stream(tail: bytes) -> Counted | None:
    """The counts at the end of a stream of events; None where none of them has any."""
    return next((found for event in _events_backwards(tail) if (found := _in(event))), None)


def in_whole(body: bytes) -> Counted | None:
    """The counts of an answer in one piece."""
    return _in(body)


def _events_backwards(tail: bytes) -> Iterator[bytes]:
    for line in reversed(tail.split(b"\n")):
        if line.startswith(b"data:") and (b'"usage"' in line or b'"timings"' in line):
            yield line[5:]


def _in(text: bytes) -> Counted | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    usage, timings = _table(data, "usage"), _table(data, "timings")
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    output = _count(usage, "completion_tokens", "output_tokens")
    if prompt is None and timings:
        read, kept = _count(timings, "prompt_n"), _count(timings, "cache_n")
        prompt, output = None if read is None else read + (kept or 0), _count(timings, "predicted_n")
    return None if prompt is None else Counted(prompt=prompt, output=output or 0)


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _count(table: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = table.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
