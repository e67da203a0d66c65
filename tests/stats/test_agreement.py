import random

import pytest

from evener.stats.agreement import _deviations, _welch, ac1, agreement, alpha, alpha_interval, corrected, kappa

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


def test_alpha_has_an_interval_over_clusters_from_ten_on():
    draw = random.Random(4)
    things = [[draw.choice("rw"), draw.choice("rw")] for _ in range(40)]
    assert alpha_interval(things, [n // 5 for n in range(40)]) is None
    low, high = alpha_interval(things, range(40)) or (0, 0)
    assert low < alpha(things) < high
    wide = alpha_interval([thing for thing in things for _ in range(3)], [n // 3 for n in range(120)]) or (0, 0)
    assert wide[1] - wide[0] > 0.8 * (high - low), "the same things three times tell hardly more than once"


def test_people_correct_a_judge_that_is_too_kind():
    """Of 104 things the judge passes 78; of four that people looked at it passed one too many."""
    found = corrected([1.0, 1.0, 0.0, 1.0] * 26, [None] * 100 + [1.0, 0.0, 0.0, 1.0])
    assert found is not None
    assert (found.judge_mean, found.bias, found.n, found.labelled) == (0.75, 0.25, 104, 4)
    assert found.mean == pytest.approx(0.5)


def test_correction_needs_two_labels_of_people():
    assert corrected([1.0, 0.0, 1.0], [1.0, None, None]) is None


def test_what_people_labelled_throughout_is_their_own_mean():
    found = corrected([1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0])
    assert found is not None
    assert found.mean == pytest.approx(0.25)


def graded(n, *, seed):
    """Judge and people on a scale that is no share, so that nothing is added to the errors; 15 things were labelled."""
    draw = random.Random(seed)
    judge = [draw.gauss(50, 10) for _ in range(n)]
    return judge, [value + draw.gauss(-4, 6) if i < 15 else None for i, value in enumerate(judge)]


def test_the_standard_error_of_a_correction_agrees_with_statsmodels():
    """Judge's scores and errors as one regression on two constants, clustered: the difference of the two."""
    import numpy as np
    import statsmodels.api as sm

    judge, people = graded(60, seed=3)
    clusters = [n % 15 for n in range(60)]  # of each cluster one thing was labelled
    found = corrected(judge, people, clusters)
    errors = [judge[i] - people[i] for i in range(15)]
    rows = np.array([[1, 0]] * 60 + [[0, 1]] * 15)
    groups = np.array(clusters + clusters[:15])
    fit = sm.OLS(np.array(judge + errors), rows).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    test = fit.t_test([1, -1])
    assert found.mean == pytest.approx(float(test.effect[0]), abs=1e-6)
    assert found.se == pytest.approx(float(test.sd[0, 0]) * (15 / 14) ** 0.5, abs=1e-6)


def test_its_degrees_of_freedom_agree_with_statsmodels():
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    a, b = [1.0, 4.0, 2.0, 8.0, 5.0], [0.5, 0.1, 0.9, 0.4, 0.4, 0.3, 0.8]
    ours = _welch([_deviations(a, range(5)), _deviations(b, range(7))])
    assert ours == pytest.approx(float(CompareMeans(DescrStatsW(a), DescrStatsW(b)).dof_satt()), abs=1e-6)


def test_its_interval_holds_the_truth_as_often_as_it_says():
    """A judge that passes 2 of 5 wrong answers, 60 answers, 20 labels: 400 draws."""
    draw, hits = random.Random(6), 0
    for _ in range(400):
        truth = [float(draw.random() < 0.7) for _ in range(60)]
        judge = [float(draw.random() < (0.9 if right else 0.4)) for right in truth]
        low, high = corrected(judge, [*truth[:20], *[None] * 40]).interval
        hits += low <= 0.7 <= high
    assert 380 <= hits <= 400


def test_few_labels_without_an_error_do_not_prove_that_there_is_none():
    found = corrected([1.0] * 30 + [0.0] * 10, [1.0 if n % 2 else None for n in range(30)] + [None] * 10)
    assert found is not None
    assert found.bias == 0
    # 17 errors, two of which nobody made: 17 / 16 * 2 / 17^2 = 0.00735, and 0.0048 of the mean
    assert found.se == pytest.approx(0.110, abs=0.001)
