from dataclasses import replace

import pytest

from evener.evals.verdicts import Dimension, verdict


def dimension(scores, *, clusters=None, again=None):
    questions = list(dict.fromkeys(q for column in scores.values() for q in column))
    return Dimension(name="coding", clusters=clusters or {q: q for q in questions}, scores=scores, again=again or {})


def column(right, n, start=0):
    """The first `right` of n questions from `start` on are right."""
    return {f"q{start + i}": float(i < right) for i in range(n)}


def pair(found, first, second):
    return next(p for p in found.pairs if {p.first, p.second} == {first, second})


def test_a_clear_winner_is_named_and_the_other_dropped():
    found = verdict(dimension({"a": column(55, 60), "b": column(20, 60)}))
    assert found.best == ("a",)
    assert found.dropped == ("b",)
    assert pair(found, "a", "b").word == "better"
    assert found.sentence == "a is the best; b can be dropped"


def test_near_ones_cannot_be_separated_and_the_number_of_questions_is_told():
    found = verdict(dimension({"a": column(33, 60), "b": column(30, 60)}))
    assert pair(found, "a", "b").word == "cannot be separated"
    assert pair(found, "a", "b").needed is not None
    assert found.sentence == "which of a and b is the best cannot be told"


def test_six_questions_and_four_models_are_impossible_by_design():
    found = verdict(dimension({name: column(right, 6) for name, right in zip("abcd", (6, 4, 2, 0), strict=True)}))
    assert all(p.word == "cannot be separated by design" for p in found.pairs)
    assert "no answers could separate any two" in found.design
    assert found.groups == (("a", "b", "c", "d"),)


def test_nothing_scored_is_said():
    found = verdict(dimension({"a": {"q": None}, "b": {"q": None}}))
    assert found.sentence == "nothing was scored"
    assert [s.unscored for s in found.standings] == [1, 1]


def test_a_verdict_that_hangs_on_the_policy_is_taken_back():
    """b is better on what it answered, and answered too little."""
    strong = {f"q{i}": 1.0 if i < 20 else None for i in range(60)}
    weak = {f"q{i}": 0.0 if i < 12 else 1.0 for i in range(60)}
    found = verdict(dimension({"b": strong, "a": weak}))
    assert pair(found, "a", "b").word == "cannot be separated"
    assert pair(found, "a", "b").flips_with_policy
    assert set(found.best) == {"a", "b"}


def test_candidates_without_a_common_question_are_not_comparable():
    found = verdict(dimension({"a": column(3, 5), "b": column(3, 5, start=10)}))
    assert pair(found, "a", "b").word == "not comparable"
    assert found.design == "no question is common to all candidates"


def test_a_candidate_asked_again_is_the_noise_and_no_contestant():
    scores = {"a": column(30, 40), "again": column(28, 40), "b": column(5, 40)}
    found = verdict(dimension(scores, again={"again": "a"}))
    assert found.noise == 2 / 40
    assert [s.candidate for s in found.standings] == ["a", "b"]


def test_equal_scores_on_many_questions_are_practically_equal():
    """Of 1 200 questions each wins 24."""
    a = {f"q{i}": float(i < 900) for i in range(1200)}
    b = a | {f"q{i}": 0.0 for i in range(24)} | {f"q{i}": 1.0 for i in range(1100, 1124)}
    assert pair(verdict(dimension({"a": a, "b": b})), "a", "b").word == "practically equal"


def test_whole_documents_that_move_together_count_once():
    """Thirty questions won, in three documents: three wins."""
    scores = {"a": column(30, 30), "b": column(0, 30)}
    clusters = {f"q{i}": f"d{i // 10}" for i in range(30)}
    found = verdict(dimension(scores, clusters=clusters))
    assert pair(found, "a", "b").word == "cannot be separated by design"


