"""Has a level changed between the first and the last third of a series that remembers itself? Standard library only.

Neighbouring values of a speed are alike, so they are no independent sample: each third is cut into blocks that are
longer than the series remembers, and the blocks' means are compared by all permutations. No distribution is assumed.
Slow swings as long as a whole third cannot be told from a change by anybody, and are not here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from evener.stats.intervals import Interval

MOST_BLOCKS = 8  # 12870 permutations; more blocks gain little
LEAST_BLOCKS = 4  # 70: fewer cannot reach 5 %
MEMORIES = 4.0  # a block is so many times as long as the series remembers


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Last third less first, in the unit of the values. `block` is the length of a block in values."""

    first: float
    last: float
    interval: Interval
    p_value: float
    blocks: int
    block: int

    @property
    def difference(self) -> float:
        return self.last - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class TooShort:
    """Why nothing can be said: the series has `values`, and would need about `needed` to have enough blocks."""

    values: int
    needed: int


def change(values: Sequence[float], *, confidence: float = 0.95) -> Change | TooShort:
    """First third against last, with an interval that holds under dependence within a block's length.

    The interval comes from all ways to exchange blocks between the thirds (Hartigan's typical values, 1969): it is
    exact for blocks that may be exchanged, and excludes zero exactly when `p_value` (two-sided) says so.
    """
    third = len(values) // 3
    least = max(1, math.ceil(MEMORIES * memory(values))) if third > 1 else 1
    blocks = min(MOST_BLOCKS, third // least)
    if blocks < LEAST_BLOCKS:
        return TooShort(values=len(values), needed=3 * LEAST_BLOCKS * least)
    block = third // blocks
    first = _means(values[: blocks * block], block)
    last = _means(values[len(values) - blocks * block :], block)
    shifts = sorted(_shifts(first, last))
    every = len(shifts) + 1
    leave = math.floor((1 - confidence) / 2 * every)
    below = sum(shift <= 0 for shift in shifts) + 1
    above = sum(shift >= 0 for shift in shifts) + 1
    return Change(
        first=sum(first) / blocks,
        last=sum(last) / blocks,
        interval=(shifts[leave - 1], shifts[-leave]),
        p_value=min(1.0, 2 * min(below, above) / every),
        blocks=blocks,
        block=block,
    )


def memory(values: Sequence[float]) -> float:
    """How many values count as one independent one: 1 + 2 x the sum of autocorrelations, at least 1.

    Each third is taken around its own mean, so that a change of level is not memory. Correlations are summed in pairs
    while a pair is positive (Geyer 1992, initial positive sequence).
    """
    third = len(values) // 3
    thirds = [values[i * third : (i + 1) * third] for i in range(3)]
    centred = [[v - sum(part) / third for v in part] for part in thirds]
    variance = sum(v * v for part in centred for v in part)
    if variance == 0:
        return 1.0

    def at(lag: int) -> float:
        return sum(a * b for part in centred for a, b in zip(part, part[lag:], strict=False)) / variance

    total, lag = 0.0, 1
    while lag < third - 1 and (pair := at(lag - 1) + at(lag)) > 0:
        total += pair
        lag += 2
    return max(1.0, 2 * total - 1)


def _means(values: Sequence[float], size: int) -> list[float]:
    return [sum(values[i : i + size]) / size for i in range(0, len(values), size)]


def _shifts(first: Sequence[float], last: Sequence[float]) -> list[float]:
    """For each way to exchange blocks, the shift at which the exchange would change nothing: the mean of the blocks
    that go one way less the mean of those that go the other."""
    both = [*first, *last]
    whole, found = sum(last), []
    for chosen in combinations(range(len(both)), len(first)):  # the blocks called "last"
        gone = sum(i < len(first) for i in chosen)
        if gone:
            found.append((whole - sum(both[i] for i in chosen)) / gone)
    return found
