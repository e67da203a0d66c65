"""On which questions two candidates lie farthest apart: what a person should read before believing a verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def most_apart(
    first: Mapping[str, float | None], second: Mapping[str, float | None], *, most: int = 8
) -> tuple[str, ...]:
    """Questions with the greatest difference, greatest first; those where both are level or one is unscored never.

    Of equal differences those that `first` won and those that it lost take turns: both sides are worth seeing.
    """
    turns: Counter[tuple[float, bool]] = Counter()
    ranked = []
    for question, a in first.items():
        b = second.get(question)
        if a is None or b is None or a == b:
            continue
        side = (abs(a - b), a > b)
        ranked.append((-side[0], turns[side], a < b, question))
        turns[side] += 1
    return tuple(question for *_, question in sorted(ranked))[:most]
