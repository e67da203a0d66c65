from __future__ import annotations

import random
from math import ceil, comb, log

import pytest

from evener.stats.intervals import quantile, quantile_interval, share_interval, tries_needed, wilson


# Agresti & Coull 1998, and Wilson's formula by hand with z = 1.95996.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_gives_the_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


# Clopper and Pearson's, as R's binom.test gives them; 50 of 100 has Wilson's lower end 0.4038 inside, and so on.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(8, 10, 0.4439, 0.9748), (0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (50, 100, 0.3983, 0.6017)],
)
def test_the_interval_of_a_share_is_the_published_exact_one(successes: int, n: int, low: float, high: float) -> None:
    assert share_interval(successes, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_where_wilsons_reaches_further_it_is_the_one() -> None:
    assert share_interval(60, 60) == (pytest.approx(60 / (60 + 3.8415), abs=5e-5), 1.0)  # the exact end is 0.9404


def test_nothing_tried_has_no_share() -> None:
    assert wilson(0, 0) is None
    assert share_interval(0, 0) is None


@pytest.mark.parametrize("n", [8, 15, 30, 60, 240])
def test_the_interval_of_a_share_covers_every_share(n: int) -> None:
    """Not drawn but counted: the probability of each outcome, by the standard library's own binomial coefficients."""
    intervals = [share_interval(k, n) for k in range(n + 1)]
    for share in [*(i / 200 for i in range(1, 200)), 0.001, 0.9776, 0.999]:
        covered = sum(
            comb(n, k) * share**k * (1 - share) ** (n - k)
            for k, interval in enumerate(intervals)
            if interval is not None and interval[0] <= share <= interval[1]
        )
        assert covered >= 0.95 - 1e-9, share


def test_a_share_of_thousands_takes_no_time_and_no_overflow() -> None:
    low, high = share_interval(19_000, 20_000) or (0.0, 0.0)
    assert (low, high) == (pytest.approx(0.9469, abs=2e-4), pytest.approx(0.9530, abs=2e-4))


# 36 of 36: 0.025 ** (1/36) = 0.9026, and of 35 it is 0.89998; 72 of 72 would do for 0.95 (0.9501), but not for Wilson's
# (72 / 75.84 = 0.9493), which 73 satisfy. None of 4: 1 - 0.025 ** (1/4) = 0.602 > 0.5, of 6 0.459.
@pytest.mark.parametrize(
    ("successes", "n", "target", "needed"),
    [(8, 8, 0.9, 36), (8, 8, 0.95, 73), (0, 4, 0.5, 6), (9, 10, 0.9, None), (0, 0, 0.9, None)],
)
def test_tries_that_would_decide(successes: int, n: int, target: float, needed: int | None) -> None:
    assert tries_needed(successes, n, target, most=10_000) == needed


def test_what_would_take_too_many_tries_is_not_promised() -> None:
    assert tries_needed(901, 1000, 0.9, most=10_000) is None


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


@pytest.mark.parametrize(("q", "n", "truth"), [(0.5, 8, 3), (0.9, 30, 7), (0.95, 60, 9)])
def test_a_printed_interval_covers_values_with_ties_too(q: float, n: int, truth: int) -> None:
    """Exponential with mean 3, rounded up: P(X <= k) = 1 - exp(-k / 3) is 0.63 for 3 and 0.49 for 2, and so on."""
    draw, runs, hits = random.Random(n), 1000, 0
    for _ in range(runs):
        interval = quantile_interval([float(ceil(draw.expovariate(1 / 3))) for _ in range(n)], q)
        assert interval is not None
        hits += interval[0] <= truth <= interval[1]
    assert hits >= 0.94 * runs


def test_below_59_values_p95_has_no_95_percent_interval() -> None:
    assert quantile_interval([1.0] * 58, 0.95) is None
    assert quantile_interval([1.0] * 59, 0.95) == (1.0, 1.0)
