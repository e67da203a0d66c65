import pytest

from evener.stats.power import best_split, design, detectable_gap, questions_like, questions_needed, standard_error


@pytest.mark.parametrize(
    ("gap", "two", "five"), [(0.05, 940, 1595), (0.10, 234, 397), (0.15, 103, 175), (0.20, 57, 97), (0.30, 24, 42)]
)
def test_questions_for_a_gap_are_the_published_ones(gap, two, five):
    assert questions_needed(gap) == two
    assert questions_needed(gap, models=5) == five


def test_a_gap_beyond_the_discordance_is_none():
    assert questions_needed(0.4) is None
    assert questions_needed(0.0) is None
    assert questions_needed(0.1, models=1) is None


def test_detectable_gap_is_the_inverse():
    assert detectable_gap(234) == pytest.approx(0.1)
    assert detectable_gap(233) == pytest.approx(0.101)
    assert detectable_gap(10) is None


@pytest.mark.parametrize(
    ("n", "models", "sweep"),
    [(6, 2, 6), (5, 2, None), (6, 3, None), (9, 5, 9), (9, 6, None), (24, 6, 10), (24, 1, None)],
)
def test_what_a_size_can_show(n, models, sweep):
    assert design(n, models).sweep == sweep


def test_24_questions_and_6_models_need_a_gap_of_42_points():
    assert design(24, 6).least_gap == pytest.approx(10 / 24)
    assert design(6, 4).is_impossible


def test_epochs_do_not_replace_questions():
    errors = [standard_error(50, epochs, between=0.0996, within=0.2007) for epochs in (1, 3, 10)]
    assert errors == pytest.approx([0.0775, 0.0577, 0.0490], abs=1e-4)


def test_budget_goes_to_questions_first():
    assert best_split(100, 60).questions == 60
    assert best_split(100, 60).epochs == 1
    assert best_split(300, 60).epochs == 5
    assert (best_split(90, 60, least_epochs=3).questions, best_split(90, 60, least_epochs=3).epochs) == (30, 3)


def test_more_questions_like_these_shrink_the_error_by_the_root():
    # gap of one standard error at n = 100: (1.959964 + 0.841621)^2 = 7.848880
    assert questions_like(0.02, 0.02, 100) == 785
    assert questions_like(0.02, 0.04, 100) == 3140
    assert questions_like(-0.02, 0.02, 100) == 785
    assert questions_like(0.0, 0.02, 100) is None
    assert questions_like(0.02, 0.0, 100) is None
