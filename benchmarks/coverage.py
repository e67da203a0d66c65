"""How often the intervals that evener prints cover the truth, by simulation: 2000 runs per row, exit 1 below 94 %.

python benchmarks/coverage.py [--runs 2000]

Quantiles (`stats.intervals.quantile_interval`: median, p90, p95), shares (`share_interval`), and differences of pairs
(`stats.paired.shift`), at n = 8 to 240, on values that are normal, skewed, two-humped, rounded, and mostly one value.
"-" is where n is too small and nothing is printed. The last table is what no interval here promises: values that
remember the one before.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Sequence
from statistics import NormalDist

from evener.stats.intervals import Interval, quantile_interval, share_interval
from evener.stats.paired import shift

SIZES = (8, 15, 30, 60, 240)
QUANTILES = (0.5, 0.9, 0.95)
LEAST = 0.94
SHARES = (0.5, 0.8, 0.9, 0.95, 0.978, 0.99)
MEMORIES = (0.0, 0.3, 0.6)
NORMAL = NormalDist()

Draw = Callable[[random.Random], float]
Truth = Callable[[float], float]


def two_humps(draw: random.Random) -> float:
    return draw.gauss(200, 5) if draw.random() < 0.7 else draw.gauss(400, 20)


def of_two_humps(q: float) -> float:
    """Where the mixture's distribution reaches q, by bisection."""
    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        below = 0.7 * NORMAL.cdf((middle - 200) / 5) + 0.3 * NORMAL.cdf((middle - 400) / 20)
        low, high = (middle, high) if below < q else (low, middle)
    return high


def of_rounded(q: float) -> float:
    """The least whole number that an exponential with mean 3, rounded up, is not above with probability q."""
    return math.ceil(-3 * math.log(1 - q))


DISTRIBUTIONS: dict[str, tuple[Draw, Truth]] = {
    "normal": (lambda draw: draw.gauss(200, 20), lambda q: 200 + 20 * NORMAL.inv_cdf(q)),
    "lognormal": (lambda draw: draw.lognormvariate(5, 1), lambda q: math.exp(5 + NORMAL.inv_cdf(q))),
    "two humps": (two_humps, of_two_humps),
    "rounded": (lambda draw: math.ceil(draw.expovariate(1 / 3)), of_rounded),
    "mostly 20": (lambda draw: 20.0 if draw.random() < 0.8 else 40.0, lambda q: 20.0 if q <= 0.8 else 40.0),
}


def covered(intervals: Sequence[Interval | None], truth: float) -> float | None:
    """The share of intervals that hold the truth; None where none was given."""
    known = [interval for interval in intervals if interval is not None]
    return sum(low <= truth <= high for low, high in known) / len(known) if known else None


def of_quantiles(name: str, n: int, runs: int) -> list[float | None]:
    sample, truth = DISTRIBUTIONS[name]
    draw = random.Random(f"{name}/{n}")
    samples = [[sample(draw) for _ in range(n)] for _ in range(runs)]
    return [covered([quantile_interval(values, q) for values in samples], truth(q)) for q in QUANTILES]


def of_shares(share: float, n: int, runs: int) -> float | None:
    draw = random.Random(f"{share}/{n}")
    counts = [sum(draw.random() < share for _ in range(n)) for _ in range(runs)]
    known = {count: share_interval(count, n) for count in set(counts)}
    return covered([known[count] for count in counts], share)


def of_pairs(n: int, runs: int) -> float | None:
    """Differences of speed between two sides, 3 % apart, with the noise of a machine that others use too."""
    draw = random.Random(n)

    def difference() -> float:
        return 0.03 + draw.gauss(0, 0.02) * (5 if draw.random() < 0.1 else 1)

    return covered([shift([difference() for _ in range(n)]).interval for _ in range(runs)], 0.03)


def of_memory(memory: float, n: int, runs: int) -> float | None:
    """The median of a normal series of which each value keeps a part of the one before."""
    draw = random.Random(f"{memory}/{n}")

    def series() -> list[float]:
        value = draw.gauss(0, 1)
        values = []
        for _ in range(n):
            values.append(value)
            value = memory * value + math.sqrt(1 - memory * memory) * draw.gauss(0, 1)
        return values

    return covered([quantile_interval(series(), 0.5) for _ in range(runs)], 0.0)


def show(title: str, columns: Sequence[str], rows: dict[str, list[float | None]]) -> list[float]:
    print(f"\n{title:<24}" + "".join(f"{column:>8}" for column in columns))
    for name, row in rows.items():
        print(f"{name:<24}" + "".join(f"{'-' if value is None else f'{value:.1%}':>8}" for value in row))
    return [value for row in rows.values() for value in row if value is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    sizes = [f"n={n}" for n in SIZES]
    found: list[float] = []
    by_name = {name: [of_quantiles(name, n, runs) for n in SIZES] for name in DISTRIBUTIONS}
    for at, q in enumerate(QUANTILES):
        found += show(f"p{q * 100:g}", sizes, {name: [row[at] for row in rows] for name, rows in by_name.items()})
    found += show("shares", sizes, {f"{share:.1%}": [of_shares(share, n, runs) for n in SIZES] for share in SHARES})
    found += show("pairs", sizes[:-1], {"a shift": [of_pairs(n, runs) for n in SIZES[:-1]]})
    show(
        "median, not promised", sizes,
        {f"keeps {memory:g} of the last": [of_memory(memory, n, runs) for n in SIZES] for memory in MEMORIES},
    )  # fmt: skip
    print(f"\nleast of what is promised: {min(found):.1%}, at least {LEAST:.0%} asked; {runs} runs a row")
    return 0 if min(found) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
