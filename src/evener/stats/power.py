"""What a number of questions can prove, before anything is asked. Knows the design, and nothing of any answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from evener.stats.comparisons import mcnemar

ALPHA = 0.05
POWER = 0.80
DISCORDANCE = 0.30  # share of questions that one of two models gets right and the other does not


def pairs(models: int) -> int:
    return models * (models - 1) // 2


def questions_needed(
    gap: float, *, models: int = 2, discordance: float = DISCORDANCE, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Questions that find a true `gap` (0 to 1) with the power asked, under Holm's first step over all pairs.

    Connor (1987) for McNemar's test: n = (z_a sqrt(d) + z_b sqrt(d - gap^2))^2 / gap^2. None where the gap is 0 or
    exceeds the discordance, which bounds it.
    """
    if gap <= 0 or gap > discordance or models < 2:
        return None
    z = NormalDist().inv_cdf
    a, b = z(1 - alpha / pairs(models) / 2), z(power)
    return math.ceil((a * math.sqrt(discordance) + b * math.sqrt(discordance - gap * gap)) ** 2 / (gap * gap))


def questions_like(
    gap: float, se: float, n: int, *, models: int = 2, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Questions that find a `gap` with the power asked, where `n` questions like these gave it the standard error `se`.

    For graded scores and for questions in clusters, whose differences vary less or more than those of right and wrong:
    n ((z_a + z_b) se / gap)^2, since se falls with the root of n. None where the gap or its error is 0.
    """
    if gap == 0 or se <= 0 or models < 2:
        return None
    z = NormalDist().inv_cdf
    return math.ceil(n * ((z(1 - alpha / pairs(models) / 2) + z(power)) * se / gap) ** 2)


def detectable_gap(
    n: int, *, models: int = 2, discordance: float = DISCORDANCE, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """The least true gap, to 0.001, that `n` questions find with the power asked; None when none is found."""
    low, high = 0, round(discordance * 1000)
    needed = questions_needed(high / 1000, models=models, discordance=discordance, power=power, alpha=alpha)
    if needed is None or needed > n:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        needed = questions_needed(middle / 1000, models=models, discordance=discordance, power=power, alpha=alpha)
        low, high = (low, middle) if needed is not None and needed <= n else (middle, high)
    return high / 1000


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

    @property
    def least_gap(self) -> float | None:
        """The least observed gap that can be significant: the sweep, when the two agree on all other questions."""
        return None if self.sweep is None else self.sweep / self.n


def design(n: int, models: int, *, alpha: float = ALPHA) -> Design:
    """For binary scores of independent questions."""
    limit = alpha / max(1, pairs(models))
    sweep = next((k for k in range(1, n + 1) if mcnemar(k, 0) <= limit), None) if models > 1 else None
    return Design(n=n, models=models, sweep=sweep)


def standard_error(n: int, epochs: int, *, between: float, within: float) -> float:
    """Of a mean over n questions asked `epochs` times. `between` is the variance of the questions' own means, `within`
    that of repeated answers to one question. Epochs only divide the second."""
    return math.sqrt((between + within / epochs) / n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How to spend a budget of answers."""

    questions: int
    epochs: int


def best_split(answers: int, questions: int, *, least_epochs: int = 1) -> Split:
    """The split of `answers` per model over at most `questions` questions with the least standard error.

    Since (between + within / epochs) / n falls with n at n * epochs fixed, whatever the variances: first all the
    questions, then epochs.
    """
    used = max(1, min(questions, answers // least_epochs))
    return Split(questions=used, epochs=max(least_epochs, answers // used))
