"""Two models on the same questions, and several of them: paired tests, equivalence, corrections. Knows no models.

Scores lie between 0 and 1, one per question and model (the mean over its epochs), in the same order for all models.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evener.stats.clusters import student, sums
from evener.stats.intervals import Interval

Test = Literal["exact McNemar", "sign flips"]
EXACT_CLUSTERS = 14  # 2^14 sign patterns are all tried; above it they are drawn
DRAWN = 9_999
BLOCK = 1_000  # rows of signs at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """a - b over `n` questions. `wins` and `losses` count clusters in which a is ahead or behind.

    `interval` is the 95 % interval of the mean difference, None where one cluster is all. `p` is two-sided.
    """

    mean: float
    interval: Interval | None
    p: float
    test: Test
    n: int
    clusters: int
    wins: int
    losses: int


def difference(a: Sequence[float], b: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0) -> Difference:
    """The paired difference of two models. Binary scores of independent questions are tested by exact McNemar
    (the binomial test of the discordant pairs), all others by flipping the signs of cluster sums.

    Raises ValueError for no questions.
    """
    if not a:
        raise ValueError("no questions")
    gaps = [x - y for x, y in zip(a, b, strict=True)]
    totals = sums(gaps, clusters)
    wins, losses = sum(t > 0 for t in totals), sum(t < 0 for t in totals)
    plain = is_binary(a) and is_binary(b) and len(totals) == len(gaps)
    return Difference(
        mean=sum(gaps) / len(gaps),
        interval=difference_interval(gaps, clusters, binary=plain),
        p=mcnemar(wins, losses) if plain else sign_flips(totals, seed=seed),
        test="exact McNemar" if plain else "sign flips",
        n=len(gaps),
        clusters=len(totals),
        wins=wins,
        losses=losses,
    )


def is_binary(values: Sequence[float]) -> bool:
    return all(value in (0, 1) for value in values)


def mcnemar(wins: int, losses: int) -> float:
    """Exact McNemar test, two-sided: both tails of a fair coin thrown wins + losses times. 1 without discordance."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1)) / (1 << n)
    return min(1.0, 2 * tail)


def sign_flips(totals: Sequence[float], *, seed: int = 0) -> float:
    """Two-sided permutation test of paired differences: under no difference each sign is as likely as the other.

    All patterns up to 14 clusters that differ, else 9 999 drawn ones, with (1 + hits) / (1 + draws): never 0.
    """
    moved = np.array([total for total in totals if total != 0])
    if moved.size == 0:
        return 1.0
    seen = abs(moved.sum()) * (1 - 1e-12)  # sums of the same numbers in another order
    if moved.size <= EXACT_CLUSTERS:
        patterns = (np.arange(2**moved.size)[:, None] >> np.arange(moved.size)) & 1
        return float((np.abs((1 - 2 * patterns) @ moved) >= seen).mean())
    hits = sum(int((np.abs(signs @ moved) >= seen).sum()) for signs in flips(moved.size, seed=seed))
    return (1 + hits) / (1 + DRAWN)


Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def flips(size: int, *, seed: int) -> Iterator[Matrix]:
    """DRAWN x size signs in blocks of rows, the same for the same seed."""
    draw = np.random.default_rng(seed)
    for start in range(0, DRAWN, BLOCK):
        rows = min(BLOCK, DRAWN - start)
        yield np.float32(1) - 2 * draw.integers(0, 2, size=(rows, size)).astype(np.float32)


def difference_interval(
    gaps: Sequence[float], clusters: Sequence[Hashable], *, binary: bool, confidence: float = 0.95
) -> Interval | None:
    """Interval of a mean paired difference; None where fewer than two clusters tell how it varies.

    Independent binary pairs: Bonett & Price's adjusted Wald interval (2012), which holds for few discordant ones. Else
    the cluster-robust standard error and Student's t; none where no cluster differs from another.
    """
    n, totals = len(gaps), sums(gaps, clusters)
    groups = len(totals)
    if groups < 2:
        return None
    if binary:
        ahead, behind = (sum(g > 0 for g in gaps) + 1) / (n + 2), (sum(g < 0 for g in gaps) + 1) / (n + 2)
        middle, se = ahead - behind, math.sqrt((ahead + behind - (ahead - behind) ** 2) / (n + 2))
        half = student(groups - 1, confidence) * se
        return max(-1.0, middle - half), min(1.0, middle + half)
    middle = sum(gaps) / n
    residuals = sums([gap - middle for gap in gaps], clusters)
    se = math.sqrt(groups / (groups - 1) * sum(r * r for r in residuals)) / n
    half = student(groups - 1, confidence) * se
    return (middle - half, middle + half) if se > 0 else None


def is_equivalent(gaps: Sequence[float], clusters: Sequence[Hashable], *, margin: float, binary: bool) -> bool:
    """Two one-sided tests at 5 % each (Schuirmann 1987): the 90 % interval lies within the margin."""
    interval = difference_interval(gaps, clusters, binary=binary, confidence=0.90)
    return interval is not None and -margin < interval[0] and interval[1] < margin


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in the order given: below 0.05 all together err at most 5 times in 100."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted
