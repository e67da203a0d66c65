"""What llama-server says of its slots: `/metrics` (Prometheus text) and `/slots` (JSON). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

PREFIX = "llamacpp:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsSeen:
    """One look. `busy_total` / `decodes` are counted since the server began: their growth is the mean of a time."""

    busy: int  # slots that process now
    deferred: int | None  # requests that wait for a slot; /slots does not say
    busy_total: float | None = None
    decodes: float | None = None


def from_metrics(text: str) -> SlotsSeen | None:
    """None when it is not llama-server's."""
    found = values(text)
    busy, deferred = found.get("requests_processing"), found.get("requests_deferred")
    if busy is None:
        return None
    mean, decodes = found.get("n_busy_slots_per_decode"), found.get("n_decode_total")
    return SlotsSeen(
        busy=int(busy),
        deferred=None if deferred is None else int(deferred),
        busy_total=None if mean is None or decodes is None else mean * decodes,
        decodes=decodes,
    )


def from_slots(text: str) -> SlotsSeen | None:
    """None when it is no list of slots."""
    try:
        slots = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(slots, list) or not all(isinstance(slot, dict) and "is_processing" in slot for slot in slots):
        return None
    return SlotsSeen(busy=sum(bool(slot["is_processing"]) for slot in slots), deferred=None)


def values(text: str) -> dict[str, float]:
    """Name without its prefix -> value, of everything that is llama-server's and a number."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.startswith(PREFIX):
            try:
                found[name.removeprefix(PREFIX)] = float(value)
            except ValueError:
                continue
    return found
