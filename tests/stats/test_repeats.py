from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm

from evener.stats.repeats import pass_at_k, pass_hat_k, variances


def test_one_right_of_four_passes_at_two_half_of_the_time():
    assert pass_at_k(4, 1, 2) == pytest.approx(0.5)  # 3 of the 6 pairs contain it
    assert pass_hat_k(4, 1, 2) == 0
    assert pass_hat_k(4, 3, 2) == pytest.approx(0.5)


def test_more_tries_than_answers_are_unknown():
    assert pass_at_k(2, 1, 3) is None
    assert pass_hat_k(2, 1, 0) is None


def test_answers_that_never_change_have_no_variance_within():
    assert variances([[1, 1], [0, 0], [1, 1], [0, 0]]) == pytest.approx((1 / 3, 0))


def test_answers_that_are_all_chance_have_none_between():
    between, within = variances([[1, 0], [0, 1], [1, 0]]) or (1, 1)
    assert between == 0
    assert within == pytest.approx(0.5)


def test_single_answers_tell_nothing():
    assert variances([[1], [0], [1, 0]]) is None


@pytest.mark.parametrize(("n", "correct", "k"), [(10, 3, 5), (7, 7, 2), (6, 0, 6), (8, 4, 8)])
def test_passes_are_the_shares_of_all_ways_to_choose(n, correct, k):
    chosen = [[i < correct for i in some] for some in combinations(range(n), k)]
    assert pass_at_k(n, correct, k) == pytest.approx(np.mean([any(one) for one in chosen]))
    assert pass_hat_k(n, correct, k) == pytest.approx(np.mean([all(one) for one in chosen]))


def test_variances_are_those_of_statsmodels_analysis_of_variance():
    draw = np.random.default_rng(2)
    answers = draw.normal(0.5, 0.2, size=(15, 1)) + draw.normal(0, 0.1, size=(15, 4))
    fit = sm.OLS(answers.ravel(), np.kron(np.eye(15), np.ones((4, 1)))).fit()
    between, within = variances(answers.tolist())
    assert within == pytest.approx(fit.mse_resid, abs=1e-9)
    assert between == pytest.approx((fit.centered_tss - fit.ssr) / 14 / 4 - fit.mse_resid / 4, abs=1e-9)
