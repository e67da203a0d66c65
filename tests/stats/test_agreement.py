import random

import pytest

from evener.stats.agreement import ac1, agreement, alpha, corrected, kappa

PAIRS = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15


def test_kappa_of_the_textbook():
    # Cohen's own kind of table: 0.7 agree, chance 0.5, kappa 0.4
    assert kappa(PAIRS) == pytest.approx(0.4)


def test_kappa_agrees_with_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    assert kappa(PAIRS) == pytest.approx(float(cohens_kappa([[20, 5], [10, 15]]).kappa), abs=1e-6)


def test_ac1_stays_steady_where_nearly_all_labels_are_the_same():
    skewed = [("y", "y")] * 90 + [("y", "n")] * 5 + [("n", "y")] * 5
    assert kappa(skewed) == pytest.approx(-0.0526, abs=1e-4)
    # chance 2 * 0.95 * 0.05 = 0.095: (0.9 - 0.095) / 0.905
    assert ac1(skewed) == pytest.approx(0.805 / 0.905)


def test_one_label_leaves_kappa_undefined():
    found = agreement([("y", "y")] * 12)
    assert (found.raw, found.kappa, found.ac1) == (1.0, None, 1.0)


def test_gaps_are_left_out_and_nothing_is_nothing():
    assert agreement([("y", None), (None, "n")]).n == 0
    assert agreement([]).raw is None


def test_kappa_has_an_interval_from_ten_things_on():
    assert agreement(PAIRS[:9]).kappa_interval is None
    low, high = agreement(PAIRS).kappa_interval or (0, 0)
    assert low < 0.4 < high


def test_alpha_agrees_with_the_peer():
    import krippendorff

    draw = random.Random(8)
    things = [[draw.choice((1, 2, 3, None)) if draw.random() < 0.6 else 1 for _ in range(4)] for _ in range(30)]
    table = [[float("nan") if thing[who] is None else thing[who] for thing in things] for who in range(4)]
    assert alpha(things) == pytest.approx(krippendorff.alpha(table, level_of_measurement="nominal"), abs=1e-6)


def test_alpha_needs_two_labels_of_one_thing():
    assert alpha([["a"], [None, "b"]]) is None
    assert alpha([["a", "a"]]) is None


def test_people_correct_a_judge_that_is_too_kind():
    found = corrected([1.0, 1.0, 0.0, 1.0] * 25, [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)])
    assert found is not None
    assert found.judge_mean == 0.75
    assert found.bias == 0.25
    assert found.mean == pytest.approx(0.5)


def test_correction_needs_two_labels_of_people():
    assert corrected([1.0, 0.0], [(1.0, 1.0)]) is None
