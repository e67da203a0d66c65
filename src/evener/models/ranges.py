"""Block numbers as text: "0-2,5" for 0, 1, 2 and 5. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def spelt(numbers: Iterable[int]) -> str:
    """
    >>> spelt([0, 1, 2, 5])
    '0-2,5'
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def numbers(text: str) -> tuple[int, ...]:
    """
    >>> numbers("0-2,5")
    (0, 1, 2, 5)
    """
    pairs = (part.partition("-") for part in text.split(","))
    return tuple(n for first, _, last in pairs for n in range(int(first), int(last or first) + 1))
