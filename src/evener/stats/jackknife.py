"""Intervals of figures that are no means: ratios, BLEU, variances. By leaving out one cluster after the other. Pure.

Miller (1974), "The jackknife: a review": for figures that change smoothly with their data, which a median does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evener.stats.clusters import student
from evener.stats.intervals import Interval


def jackknife(
    figure: float, without: Sequence[float | None], *, low: float = -math.inf, high: float = math.inf
) -> Interval | None:
    """The 95 % interval of `figure`; `without` are its values when each of G clusters is left out in turn.

    Student's t with G - 1 degrees of freedom, and not beyond `low` and `high`, which bound the figure. For a mean over
    clusters of one size it is the interval of `clusters.estimate`. None for fewer than two clusters, where the figure
    is undefined without one of them, and where no cluster makes a difference: then nothing tells how it varies.
    """
    known = [value for value in without if value is not None]
    groups = len(known)
    if groups < 2 or groups < len(without):
        return None
    middle = math.fsum(known) / groups
    se = math.sqrt((groups - 1) / groups * math.fsum((value - middle) ** 2 for value in known))
    if se <= 1e-12 * max(1.0, abs(figure)):
        return None
    half = student(groups - 1, 0.95) * se
    return max(low, figure - half), min(high, figure + half)


def of_sums(
    sums: Sequence[Sequence[float]],
    figure: Callable[[Sequence[float]], float | None],
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> tuple[float | None, Interval | None]:
    """(the figure of the total, its interval), where it depends on sums over clusters; `sums` has a row per cluster."""
    rows = np.asarray(sums, dtype=float)
    total = rows.sum(axis=0)
    whole = figure(total.tolist())
    if whole is None:
        return None, None
    return whole, jackknife(whole, [figure((total - row).tolist()) for row in rows], low=low, high=high)
