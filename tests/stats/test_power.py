import numpy as np
import pytest
from scipy.stats import multinomial, norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.power import TTestPower

from evener.stats.power import (
    best_split,
    connor,
    design,
    detectable_gap,
    equal_needed,
    graded_gap,
    graded_needed,
    level,
    mcnemar_power,
    questions_like,
    questions_needed,
    standard_error,
    t_power,
)


@pytest.mark.parametrize(
    ("gap", "two", "five"), [(0.05, 940, 1595), (0.10, 234, 397), (0.15, 103, 175), (0.20, 57, 97), (0.30, 24, 42)]
)
def test_connors_formula_gives_the_published_table(gap, two, five):
    assert connor(gap) == two
    assert connor(gap, models=5) == five


def test_a_gap_beyond_the_discordance_is_none():
    assert questions_needed(0.4) is None
    assert questions_needed(0.0) is None
    assert questions_needed(0.1, models=1) is None


@pytest.mark.parametrize(
    ("n", "gap", "discordance", "alpha"), [(14, 0.3, 0.4, 0.05), (21, 0.25, 0.3, 0.02), (9, 0.5, 1.0, 0.05)]
)
def test_power_of_the_exact_test_is_that_of_all_tables_that_can_come(n, gap, discordance, alpha):
    """Every (won, lost) by scipy's multinomial, tested by statsmodels."""
    chances = [(discordance + gap) / 2, (discordance - gap) / 2, 1 - discordance]
    power = sum(
        multinomial.pmf([won, lost, n - won - lost], n, chances)
        for won in range(n + 1)
        for lost in range(min(won, n + 1 - won))
        if mcnemar([[0, won], [lost, 0]], exact=True).pvalue <= alpha
    )
    assert mcnemar_power(n, gap, discordance=discordance, alpha=alpha) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize(("gap", "models"), [(0.10, 2), (0.20, 2), (0.10, 6), (0.20, 6)])
def test_planned_gaps_are_found_4_times_in_5_where_connors_number_falls_short(gap, models):
    n = questions_needed(gap, models=models)
    assert mcnemar_power(n, gap, alpha=level(models)) >= 0.8 > mcnemar_power(n - 1, gap, alpha=level(models))
    assert mcnemar_power(connor(0.1), 0.1) == pytest.approx(0.776, abs=0.001)


def test_a_gap_that_only_one_model_ever_wins_needs_six_wins():
    # n questions, each won with 0.3, else level: P(B(n, 0.3) >= 6) is 0.8065 at 25 and 0.7712 at 24 (binomial tables).
    assert questions_needed(0.3) == 25
    assert mcnemar_power(24, 0.3) == pytest.approx(0.7712, abs=1e-4)


def test_above_ten_thousand_questions_connors_formula_is_near_enough():
    assert connor(0.0155) < 10_000 < connor(0.015)
    assert questions_needed(0.0155) == pytest.approx(connor(0.0155), rel=0.015)
    assert questions_needed(0.015) == connor(0.015)


@pytest.mark.parametrize(("models", "n"), [(2, 61), (2, 249), (6, 437)])
def test_detectable_gap_is_the_inverse(models, n):
    gap = detectable_gap(n, models=models)
    assert mcnemar_power(n, gap, alpha=level(models)) >= 0.8 > mcnemar_power(n, gap - 0.001, alpha=level(models))
    assert gap == pytest.approx({61: 0.2, 249: 0.1, 437: 0.1}[n], abs=0.0011)


def test_too_few_questions_find_no_gap():
    assert detectable_gap(10) is None
    assert detectable_gap(0) is None
    assert detectable_gap(400, models=1) is None


