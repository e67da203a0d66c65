from __future__ import annotations

import random
from math import log

import pytest

from evener.stats.intervals import quantile, quantile_interval, wilson


# Agresti & Coull 1998, and Wilson's formula by hand with z = 1.95996.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_gives_the_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_tried_has_no_share() -> None:
    assert wilson(0, 0) is None


def test_a_quantile_lies_between_its_neighbours() -> None:
    assert quantile([30.0, 10.0, 20.0, 40.0], 0.5) == 25.0
    assert quantile([10.0, 20.0], 0.9) == pytest.approx(19.0)
    assert quantile([7.0], 0.9) == 7.0
    assert quantile([], 0.5) is None


# Ranks from the usual tables of distribution-free intervals of the median (e.g. Conover, table A.3 and its kin).
@pytest.mark.parametrize(
    ("n", "low", "high"), [(6, 1, 6), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18), (30, 10, 21)]
)
def test_the_median_lies_between_the_ranks_of_the_tables(n: int, low: int, high: int) -> None:
    values = [float(rank) for rank in range(1, n + 1)]
    random.Random(n).shuffle(values)
    assert quantile_interval(values, 0.5) == (low, high)


def test_below_six_values_the_median_has_no_95_percent_interval() -> None:
    assert quantile_interval([1.0] * 5, 0.5) is None
    assert quantile_interval([], 0.5) is None


def test_below_29_values_p90_has_no_95_percent_interval() -> None:
    assert quantile_interval([1.0] * 28, 0.9) is None
    assert quantile_interval([float(rank) for rank in range(1, 30)], 0.9) == (21, 29)


def test_thousands_of_values_do_not_overflow() -> None:
    assert quantile_interval([float(rank) for rank in range(5000)], 0.5) is not None


@pytest.mark.parametrize(("q", "n"), [(0.5, 8), (0.5, 15), (0.5, 30), (0.5, 60), (0.9, 30), (0.9, 60), (0.9, 240)])
def test_a_printed_interval_covers_at_least_94_percent(q: float, n: int) -> None:
    draw, truth, runs = random.Random(n), -log(1 - q), 2000
    hits = 0
    for _ in range(runs):
        interval = quantile_interval([draw.expovariate(1.0) for _ in range(n)], q)
        assert interval is not None
        hits += interval[0] <= truth <= interval[1]
    assert hits >= 0.94 * runs
