"""Pairs of measurements: by how much the second differs from the first. Standard library only.

Wilcoxon's signed ranks, exactly: it asks for symmetric differences, not for normal ones, and under "no difference at
all" they are symmetric by construction when chance has decided the order within each pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

from evener.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Where differences lie. `interval` is None where there are too few pairs for the confidence asked."""

    n: int
    estimate: float  # the median of the means of every two differences (Hodges & Lehmann 1963)
    interval: Interval | None


def fewest_pairs(confidence: float = 0.95) -> int:
    """How many pairs an interval needs: with n of them the widest covers 1 - 2^(1-n). 6 at 95 %."""
    return math.ceil(1 - math.log2(1 - confidence))


def shift(differences: Sequence[float], *, confidence: float = 0.95) -> Shift:
    """The shift of at least one difference, with its exact interval (Hollander, Wolfe & Chicken 2014, 3.3).

    The interval lies between the k-th smallest and the k-th largest mean of every two differences (each with itself
    too), k the largest for which the signed-rank sum is below k with at most half of the rest's probability.
    """
    n = len(differences)
    means = sorted((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])
    k = _depth(n, confidence)
    return Shift(n=n, estimate=median(means), interval=(means[k - 1], means[-k]) if k else None)


def log_ratios(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """ln(second / first) of pairs of positive values. A ratio and its inverse are then equally far from nothing."""
    return [math.log(second / first) for first, second in pairs]


def as_change(log_ratio: float) -> float:
    """second / first - 1, of a logarithm of the ratio."""
    return math.expm1(log_ratio)


def _depth(n: int, confidence: float) -> int:
    """The largest k with P(T < k) <= (1 - confidence) / 2, 0 for none. T: the sum of the ranks with a plus sign."""
    ways = [1]  # ways[s]: how many subsets of the ranks so far add up to s
    for rank in range(1, n + 1):
        ways = [a + b for a, b in zip([*ways, *[0] * rank], [*[0] * rank, *ways], strict=True)]
    tail = (1 - confidence) / 2 * 2**n
    return sum(below <= tail for below in accumulate(ways))
