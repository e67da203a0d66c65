"""Intervals for small samples: exact ones for shares, order statistics for quantiles. Standard library only, no models.

Nothing here assumes a distribution. Where n is too small for the confidence asked, the answer is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

Interval = tuple[float, float]


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile by linear interpolation between order statistics (Hyndman & Fan type 7, numpy's default).

    None for no values.
    """
    if not values:
        return None
    return _between(sorted(values), q * (len(values) - 1))


def quantile_with_endless(values: Sequence[float], endless: int, q: float) -> float | None:
    """The q-quantile of these values and `endless` more that are greater than any; infinite where it lies among those.

    None for no values at all.
    """
    n = len(values) + endless
    if not n:
        return None
    place = q * (n - 1)
    if math.ceil(place) >= len(values):
        return math.inf
    return _between(sorted(values), place)


def _between(ordered: Sequence[float], place: float) -> float:
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a share (Wilson 1927; Brown, Cai & DasGupta 2001). None for n = 0."""
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, z2 = successes / n, z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def share_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval | None:
    """An interval that covers any share with at least the confidence, and contains Wilson's. None for n = 0.

    The exact one (Clopper & Pearson 1934), widened to Wilson's where that reaches further, by less than 0.001. Wilson's
    own covers as little as 83 %: docs/decisions/0016.
    """
    score = wilson(successes, n, confidence=confidence)
    if score is None:
        return None
    tail = (1 - confidence) / 2
    return min(score[0], _lower(successes, n, tail)), max(score[1], 1 - _lower(n - successes, n, tail))


def tries_needed(successes: int, n: int, target: float, *, most: int, confidence: float = 0.95) -> int | None:
    """About how many tries would put the target outside of the share's interval, if the share stayed as it is.

    None when it lies on the target, when nothing was tried, or when `most` would not do. Wilson's excludes the target
    from  n = z^2 target (1 - target) / (share - target)^2  on, the exact one soon after.
    """
    if n == 0 or successes / n == target:
        return None
    share, z, tail = successes / n, NormalDist().inv_cdf((1 + confidence) / 2), (1 - confidence) / 2

    def decides(tries: int) -> bool:
        if share > target:
            return _at_least(math.floor(share * tries + 1e-9), tries, target) <= tail
        return _at_least(tries - math.ceil(share * tries - 1e-9), tries, 1 - target) <= tail

    low = max(1, math.ceil(z * z * target * (1 - target) / (share - target) ** 2))
    return next((tries for tries in range(low, min(most, 2 * low + 100) + 1) if decides(tries)), None)


def _lower(successes: int, n: int, tail: float) -> float:
    """The share with which so many successes or more come with the probability `tail`."""
    low, high = 0.0, successes / n
    for _ in range(60 if successes else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(successes, n, middle) < tail else (low, middle)
    return low


def _at_least(k: int, n: int, p: float) -> float:
    """P(B >= k), B binomial(n, p), for k around n p or above it: terms are added upwards until they no longer count."""
    if k <= 0 or p <= 0.0:
        return 1.0 if k <= 0 else 0.0
    total, term = 0.0, _binomial(n, k, p)
    for i in range(k, n + 1):
        total += term
        term *= (n - i) / (i + 1) * p / (1 - p)
        if i > n * p and term < total * 1e-16:
            break
    return min(1.0, total)


def quantile_interval(values: Sequence[float], q: float, *, confidence: float = 0.95) -> Interval | None:
    """A distribution-free interval of the q-quantile between two of the values.

    [x(l), x(u)] covers it with probability P(l <= B < u), B binomial(n, q) (David & Nagaraja, Order Statistics, 7.1):
    the narrowest pair of ranks that reaches the confidence, the best covering one of these. None when even the least
    and the greatest value do not reach it: below n = 6 for the median, below n = 29 for p90, at 95 %.
    """
    ranks = _ranks(len(values), q, confidence)
    if ranks is None:
        return None
    ordered = sorted(values)
    return ordered[ranks[0] - 1], ordered[ranks[1] - 1]


@lru_cache(maxsize=128)
def _ranks(n: int, q: float, confidence: float) -> tuple[int, int] | None:
    below = [0.0, *accumulate(_binomial(n, k, q) for k in range(n + 1))]  # below[k] = P(B < k)
    best: tuple[int, float, int] | None = None
    upper = 1
    for lower in range(1, n):
        upper = max(upper, lower + 1)
        while upper <= n and below[upper] - below[lower] < confidence:
            upper += 1
        if upper > n:
            break
        found = (lower - upper, below[upper] - below[lower], lower)
        best = found if best is None or found[:2] > best[:2] else best
    return None if best is None else (best[2], best[2] - best[0])


def _binomial(n: int, k: int, q: float) -> float:
    """P(B = k). By logarithms: the coefficients of n = 1030 and more exceed a float."""
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log + k * math.log(q) + (n - k) * math.log1p(-q))
