import random

import numpy as np
import pytest

from evener.stats.clusters import estimate, of_scores, ratio, student, sums


def test_no_values_have_no_mean():
    assert estimate([], []) is None


def test_a_single_cluster_says_nothing_of_its_spread():
    alone = estimate([1.0, 0.0], ["a", "a"])
    assert alone is not None
    assert (alone.mean, alone.se, alone.interval) == (0.5, None, None)


def test_independent_questions_have_the_textbook_error():
    # 0, 0, 1, 1: variance 1/3, over 4: sqrt(1/12)
    found = estimate([0, 0, 1, 1], [1, 2, 3, 4])
    assert found is not None
    assert found.se == pytest.approx((1 / 12) ** 0.5)


def test_twins_that_move_together_count_once():
    """Each question twice: as if there were half as many."""
    twice = estimate([0, 0, 1, 1, 0, 0, 1, 1], ["a", "a", "b", "b", "c", "c", "d", "d"])
    once = estimate([0, 1, 0, 1], ["a", "b", "c", "d"])
    assert twice is not None
    assert once is not None
    assert twice.se == pytest.approx(once.se)


def test_error_agrees_with_statsmodels():
    import statsmodels.api as sm

    draw = random.Random(3)
    clusters = [draw.randrange(12) for _ in range(60)]
    values = [draw.random() + 0.1 * cluster for cluster in clusters]
    fit = sm.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": np.array(clusters)}, use_t=True)
    found = estimate(values, clusters)
    assert found is not None
    assert found.se == pytest.approx(float(fit.bse[0]), abs=1e-9)
    low, high = fit.conf_int()[0]
    assert found.interval == pytest.approx((low, high), abs=1e-6)


def test_all_right_is_no_proof_of_perfection():
    found = estimate([1] * 10, range(10), share=True)
    assert found is not None
    assert found.interval is not None
    assert found.interval[0] < 0.75
    assert found.interval[1] == 1.0


def test_five_pairs_that_are_all_right_prove_less_than_ten_questions():
    pairs = estimate([1] * 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], share=True)
    apart = estimate([1] * 10, range(10), share=True)
    assert pairs is not None
    assert apart is not None
    assert pairs.interval is not None
    assert apart.interval is not None
    assert pairs.interval[0] < apart.interval[0]


def test_sums_keep_the_order_in_which_clusters_appear():
    assert sums([1, 2, 3, 4], ["b", "a", "b", "a"]) == [4, 6]


def test_students_quantile_is_the_table_s():
    assert student(9, 0.95) == pytest.approx(2.262, abs=5e-4)
    assert student(1, 0.95) == pytest.approx(12.706, abs=5e-4)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_interval_of_a_share_in_clusters_covers_it(share):
    """24 documents of 5 segments whose difficulty differs by document."""
    draw, hits, rounds = random.Random(11), 0, 600
    for _ in range(rounds):
        values, clusters = [], []
        for document in range(24):
            own = draw.betavariate(6 * share, 6 * (1 - share))
            values += [float(draw.random() < own) for _ in range(5)]
            clusters += [document] * 5
        found = estimate(values, clusters, share=True)
        assert found is not None
        assert found.interval is not None
        hits += found.interval[0] <= share <= found.interval[1]
    assert hits / rounds >= 0.93  # 0.95 less two standard errors of 600 rounds


def test_an_interval_of_scores_ends_where_scores_end():
    near_zero = estimate([0.0, 0.0, 0.0, 0.1], "abcd")
    assert near_zero.interval[0] < 0
    assert of_scores(near_zero) == (0.0, near_zero.interval[1])
    assert of_scores(estimate([1.0, 1.0, 1.0, 0.9], "abcd"))[1] == 1.0
    assert of_scores(estimate([0.5], "a")) is None


def test_a_ratio_and_its_clustered_error_agree_with_statsmodels():
    """Penalties over source units: a line through nothing, weighted by 1 / size."""

    import statsmodels.api as sm

    draw = random.Random(12)
    sizes = [draw.randint(3, 40) for _ in range(60)]
    values = [draw.choice((0, 0, 1, 5, 6, 25)) * size / 20 for size in sizes]
    documents = [n // 5 for n in range(60)]
    found = ratio(values, sizes, documents)
    fit = sm.WLS(np.array(values), np.array(sizes), weights=1 / np.array(sizes)).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(documents), "use_correction": False}
    )
    assert found.mean == pytest.approx(float(fit.params[0]), abs=1e-6)
    assert found.se == pytest.approx(float(fit.bse[0]) * (12 / 11) ** 0.5, abs=1e-6)
    assert (found.n, found.clusters) == (60, 12)


def test_one_document_tells_nothing_of_how_a_ratio_varies_and_no_size_has_none():
    assert ratio([1.0, 2.0], [10, 20], ["d", "d"]).interval is None
    assert ratio([1.0], [0], ["d"]) is None
