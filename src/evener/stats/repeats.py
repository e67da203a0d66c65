"""Questions answered several times: how often one try passes, and how often all do. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Passes = Callable[[int, int, int], float | None]  # (answers to a question, right ones, k)


def pass_at_k(n: int, correct: int, k: int) -> float | None:
    """At least one of k answers is right: 1 - C(n-c, k) / C(n, k), unbiased (Chen et al. 2021). None for k > n."""
    return 1 - math.comb(n - correct, k) / math.comb(n, k) if 0 < k <= n else None


def pass_hat_k(n: int, correct: int, k: int) -> float | None:
    """All of k answers are right: C(c, k) / C(n, k), unbiased (Yao et al. 2024). None for k > n."""
    return math.comb(correct, k) / math.comb(n, k) if 0 < k <= n else None


def variances(answers: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """(between questions, within a question) by one-way analysis of variance; each question has at least two answers.

    None below two questions. `between` may be negative by chance and is then 0.
    """
    repeated = [list(one) for one in answers if len(one) > 1]
    if len(repeated) < 2:
        return None
    total = sum(map(len, repeated))
    means = [sum(one) / len(one) for one in repeated]
    within = sum((x - m) ** 2 for one, m in zip(repeated, means, strict=True) for x in one) / (total - len(repeated))
    middle = sum(means) / len(means)
    spread = sum((m - middle) ** 2 for m in means) / (len(means) - 1)
    epochs = len(repeated) / sum(1 / len(one) for one in repeated)  # the harmonic mean
    return max(0.0, spread - within / epochs), within
