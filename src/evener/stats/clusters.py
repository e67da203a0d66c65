"""The mean of scores whose questions come in clusters: several segments of one document, a question and its twin.

Questions of one cluster succeed and fail together, so that n questions tell less than n independent ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evener.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over `n` questions in `clusters` clusters. `se` and `interval` are None where one cluster is all."""

    mean: float
    n: int
    clusters: int
    se: float | None
    interval: Interval | None


def estimate(
    values: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95, share: bool = False
) -> Estimate | None:
    """The mean of `values` with its cluster-robust standard error and interval; None for no values.

    Liang & Zeger's sandwich for a mean with the usual G / (G - 1), Student's t with G - 1 degrees of freedom. A `share`
    (each value 0 or 1) gets Clopper & Pearson's interval at the effective size n / deff (Korn & Graubard 1998), since
    10 right of 10 are no proof of perfection. Wilson's is a little narrower and covers less than 94 % at some shares.
    """
    n = len(values)
    if n == 0:
        return None
    totals = sums([value - sum(values) / n for value in values], clusters)
    mean, groups = sum(values) / n, len(totals)
    if groups < 2:
        return Estimate(mean=mean, n=n, clusters=groups, se=None, interval=None)
    se = math.sqrt(groups / (groups - 1) * sum(total * total for total in totals)) / n
    if share:
        interval = _share_interval(mean, _effective_size(mean, n, groups, se), confidence)
    else:
        half = student(groups - 1, confidence) * se
        interval = (mean - half, mean + half)
    return Estimate(mean=mean, n=n, clusters=groups, se=se, interval=interval)


def ratio(
    values: Sequence[float], sizes: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Estimate | None:
    """The sum of `values` over that of `sizes`, with its linearised standard error, clustered (Cochran, Sampling
    Techniques, 6.4). None where the sizes are nothing."""
    whole = sum(sizes)
    if whole == 0:
        return None
    found = sum(values) / whole
    residuals = sums([value - found * size for value, size in zip(values, sizes, strict=True)], clusters)
    groups = len(residuals)
    if groups < 2:
        return Estimate(mean=found, n=len(values), clusters=groups, se=None, interval=None)
    se = math.sqrt(groups / (groups - 1) * sum(r * r for r in residuals)) / whole
    half = student(groups - 1, confidence) * se
    # Where no cluster differs from another, nothing tells how they vary.
    ends = (found - half, found + half) if se > 0 else None
    return Estimate(mean=found, n=len(values), clusters=groups, se=se, interval=ends)


def of_scores(found: Estimate | None) -> Interval | None:
    """The interval of a mean of scores from 0 to 1, without what Student's t puts beyond them."""
    if found is None or found.interval is None:
        return None
    low, high = found.interval
    return max(0.0, low), min(1.0, high)


def sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """The sum of each cluster, in the order in which clusters first appear."""
    totals: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        totals[cluster] += value
    return list(totals.values())


def student(degrees: float, confidence: float) -> float:
    """Two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # scipy.stats would cost 100 MB and two seconds

    return float(stdtrit(degrees, (1 + confidence) / 2))


def _effective_size(mean: float, n: int, groups: int, se: float) -> float:
    """n / deff, never more than n: what looks less varied than chance is chance.
    Where nothing varies, each cluster counts once."""
    simple = mean * (1 - mean) / n
    if groups == n:
        return n
    if simple == 0 or se == 0:
        return groups
    return min(n, max(1.0, n * simple / (se * se)))


def _share_interval(share: float, size: float, confidence: float) -> Interval:
    """Clopper & Pearson's, for a size that need not be whole."""
    from scipy.special import betaincinv

    right, tail = share * size, (1 - confidence) / 2
    low = float(betaincinv(right, size - right + 1, tail)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, size - right, 1 - tail)) if right < size else 1.0
    return low, high
