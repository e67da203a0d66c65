"""Which models may be the best, and which cannot be told apart. Knows no models, only names and scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evener.stats.clusters import sums
from evener.stats.comparisons import DRAWN, flips

DRAWN_SLACK = 0.9  # of the error allowed: drawn signs and ties among binary scores take up the rest
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSet:
    """`kept` contains the best model at the confidence asked; `p` is, per model, how well "I am the best" still
    agrees with the scores. Both in the order of the means, best first."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    p: dict[str, float]


def best_set(
    scores: Mapping[str, Sequence[float]], clusters: Sequence[Hashable], *, confidence: float = 0.95, seed: int = 0
) -> BestSet:
    """The set that contains the best model with the confidence asked. Scores per question, in one order for all.

    For each model: is there one that beats it by more than chance? The statistic is the greatest studentised
    difference to any other; its distribution, were it as good as all others, comes from flipping the signs of whole
    clusters, all models at once, which keeps what they have in common (max-T, Westfall & Young 1993; the least
    favourable case of Gupta's subset selection). One question per model and no correction over pairs: more power
    than all pairs, and one truth that is dropped at most 5 times in 100.
    """
    names = sorted(scores, key=lambda name: -float(np.mean(scores[name])))
    totals = np.stack([sums(scores[name], clusters) for name in names], axis=1)
    flipped = np.concatenate([signs @ totals for signs in flips(len(totals), seed=seed)])
    p = {name: _p_best(totals, flipped, at) for at, name in enumerate(names)}
    kept = tuple(name for name in names if p[name] > (1 - confidence) * DRAWN_SLACK)
    return BestSet(kept=kept, dropped=tuple(n for n in names if n not in kept), p=p)


def _p_best(totals: Matrix, flipped: Matrix, mine: int) -> float:
    """`totals` has a row per cluster and a column per model, `flipped` the sums of each column under drawn signs."""
    gaps = totals - totals[:, [mine]]
    scale = np.sqrt((gaps * gaps).sum(axis=0))
    others = scale > 0
    if not others.any():
        return 1.0
    seen = (gaps.sum(axis=0)[others] / scale[others]).max() - 1e-6
    drawn = (flipped[:, others] - flipped[:, [mine]]) / scale[others]
    return (1 + int((drawn.max(axis=1) >= seen).sum())) / (1 + DRAWN)


def groups(order: Sequence[str], differ: Mapping[tuple[str, str], bool]) -> tuple[tuple[str, ...], ...]:
    """Runs of neighbours, best first, of which no two differ. Groups may share members: not being told apart is not
    passed on from one pair to the next. `differ` has each pair in either order."""
    found: list[tuple[str, ...]] = []
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(
            differ.get((a, b), differ.get((b, a), False)) for a, b in combinations(order[start : end + 1], 2)
        ):
            end += 1
        run = tuple(order[start:end])
        if not found or not set(run) <= set(found[-1]):
            found.append(run)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragility:
    """`flips` scores of `of` would have to be the opposite for `second` to draw level with `first`, and `questions` are
    those: where the first did well and the second did not."""

    first: str
    second: str
    flips: int
    of: int
    questions: tuple[str, ...]


def fragility(scores: Mapping[str, Sequence[float]], questions: Sequence[str]) -> Fragility | None:
    """How few scores hold the first place. A flip turns the first's score on a question into 0 or the second's into 1,
    whichever moves more; each question is flipped once. None for fewer than two models or no questions."""
    if len(scores) < 2 or not questions:
        return None
    first, second = sorted(scores, key=lambda name: -float(np.mean(scores[name])))[:2]
    lead = sum(scores[first]) - sum(scores[second])
    moves = sorted(
        ((max(a, 1 - b), a - b, name) for a, b, name in zip(scores[first], scores[second], questions, strict=True)),
        key=lambda move: (-move[0], -move[1]),
    )
    used: list[str] = []
    for move, _, name in moves:
        if lead <= 1e-9:
            break
        lead -= move
        used.append(name)
    return Fragility(first=first, second=second, flips=len(used), of=2 * len(questions), questions=tuple(used))
