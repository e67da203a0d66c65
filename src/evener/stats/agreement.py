"""How far two or more who labelled the same things agree, beyond chance, and what a judge's mean is worth. Pure.

Labels are any hashable values, nominal; None is "not labelled".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist, fmean, variance

from evener.stats.intervals import Interval, quantile

Label = Hashable | None
Pair = tuple[Label, Label]
RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Of two labellers over `n` things that both labelled. None where it is not defined: nothing labelled, or, for
    kappa, only one label used."""

    n: int
    raw: float | None
    kappa: float | None
    ac1: float | None
    kappa_interval: Interval | None


def agreement(pairs: Sequence[Pair], *, seed: int = 0) -> Agreement:
    """Raw agreement, Cohen's kappa (1960) with a percentile bootstrap over things, Gwet's AC1 (2008)."""
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    return Agreement(
        n=len(both),
        raw=raw(both),
        kappa=kappa(both),
        ac1=ac1(both),
        kappa_interval=bootstrap(both, kappa, seed=seed),
    )


def raw(pairs: Sequence[Pair]) -> float | None:
    return fmean(a == b for a, b in pairs) if pairs else None


def kappa(pairs: Sequence[Pair]) -> float | None:
    seen = raw(pairs)
    if seen is None:
        return None
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(left[label] * right[label] for label in left) / len(pairs) ** 2
    return (seen - chance) / (1 - chance) if chance < 1 else None


def ac1(pairs: Sequence[Pair]) -> float | None:
    """Gwet's AC1: chance agreement from the mean use of each label; steady where nearly all labels are the same."""
    seen = raw(pairs)
    if seen is None:
        return None
    used = Counter(label for pair in pairs for label in pair)
    if len(used) < 2:
        return 1.0
    shares = [count / (2 * len(pairs)) for count in used.values()]
    chance = sum(share * (1 - share) for share in shares) / (len(used) - 1)
    return (seen - chance) / (1 - chance)


def alpha(things: Sequence[Sequence[Label]]) -> float | None:
    """Krippendorff's alpha for nominal labels, any number of labellers, gaps allowed (2011, section B).

    None when no thing has two labels, or only one label is used.
    """
    units = [[label for label in thing if label is not None] for thing in things]
    units = [unit for unit in units if len(unit) > 1]
    total = sum(map(len, units))
    if total == 0:
        return None
    apart = sum(_disagreeing(Counter(unit)) / (len(unit) - 1) for unit in units) / total
    chance = _disagreeing(Counter(label for unit in units for label in unit)) / (total * (total - 1))
    return 1 - apart / chance if chance else None


def _disagreeing(counts: Counter[Hashable]) -> int:
    """Ordered pairs of different labels."""
    total = sum(counts.values())
    return total * total - sum(count * count for count in counts.values())


def bootstrap(
    things: Sequence[Pair], statistic: Callable[[Sequence[Pair]], float | None], *, seed: int = 0
) -> Interval | None:
    """95 % percentile interval by resampling things. None below ten things, or where resamples are undefined."""
    if len(things) < 10:
        return None
    draw = Random(seed)
    found = [statistic(draw.choices(things, k=len(things))) for _ in range(RESAMPLES)]
    known = [value for value in found if value is not None]
    if len(known) < 0.95 * RESAMPLES:
        return None
    low, high = quantile(known, 0.025), quantile(known, 0.975)
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A judge's mean, corrected by people. `labelled` things of `n` were labelled by both."""

    mean: float
    interval: Interval
    judge_mean: float
    bias: float  # judge - people, on what both labelled
    n: int
    labelled: int


def corrected(judge: Sequence[float], both: Sequence[tuple[float, float]]) -> Corrected | None:
    """Prediction-powered mean (Angelopoulos et al. 2023): the judge's mean over everything, less its mean error on a
    *random* subset that people labelled. `both` holds (judge, people) of that subset, which is not among `judge`.

    None with fewer than two things of either kind.
    """
    if len(judge) < 2 or len(both) < 2:
        return None
    errors = [seen - truth for seen, truth in both]
    se = math.sqrt(variance(judge) / len(judge) + variance(errors) / len(both))
    mean, half = fmean(judge) - fmean(errors), NormalDist().inv_cdf(0.975) * se
    return Corrected(
        mean=mean,
        interval=(mean - half, mean + half),
        judge_mean=fmean(judge),
        bias=fmean(errors),
        n=len(judge),
        labelled=len(both),
    )
