"""Paired differences: figures from published tables of the signed-rank test, and coverage by simulation."""

from __future__ import annotations

import random

import pytest

from evener.stats.paired import as_change, fewest_pairs, log_ratios, shift


def test_five_pairs_have_no_interval_at_95_percent_and_six_have_their_range() -> None:
    assert fewest_pairs() == 6
    assert shift([0.1, 0.2, 0.3, 0.4, 0.5]).interval is None
    assert shift([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).interval == (0.1, 0.6)


def test_the_interval_of_ten_lies_between_the_ninth_mean_from_either_end() -> None:
    # Hollander & Wolfe's tables: n = 10, 95.1 %: the 9th smallest and largest of the 55 means.
    values = [0.0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
    # Smallest means: 0, 0.5, 1, 5, 5.5, 10, 50, 50.5, 55. The largest are 1e8 with each of them, the 9th with 1.
    assert shift(values).interval == (55.0, 50_000_000.5)


def test_the_estimate_is_the_median_of_the_means_of_every_two() -> None:
    assert shift([1.0, 2.0, 9.0]).estimate == 3.5  # of 1, 1.5, 2, 5, 5.5, 9


def test_half_and_double_are_equally_far_from_no_change() -> None:
    half, double = log_ratios([(10.0, 5.0), (10.0, 20.0)])
    assert half == -double
    assert as_change(half) == pytest.approx(-0.5)
    assert as_change(double) == pytest.approx(1.0)


@pytest.mark.parametrize("n", [6, 8, 15])
def test_the_interval_covers_the_truth_94_times_in_100(n: int) -> None:
    draw = random.Random(n)
    hits = 0
    for _ in range(2000):
        found = shift([0.3 + draw.choice((-1, 1)) * draw.expovariate(1) for _ in range(n)]).interval
        assert found is not None
        hits += found[0] <= 0.3 <= found[1]
    assert hits >= 0.94 * 2000
