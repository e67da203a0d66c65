"""Leaving out one cluster after the other, against what is known by other ways."""

import numpy as np
import pytest
import statsmodels.api as sm

from evener.stats.clusters import estimate
from evener.stats.jackknife import jackknife, of_sums


def mean(sums):
    return sums[1] / sums[0]


def test_of_a_mean_over_clusters_of_one_size_it_is_the_interval_of_the_mean():
    values = np.random.default_rng(3).normal(0.6, 0.2, size=60)
    clusters = np.repeat(np.arange(12), 5)
    sums = [(5.0, values[clusters == c].sum()) for c in range(12)]
    figure, interval = of_sums(sums, mean)
    known = estimate(values.tolist(), clusters.tolist())
    assert figure == pytest.approx(known.mean)
    assert interval == pytest.approx(known.interval, abs=1e-9)


def test_it_is_statsmodels_most_careful_error_of_a_mean():
    """HC3 is the jackknife's, but for the root of (n - 1) / n."""
    values = np.random.default_rng(4).normal(size=25)
    _, (low, high) = of_sums([(1.0, x) for x in values], mean)
    se = sm.OLS(values, np.ones(25)).fit(cov_type="HC3", use_t=True).bse[0] * np.sqrt(24 / 25)
    assert (high - low) / 2 == pytest.approx(2.0638985616 * se, abs=1e-6)


def test_a_ratio_of_clusters_of_many_sizes_by_hand():
    """Right of asked: 1 of 1, 1 of 2, 0 of 2: 2 / 5. Without each: 1 / 4, 1 / 3, 2 / 3."""
    figure, interval = of_sums([(1, 1), (2, 1), (2, 0)], mean)
    assert figure == pytest.approx(0.4)
    without = np.array([1 / 4, 1 / 3, 2 / 3])
    half = 4.302652730 * np.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum())
    assert interval == pytest.approx((0.4 - half, 0.4 + half))


def test_an_interval_ends_where_the_figure_must():
    _, interval = of_sums([(1, 1), (2, 1), (2, 0)], mean, low=0.0, high=1.0)
    assert interval == (0.0, 1.0)


def test_where_nothing_tells_how_it_varies_there_is_no_interval():
    assert jackknife(0.5, [0.5]) is None
    assert jackknife(0.5, [0.5, 0.5, 0.5]) is None
    assert jackknife(0.5, [0.4, None, 0.6]) is None
    assert of_sums([(0, 0)], lambda sums: None) == (None, None)