@pytest.mark.parametrize(
    ("n", "gap", "sd", "alpha"), [(30, 0.08, 0.15, 0.05), (131, 0.05, 0.15, 0.05 / 15), (3, 1, 1, 0.05)]
)
def test_power_of_graded_scores_is_that_of_statsmodels(n, gap, sd, alpha):
    theirs = TTestPower().power(effect_size=gap / sd, nobs=n, alpha=alpha, alternative="larger")
    two = TTestPower().power(effect_size=gap / sd, nobs=n, alpha=alpha / 2, alternative="larger")
    assert t_power(n, gap, sd, alpha=alpha) == pytest.approx(two, abs=1e-6)
    assert two < theirs


def test_a_gap_of_many_deviations_is_found_by_any_number_of_questions_that_can():
    assert t_power(131, 0.5, 0.15) == pytest.approx(1.0)
    # Three questions, gap of 40 deviations, 0.05 / 15: t is 17.28, missed where the deviation looks 4 times as great.
    assert t_power(3, 40.0, 1.0, alpha=0.05 / 15) == pytest.approx(1 - np.exp(-((40 * 3**0.5 / 17.28) ** 2)), abs=1e-3)
    assert all(graded_gap(n, 0.15, models=2) <= graded_gap(n - 1, 0.15, models=2) for n in range(5, 200))


def test_graded_scores_need_as_many_questions_as_statsmodels_says():
    exact = TTestPower().solve_power(effect_size=0.05 / 0.15, power=0.8, alpha=0.025, alternative="larger")
    assert graded_needed(0.05, 0.15) == np.ceil(exact) == 73
    assert graded_needed(-0.05, 0.15) == 73
    assert graded_gap(73, 0.15) == 0.05
    assert graded_gap(72, 0.15) == 0.051
    assert graded_needed(1e-6, 0.15) is None  # nobody asks so many
    assert graded_gap(1, 0.15) is None
    assert graded_gap(50, 0.0) is None


@pytest.mark.parametrize(
    ("n", "models", "sweep"),
    [(6, 2, 6), (5, 2, None), (6, 3, None), (9, 5, 9), (9, 6, None), (24, 6, 10), (24, 1, None)],
)
def test_what_a_size_can_show(n, models, sweep):
    assert design(n, models).sweep == sweep


def test_of_6_questions_and_4_models_nothing_can_come():
    assert design(6, 4).is_impossible
    assert not design(24, 6).is_impossible


def test_epochs_do_not_replace_questions():
    errors = [standard_error(50, epochs, between=0.0996, within=0.2007) for epochs in (1, 3, 10)]
    assert errors == pytest.approx([0.0775, 0.0577, 0.0490], abs=1e-4)


def test_budget_goes_to_questions_first():
    assert best_split(100, 60).questions == 60
    assert best_split(100, 60).epochs == 1
    assert best_split(300, 60).epochs == 5
    assert (best_split(90, 60, least_epochs=3).questions, best_split(90, 60, least_epochs=3).epochs) == (30, 3)


def test_more_questions_like_these_shrink_the_error_by_the_root():
    # A gap of one standard error at n = 100: a standard deviation of ten gaps, 7.849 * 100 questions, two more for t.
    assert questions_like(0.02, 0.02, 100, 100) == 787
    assert questions_like(0.02, 0.04, 100, 100) == 3142
    assert questions_like(-0.02, 0.02, 100, 100) == 787
    assert questions_like(0.0, 0.02, 100, 100) is None
    assert questions_like(0.02, 0.0, 100, 100) is None


def test_more_documents_of_five_are_five_questions_each():
    # 20 documents of 5: 7.849 * 20 documents, and two more for t.
    assert questions_like(0.02, 0.02, 100, 20) == 795


def test_equal_models_are_found_equal_4_times_in_5():
    """At 2855 questions that two disagree on 3 of 10 the error is 0.01025: 0.03 is 2.927 of them, so that both tests
    reject with 2 P(Z < 2.927 - 1.645) - 1."""
    assert equal_needed(0.03, 0.3**0.5) == 2855
    assert 2 * norm.cdf(0.03 / (0.3 / 2855) ** 0.5 - 1.644854) - 1 == pytest.approx(0.8, abs=1e-3)
    assert equal_needed(0.03, 0.15) == 215
