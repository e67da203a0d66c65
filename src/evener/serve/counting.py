"""How many tokens an answer took, read from its end as it passes. Pure; nothing of what it says is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

TAIL_BYTES = 8 << 10  # of a stream: its last event holds the counts
NAMES = ("usage", "timings")  # of the tables, the better one first
OUTPUT = ("completion_tokens", "output_tokens", "predicted_n")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Tokens as the engine counted them."""

    prompt: int
    output: int


def in_stream(head: bytes, tail: bytes) -> Counted | None:
    """The counts in a stream of events, of which the first bytes and the last ones are known; None where nobody counts.

    An event may be longer than the tail, so tables are looked for and not events. In a string their names would be
    escaped.
    """
    text = [part.decode(errors="replace") for part in (tail, head)]
    return _counted([table for name in NAMES for part in text for table in _tables_backwards(part, name)])


def in_whole(body: bytes) -> Counted | None:
    """The counts of an answer in one piece. One without an output has none, as embeddings do."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    tables = [data.get(name) for name in NAMES] if isinstance(data, dict) else []
    return _counted([*(table for table in tables if isinstance(table, dict)), {"output_tokens": 0}])


def _tables_backwards(text: str, name: str) -> Iterator[dict[str, Any]]:
    end = len(text)
    while (end := text.rfind(f'"{name}":', 0, end)) >= 0:
        rest = text[end + len(name) + 3 :].lstrip(" ")
        try:
            found, _ = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _counted(tables: Sequence[dict[str, Any]]) -> Counted | None:
    """The first that say so: one may know the prompt and another the output."""
    prompt = next((count for table in tables if (count := _prompt(table)) is not None), None)
    output = next((count for table in tables if (count := _count(table, *OUTPUT)) is not None), None)
    return None if prompt is None or output is None else Counted(prompt=prompt, output=output)


def _prompt(table: dict[str, Any]) -> int | None:
    """All of it: `/v1/messages` and timings tell what was cached apart."""
    read = _count(table, "prompt_tokens", "input_tokens", "prompt_n")
    return None if read is None else read + (_count(table, "cache_read_input_tokens", "cache_n") or 0)


def _count(table: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = table.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
