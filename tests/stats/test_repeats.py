import pytest

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
