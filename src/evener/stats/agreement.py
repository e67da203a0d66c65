"""How far two or more who labelled the same things agree, beyond chance, and what a judge's mean is worth. Pure.

Labels are any hashable values, nominal; None is "not labelled".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from evener.stats.clusters import student, sums
from evener.stats.intervals import Interval, quantile

Label = Hashable | None
Pair = tuple[Label, Label]
RESAMPLES = 2000
LEAST = 10  # things or clusters; fewer say nothing of how much a figure varies


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
    found = [unit for thing in things if (unit := _unit(thing)) is not None]
    total = sum(unit.labels for unit in found)
    if total == 0:
        return None
    chance = _disagreeing(sum((unit.used for unit in found), Counter()))
    return 1 - sum(unit.apart for unit in found) * (total - 1) / chance if chance else None


def alpha_interval(
    things: Sequence[Sequence[Label]], clusters: Sequence[Hashable], *, seed: int = 0
) -> Interval | None:
    """95 % percentile interval of alpha by resampling clusters of things. None below ten clusters with two labels, or
    where resamples are undefined."""
    import numpy as np

    rows: dict[Hashable, list[_Unit]] = defaultdict(list)
    for thing, cluster in zip(things, clusters, strict=True):
        if (unit := _unit(thing)) is not None:
            rows[cluster].append(unit)
    if len(rows) < LEAST:
        return None
    names = sorted({repr(label) for units in rows.values() for unit in units for label in unit.used})
    place = {name: n for n, name in enumerate(names)}
    table = np.zeros((len(rows), 1 + len(names)))
    for row, units in zip(table, rows.values(), strict=True):
        row[0] = sum(unit.apart for unit in units)
        for unit in units:
            for label, count in unit.used.items():
                row[1 + place[repr(label)]] += count
    draws = np.random.default_rng(seed).multinomial(len(rows), [1 / len(rows)] * len(rows), size=RESAMPLES) @ table
    apart, used = draws[:, 0], draws[:, 1:]
    total = used.sum(axis=1)
    chance = total * total - (used * used).sum(axis=1)
    known = [float(x) for x in 1 - apart[chance > 0] * (total[chance > 0] - 1) / chance[chance > 0]]
    return _percentiles(known)


@dataclass(frozen=True, slots=True)
class _Unit:
    """One thing with two labels or more: how many, which, and its disagreement."""

    labels: int
    used: Counter[Hashable]
    apart: float


def _unit(thing: Sequence[Label]) -> _Unit | None:
    used = Counter(label for label in thing if label is not None)
    labels = used.total()
    return _Unit(labels, used, _disagreeing(used) / (labels - 1)) if labels > 1 else None


def _disagreeing(counts: Counter[Hashable]) -> int:
    """Ordered pairs of different labels."""
    total = sum(counts.values())
    return total * total - sum(count * count for count in counts.values())


def bootstrap(
    things: Sequence[Pair], statistic: Callable[[Sequence[Pair]], float | None], *, seed: int = 0
) -> Interval | None:
    """95 % percentile interval by resampling things. None below ten things, or where resamples are undefined."""
    if len(things) < LEAST:
        return None
    draw = Random(seed)
    found = [statistic(draw.choices(things, k=len(things))) for _ in range(RESAMPLES)]
    return _percentiles([value for value in found if value is not None])


def _percentiles(known: Sequence[float]) -> Interval | None:
    if len(known) < 0.95 * RESAMPLES:
        return None
    low, high = quantile(known, 0.025), quantile(known, 0.975)
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A judge's mean over `n` things, corrected by people, who labelled `labelled` of these."""

    mean: float
    se: float
    interval: Interval
    judge_mean: float
    bias: float  # judge - people, on what both labelled
    n: int
    labelled: int


def corrected(
    judge: Sequence[float], people: Sequence[float | None], clusters: Sequence[Hashable] | None = None
) -> Corrected | None:
    """Prediction-powered mean (Angelopoulos et al. 2023), as a difference estimator: the judge's mean over everything,
    less its mean error on the *random* subset that people labelled. `people` is in the judge's order, None where nobody
    looked; with all of it labelled this is the people's mean.

    `clusters` None: each thing stands for itself. The standard error is cluster-robust and knows what the two means
    share; the quantile is Student's, with Welch's degrees of freedom. Where all is 0 to 1, one error of each sign that
    nobody made counts in the interval: few labels without one do not prove that there is none (as Agresti & Caffo and
    Bonett & Price do). None with fewer than two clusters that people labelled.
    """
    groups = list(clusters) if clusters is not None else list(range(len(judge)))
    both = [
        (seen - truth, group) for seen, truth, group in zip(judge, people, groups, strict=True) if truth is not None
    ]
    if len({group for _, group in both}) < 2:
        return None
    errors = [error for error, _ in both]
    if all(0 <= value <= 1 for value in (*judge, *(truth for truth in people if truth is not None))):
        both += [(1.0, object()), (-1.0, object())]
    steadied = [error for error, _ in both]
    mine = _deviations(judge, groups)
    theirs = _deviations(steadied, [group for _, group in both])
    se = math.sqrt(sum((mine.get(name, 0.0) - theirs.get(name, 0.0)) ** 2 for name in {*mine, *theirs}))
    middle = fmean(judge) - fmean(steadied)
    half = student(_welch((mine, theirs)), 0.95) * se if se > 0 else 0.0
    return Corrected(
        mean=fmean(judge) - fmean(errors),
        se=se,
        interval=(middle - half, middle + half),
        judge_mean=fmean(judge),
        bias=fmean(errors),
        n=len(judge),
        labelled=len(errors),
    )


def _deviations(values: Sequence[float], clusters: Sequence[Hashable]) -> dict[Hashable, float]:
    """Each cluster's part in the error of the mean; the squares add up to its cluster-robust variance."""
    middle, names = fmean(values), list(dict.fromkeys(clusters))
    scale = math.sqrt(len(names) / (len(names) - 1)) / len(values)
    return dict(zip(names, (scale * total for total in sums([v - middle for v in values], clusters)), strict=True))


def _welch(parts: Sequence[dict[Hashable, float]]) -> float:
    """Welch and Satterthwaite's degrees of freedom of a difference of two means."""
    variances = [(sum(value * value for value in part.values()), len(part) - 1) for part in parts]
    below = sum(variance * variance / degrees for variance, degrees in variances)
    return sum(variance for variance, _ in variances) ** 2 / below if below > 0 else 1.0
