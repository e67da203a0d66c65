"""Which slot goes to which device: llama.cpp's own rule, and the counts we choose. Pure; knows no host.

A slot is a block, or the output head, which comes last. Source: src/llama-model.cpp, build 11434; checked against
the engine's own "layer N assigned to device X" lines.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def assign(slots: int, split: Sequence[float]) -> tuple[int, ...]:
    """The device index of each slot for `--tensor-split split` when all slots are offloaded.

    Slot s goes to the first device whose cumulative share exceeds s/slots, in 32-bit floats as the engine does it.
    """
    running = list(accumulate((_f32(v) for v in split), lambda a, b: _f32(a + b)))
    shares = [_f32(value / running[-1]) for value in running]
    return tuple(bisect_right(shares, _f32(s / slots)) for s in range(slots))


def counts(assigned: Sequence[int], devices: int) -> tuple[int, ...]:
    return tuple(list(assigned).count(d) for d in range(devices))


def _f32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def fill(slot_bytes: Sequence[int], room_bytes: Sequence[int]) -> tuple[int, ...] | None:
    """Slots per device, in order, so that the fullest device is as empty as possible; None when they do not fit.

    `slot_bytes` is what each slot holds (weights and caches), `room_bytes` what each device has left for slots.
    Fills every device to one common share of its room, the smallest that places all slots.
    """
    if (best := _fill_to(1.0, slot_bytes, room_bytes)) is None:
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if (found := _fill_to(middle, slot_bytes, room_bytes)) is None:
            low = middle
        else:
            best, high = found, middle
    return best


def _fill_to(share: float, slot_bytes: Sequence[int], room_bytes: Sequence[int]) -> tuple[int, ...] | None:
    placed, result = 0, []
    for room in room_bytes:
        start, used = placed, 0
        while placed < len(slot_bytes) and used + slot_bytes[placed] <= room * share:
            used += slot_bytes[placed]
            placed += 1
        result.append(placed - start)
    return tuple(result) if placed == len(slot_bytes) else None