def test_first_place_held_by_few_scores_is_called_fragile():
    found = verdict(dimension({"a": column(32, 60), "b": column(30, 60)}))
    assert found.fragile is not None
    assert (found.fragile.first, found.fragile.flips, found.fragile.of) == ("a", 2, 120)
    assert found.fragile.questions == ("q30", "q31")


def test_one_candidate_stands_alone():
    found = verdict(dimension({"a": column(3, 5)}))
    assert found.sentence == "only a was scored"
    assert found.design == "one candidate: nothing to compare"


def test_practically_equal_under_one_policy_only_is_taken_back():
    """Alike on what both answered; but b failed a third of the questions, which counts when failures are wrong."""
    a = {f"q{i}": 0.5 for i in range(300)} | {"q0": 0.51, "q1": 0.49}
    b = {f"q{i}": 0.5 if i < 200 else None for i in range(300)}
    found = pair(verdict(dimension({"a": a, "b": b}), margin=0.03), "a", "b")
    assert (found.word, found.flips_with_policy) == ("cannot be separated", True)


def test_a_failed_epoch_counts_as_wrong_where_failures_do():
    asked = dimension({"a": {"q0": 1.0, "q1": 1.0}, "b": {"q0": 1.0, "q1": 1.0}})
    asked = replace(asked, failed={"b": {"q0": 0.5}})
    means = {s.candidate: s.mean for s in verdict(asked, policy="counted wrong").standings}
    assert means == {"a": 1.0, "b": 0.75}
    assert {s.mean for s in verdict(asked).standings} == {1.0}


def test_what_nobody_could_score_is_never_counted_wrong():
    asked = dimension({"a": {"q0": 1.0, "q1": None}, "b": {"q0": 1.0, "q1": None}})
    asked = replace(asked, failed={name: {"q1": 0.0} for name in "ab"})
    assert [(s.mean, s.n) for s in verdict(asked, policy="counted wrong").standings] == [(1.0, 1)] * 2


def test_graded_scores_need_as_many_questions_as_their_own_spread_asks_for():
    """Differences of 0.00 and 0.02 in turn: gap 0.01, standard error 0.01 / sqrt(19). (1.960 + 0.842)^2 = 7.849, so
    20 * 7.849 * (1 / 19) = 8.3: they are separated long before. With 0.5 and -0.48: gap 0.01, se 0.49 / sqrt(19)."""
    a = {f"q{i}": (0.5 if i % 2 else 0.98) for i in range(20)}
    b = {f"q{i}": (0.98 if i % 2 else 0.48) for i in range(20)}
    found = pair(verdict(dimension({"a": a, "b": b})), "a", "b")
    assert (found.test, found.word) == ("sign flips", "cannot be separated")
    assert found.needed == pytest.approx(20 * 7.849 * 0.49**2 / 19 / 0.01**2, rel=0.001)


def test_what_graded_scores_can_prove_is_told_by_how_their_differences_vary():
    """Forty differences of 0.10 and -0.08 in turn vary by 0.091: 2.9 * 0.091 / sqrt(40) is 4.2 points, with Holm's
    level for three candidates more. Right or wrong at three disagreements in ten would have needed 26."""
    a = {f"q{i}": 0.5 for i in range(40)}
    b = {f"q{i}": 0.4 if i % 2 else 0.58 for i in range(40)}
    assert "a gap of 4 points is found 4 times in 5" in verdict(dimension({"a": a, "b": b})).design
    found = verdict(dimension({"a": a, "b": b, "c": a | {"q0": 0.51}}))
    assert "a gap of 5 points is found 4 times in 5" in found.design


def test_differences_that_never_vary_tell_nothing_of_what_could_be_found():
    """Each document differs by as much: as right or wrong, of which 100 independent ones find 16 points."""
    a = {f"q{i}": 0.5 for i in range(200)}
    b = {f"q{i}": 0.4 if i % 2 else 0.58 for i in range(200)}
    clusters = {f"q{i}": f"d{i // 2}" for i in range(200)}
    assert "a gap of 16 points is found" in verdict(dimension({"a": a, "b": b}, clusters=clusters)).design
