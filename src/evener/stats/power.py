"""What a number of questions can prove, before anything is asked. Knows the design, and nothing of any answer.

Right or wrong: the exact McNemar test's own power, by enumeration. Connor's formula, which tables print, is for the
test without its exactness and asks for fewer questions than find the gap. Graded scores: the paired t-test's power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from evener.records.evaluation import Split
from evener.stats.comparisons import mcnemar

ALPHA = 0.05
POWER = 0.80
DISCORDANCE = 0.30  # share of questions that one of two models gets right and the other does not
_STEPS = 1000  # gaps are told to 1 / _STEPS
_EXACT = 10_000  # questions, up to which tables are enumerated
_MOST = 10_000_000  # questions; beyond it nobody would ask


def pairs(models: int) -> int:
    return models * (models - 1) // 2


def level(models: int, alpha: float = ALPHA) -> float:
    """What p must not exceed at Holm's first step over all pairs."""
    return alpha / max(1, pairs(models))


def connor(
    gap: float, *, models: int = 2, discordance: float = DISCORDANCE, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Connor's formula (1987) for McNemar's test: n = (z_a sqrt(d) + z_b sqrt(d - gap^2))^2 / gap^2.

    None where the gap is 0 or exceeds the discordance, which bounds it.
    """
    if gap <= 0 or gap > discordance or models < 2:
        return None
    z = NormalDist().inv_cdf
    a, b = z(1 - level(models, alpha) / 2), z(power)
    return math.ceil((a * math.sqrt(discordance) + b * math.sqrt(discordance - gap * gap)) ** 2 / (gap * gap))


def mcnemar_power(n: int, gap: float, *, discordance: float = DISCORDANCE, alpha: float = ALPHA) -> float:
    """How often the exact McNemar test of `n` questions finds a true `gap`, for the model that is ahead.

    The sum over m, the questions on which the two disagree, of P(m) times the chance that the model behind wins few
    enough of them; m further from its mean than 6 standard deviations counts for nothing.
    """
    from scipy.special import bdtr, gammaln, xlog1py, xlogy

    middle, far = n * discordance, 6 * math.sqrt(n * discordance * (1 - discordance)) + 6
    first, last = max(1, math.floor(middle - far)), min(n, math.ceil(middle + far))
    m = np.arange(first, last + 1)
    chance = np.exp(
        gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, discordance) + xlog1py(n - m, -discordance)
    )
    most = _most_lost(1 << last.bit_length(), alpha)[m]
    behind = max(0.0, discordance - gap) / (2 * discordance)
    found = np.where(most >= 0, bdtr(np.maximum(most, 0), m, behind), 0.0)
    return float((chance * found).sum())


@lru_cache(maxsize=64)
def _most_lost(size: int, alpha: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of each number of disagreements below `size`, the most that one model may win for p to be at most alpha; -1 for
    none. Found from above."""
    from scipy.special import bdtr

    m = np.arange(size)
    most = np.floor(m / 2) - np.floor(np.maximum(0.0, NormalDist().inv_cdf(1 - alpha / 2) * np.sqrt(m) / 2 - 1))
    while np.any(high := (most >= 0) & (2 * bdtr(np.maximum(most, 0), m, 0.5) > alpha)):
        most[high] -= 1
    return most


def questions_needed(
    gap: float, *, models: int = 2, discordance: float = DISCORDANCE, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Questions of right or wrong that find a true `gap` (0 to 1) with the power asked, at Holm's first step over all
    pairs. None where the gap is 0 or exceeds the discordance, which bounds it.

    Above 10 000 by Connor's formula, which is short by one in a hundred there.
    """
    about = connor(gap, models=models, discordance=discordance, power=power, alpha=alpha)
    if about is None or about > _EXACT:
        return about
    limit = level(models, alpha)
    return _least(lambda n: mcnemar_power(n, gap, discordance=discordance, alpha=limit) >= power, about)


def detectable_gap(
    n: int, *, models: int = 2, discordance: float = DISCORDANCE, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """The least true gap, to 0.001, that `n` questions of right or wrong find with the power asked; else None."""
    limit, low, high = level(models, alpha), 0, round(discordance * _STEPS)
    if models < 2 or n < 1 or mcnemar_power(n, high / _STEPS, discordance=discordance, alpha=limit) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        is_found = mcnemar_power(n, middle / _STEPS, discordance=discordance, alpha=limit) >= power
        low, high = (low, middle) if is_found else (middle, high)
    return high / _STEPS


def t_power(n: int, gap: float, sd: float, *, alpha: float = ALPHA) -> float:
    """How often the paired t-test of `n` independent differences with the standard deviation `sd` finds a true `gap`,
    for the model that is ahead. Sign flips find as much (Fisher 1935)."""
    from scipy.special import gammainc, nctdtr, stdtrit

    if n < 2:
        return 0.0
    far, least = gap / sd * math.sqrt(n), stdtrit(n - 1, 1 - alpha / 2)
    missed = float(nctdtr(n - 1, far, least))
    if math.isnan(missed):  # scipy gives up where it is far: then only the sample's own deviation can hide the gap
        return float(gammainc((n - 1) / 2, (n - 1) / 2 * (far / least) ** 2))
    return 1 - missed


def graded_needed(gap: float, sd: float, *, models: int = 2, power: float = POWER, alpha: float = ALPHA) -> int | None:
    """Independent questions of graded scores that find a true `gap`, where paired differences have the standard
    deviation `sd`. None where either is 0, and beyond ten million."""
    if gap == 0 or sd <= 0 or models < 2:
        return None
    z, limit, gap = NormalDist().inv_cdf, level(models, alpha), abs(gap)
    about = ((z(1 - limit / 2) + z(power)) * sd / gap) ** 2
    if about > _MOST:
        return None
    return _least(lambda n: t_power(n, gap, sd, alpha=limit) >= power, max(2, math.floor(about)))


def graded_gap(n: int, sd: float, *, models: int = 2, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """The least true gap, to 0.001, that `n` independent questions of graded scores find; None when none up to 1 is."""
    limit, low, high = level(models, alpha), 0, _STEPS
    if models < 2 or sd <= 0 or t_power(n, 1.0, sd, alpha=limit) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if t_power(n, middle / _STEPS, sd, alpha=limit) >= power else (middle, high)
    return high / _STEPS


def equal_needed(margin: float, sd: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Questions that find two equal models practically equal within `margin` with the power asked, where their paired
    differences have the standard deviation `sd`: two one-sided tests, ((z_a + z_(b/2)) sd / margin)^2 (Chow & Liu)."""
    z = NormalDist().inv_cdf
    return math.ceil(((z(1 - alpha) + z(1 - (1 - power) / 2)) * sd / margin) ** 2)


def questions_like(
    gap: float, se: float, n: int, clusters: int, *, models: int = 2, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Questions that find a `gap`, where `n` questions like these in `clusters` clusters gave it the standard error
    `se`: more clusters of the same size, whose own differences have the standard deviation se sqrt(clusters)."""
    needed = graded_needed(gap, se * math.sqrt(clusters), models=models, power=power, alpha=alpha)
    return None if needed is None else math.ceil(n * needed / clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What `n` questions and `models` models can show under Holm. `sweep` is the least number of disagreements, all
    won by one model, that is significant at Holm's first step; None when even n of them are not."""

    n: int
    models: int
    sweep: int | None

    @property
    def is_impossible(self) -> bool:
        """Nothing that could be answered would separate any two of these models."""
        return self.sweep is None


def design(n: int, models: int, *, alpha: float = ALPHA) -> Design:
    """For binary scores of independent questions."""
    limit = level(models, alpha)
    sweep = next((k for k in range(1, n + 1) if mcnemar(k, 0) <= limit), None) if models > 1 else None
    return Design(n=n, models=models, sweep=sweep)


def standard_error(n: int, epochs: int, *, between: float, within: float) -> float:
    """Of a mean over n questions asked `epochs` times. `between` is the variance of the questions' own means, `within`
    that of repeated answers to one question. Epochs only divide the second."""
    return math.sqrt((between + within / epochs) / n)


def best_split(answers: int, questions: int, *, least_epochs: int = 1) -> Split:
    """The split of `answers` of one model over at most `questions` questions with the least standard error.

    Since (between + within / epochs) / n falls with n at n * epochs fixed, whatever the variances: first all the
    questions, then epochs.
    """
    used = max(1, min(questions, answers // least_epochs))
    return Split(questions=used, epochs=max(least_epochs, answers // used))


def _least(is_enough: Callable[[int], bool], about: int) -> int:
    """The least n that is enough, looked for from `about` on. What is enough may fail again a few questions later,
    where a test's steps fall badly: by less than half a point of power."""
    low, high = about // 2, about
    while not is_enough(high):
        low, high = high, high + 1 + about // 16
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
