"""The best cut of a model's slots over devices in a given order: exact, by dynamic programming. Pure.

Knows neither bytes nor milliseconds: the caller says what a run of slots costs on a device, and whether it fits.
A device may get nothing, and then costs nothing. Who takes the first slot and who takes the last is part of a run,
so the extra inputs of the first device and the logits of the last are the caller's to charge.

Times of decoding add up over devices: `least_sum`. A prompt overlaps across endpoints, its micro-batches limited by
the slower of the last device and all earlier ones together: `least_overlap` (engine-facts F.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Cost = Callable[[int, int, int], float | None]  # (device, first slot, slot after the last) -> cost, None: does not fit


@dataclass(frozen=True, slots=True)
class Cut:
    """Slots per device, in order, and what they cost together."""

    counts: tuple[int, ...]
    cost: float


def least_sum(slots: int, devices: int, cost: Cost) -> Cut | None:
    """The cut whose costs add up to the least; None when nothing fits."""
    best = _prefixes(slots, devices, cost)
    return _cut(best, devices, slots) if best[devices][slots] is not None else None


def least_overlap(slots: int, devices: int, cost: Cost, *, batches: int) -> Cut | None:
    """The cut of the least `batches * max(last, sum of the earlier) + last`."""
    best = _prefixes(slots, devices, cost)
    found: tuple[float, int, int] | None = None
    for device in range(devices):
        for start in range(slots):
            before, own = best[device][start], cost(device, start, slots)
            if before is None or own is None:
                continue
            total = batches * max(own, before[0]) + own
            if found is None or total < found[0]:
                found = total, device, start
    if found is None:
        return None
    total, device, start = found
    earlier = _cut(best, device, start).counts
    return Cut(counts=(*earlier, slots - start, *(0,) * (devices - device - 1)), cost=total)


_Table = list[list[tuple[float, int] | None]]  # [devices used][slots placed] -> (least cost, slots placed before)


def _prefixes(slots: int, devices: int, cost: Cost) -> _Table:
    table: _Table = [[(0.0, 0), *[None] * slots]]
    for device in range(devices):
        before = table[-1]
        row = [None if entry is None else (entry[0], placed) for placed, entry in enumerate(before)]
        for start, entry in enumerate(before):
            if entry is None:
                continue
            for stop in range(start + 1, slots + 1):
                own = cost(device, start, stop)
                if own is None:
                    break  # more slots fit even less
                if (other := row[stop]) is None or entry[0] + own < other[0]:
                    row[stop] = entry[0] + own, start
        table.append(row)
    return table


def _cut(table: _Table, devices: int, slots: int) -> Cut:
    counts: list[int] = []
    placed = slots
    for device in range(devices, 0, -1):
        entry = table[device][placed]
        assert entry is not None
        counts.append(placed - entry[1])
        placed = entry[1]
    last = table[devices][slots]
    assert last is not None
    return Cut(counts=tuple(reversed(counts)), cost=last[0])
