import random

import pytest

from evener.stats.comparisons import (
    difference,
    difference_interval,
    holm,
    is_equivalent,
    mcnemar,
    sign_flips,
)


def test_six_to_nothing_is_the_least_sweep_that_is_significant():
    assert mcnemar(6, 0) == pytest.approx(2 / 64)
    assert mcnemar(5, 0) == pytest.approx(2 / 32)


def test_no_disagreement_is_no_evidence():
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(4, 4) == 1.0


@pytest.mark.parametrize(("wins", "losses"), [(7, 1), (12, 4), (3, 3), (30, 11), (700, 500)])
def test_mcnemar_agrees_with_statsmodels(wins, losses):
    from statsmodels.stats.contingency_tables import mcnemar as peer

    assert mcnemar(wins, losses) == pytest.approx(float(peer([[0, wins], [losses, 0]], exact=True).pvalue), abs=1e-6)


def test_holm_agrees_with_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = [0.04, 0.001, 0.03, 0.2, 0.012, 1.0]
    assert holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]), abs=1e-6)


def test_holm_multiplies_the_least_by_their_number():
    assert holm([0.01, 0.5]) == [0.02, 0.5]


def test_few_clusters_are_tested_exactly():
    # of 8 patterns only +++ and --- reach a sum of 6
    assert sign_flips([1, 2, 3]) == 2 / 8


def test_many_clusters_are_drawn_and_never_give_zero():
    assert sign_flips([1.0] * 40) == pytest.approx(1 / 10_000)


def test_drawn_flips_agree_with_the_exact_test():
    draw = random.Random(4)
    sums = [draw.gauss(0.3, 1) for _ in range(14)]
    exact = sign_flips(sums)
    # one more cluster that weighs nothing makes no difference to the truth, and 16 are drawn
    drawn = sign_flips([*sums, 1e-9, 1e-9])
    assert drawn == pytest.approx(exact, abs=0.015)


def test_binary_scores_of_independent_questions_are_tested_by_mcnemar():
    found = difference([1, 1, 1, 0], [0, 0, 1, 0], "abcd")
    assert (found.test, found.wins, found.losses, found.mean) == ("exact McNemar", 2, 0, 0.5)
    assert found.p == 0.5


def test_scores_in_clusters_are_tested_by_cluster():
    """Ten questions won, all in one document: one document is won, which proves nothing."""
    found = difference([1] * 10, [0] * 10, ["d"] * 10)
    assert (found.test, found.clusters, found.p, found.interval) == ("sign flips", 1, 1.0, None)


def test_no_questions_are_an_error_of_the_caller():
    with pytest.raises(ValueError, match="no questions"):
        difference([], [], [])


def test_interval_of_few_disagreements_is_not_empty():
    low, high = difference_interval([0.0] * 20, range(20), binary=True) or (0, 0)
    assert low < -0.05
    assert high > 0.05


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.2])
def test_interval_of_a_difference_covers_it(gap):
    draw, hits, rounds, n = random.Random(2), 0, 600, 60
    for _ in range(rounds):
        gaps = []
        for _ in range(n):
            u = draw.random()
            gaps.append(1.0 if u < 0.15 + gap / 2 else -1.0 if u < 0.3 else 0.0)
        low, high = difference_interval(gaps, range(n), binary=True) or (0, 0)
        hits += low <= gap <= high
    assert hits / rounds >= 0.93


def test_equal_within_a_margin_needs_enough_questions():
    few, many = [0.0, 1.0, -1.0, 0.0] * 5, [0.0, 1.0, -1.0, 0.0] * 300
    assert not is_equivalent(few, range(20), margin=0.05, binary=True)
    assert is_equivalent(many, range(1200), margin=0.05, binary=True)


def test_equivalence_takes_two_tests_at_five_per_cent_each():
    """Standard error 0.1 / sqrt(99) = 0.01005; Student's t with 99 degrees: 1.660 for 90 %, 1.984 for 95 %."""
    gaps, clusters = [0.1, -0.1] * 50, list(range(100))
    assert is_equivalent(gaps, clusters, margin=0.0168, binary=False)
    assert not is_equivalent(gaps, clusters, margin=0.0165, binary=False)
