from dataclasses import replace

import pytest

from evener.evals import planning
from evener.evals.planning import Wanted
from evener.evals.seen import Seen
from evener.evals.suites import shipped
from evener.records.questions import Suite
from tests.evals.answered import question


def suite(n, *, per_cluster=1, **more):
    questions = tuple(question(**({"id": f"q{i}", "cluster": f"c{i // per_cluster}"} | more)) for i in range(n))
    return Suite(name="mine", title="mine", questions=questions, sha256="0")


def plan(suites, *, whole=None, **more):
    return planning.plan(suites, Wanted(**more), whole=whole)


def row(n, models, **more):
    return plan([suite(n)], models=models, **more).suites[0]


def test_six_questions_cannot_separate_four_candidates():
    found = row(6, 4)
    assert found.sweep is None
    assert "cannot separate 4 candidates, whatever they answer: 6 independent questions, at most 2" in found.sentence


def test_nine_questions_separate_five_at_most():
    assert "at most 5" in row(9, 6).sentence


def test_five_questions_separate_nobody():
    assert "not even two" in row(5, 2).sentence


def test_24_questions_and_six_candidates_need_ten_to_nothing():
    found = row(24, 6)
    assert found.sweep == 10
    assert found.gap is None
    assert "104 questions would find one of 20" in found.sentence


def test_gap_lies_between_questions_and_clusters():
    found = plan([suite(249, per_cluster=3)], models=2).suites[0]
    assert found.gap == 0.1
    assert found.gap_by_clusters == 0.174
    assert found.sentence == "finds a gap of 10 to 18 points 4 times in 5"


def test_answers_count_epochs_arms_and_candidates():
    found = plan([suite(10)], models=3, epochs=2, arms=("single", "vote", "reflection"), k=5)
    assert found.answers == 10 * 2 * 3 * (1 + 4 + 1)


def test_minutes_are_unknown_without_a_rate():
    assert plan([suite(10)], models=2).minutes is None
    assert "--rate" in plan([suite(10)], models=2).notes[-1]
    # 10 answers of 30 tokens for each of two candidates, ten tokens a second
    assert plan([suite(10)], models=2, tokens_per_s=10.0).minutes == 1.0


def test_one_candidate_has_a_score_and_no_comparison():
    assert row(50, 1).sentence == "one candidate: a score and its interval, no comparison"


def test_a_canary_is_planned_as_what_it_is_and_not_as_a_gap():
    (row,) = plan([shipped("canary")], models=2).suites
    assert (row.questions, row.gap, row.sweep) == (12, None, None)
    assert row.sentence == "has no score: shows whether two layouts of one model answer alike"


def test_verdicts_that_no_answers_could_bring_are_named():
    assert row(6, 4).never == ("better", "worse", "practically equal")
    assert row(24, 6).never == ("practically equal",)
    # Bonett and Price's interval of no disagreement at all: 1.645 sqrt(2) / (n + 2) < 0.03 from n = 77 on.
    assert (row(76, 2).never, row(78, 2).never) == (("practically equal",), ())


def test_as_many_answers_tell_more_as_more_questions():
    found = plan([suite(20)], models=2, epochs=3, whole={"mine": 50})
    assert (found.suites[0].split.questions, found.suites[0].split.epochs) == (50, 1)
    assert "mine: as many answers tell more as 50 questions once" in found.notes
    asked = plan([suite(20)], models=2, epochs=3)
    assert (asked.suites[0].split.questions, asked.suites[0].split.epochs) == (20, 3)
    assert not any("tell more" in note for note in asked.notes)


def test_minutes_buy_questions_first_and_then_epochs():
    """Ten questions of 30 tokens for each of two candidates take a minute at ten tokens a second."""
    asked = {"models": 2, "tokens_per_s": 10.0, "whole": {"mine": 25}}
    less, more = (plan([suite(10)], within_minutes=minutes, **asked) for minutes in (0.5, 5.0))
    assert (less.suites[0].split.questions, less.suites[0].split.epochs) == (5, 1)
    assert (more.suites[0].split.questions, more.suites[0].split.epochs) == (25, 2)
    assert "mine: its share of 5 minutes is best spent on 25 questions in 2 epochs" in more.notes


def test_graded_scores_are_planned_by_the_spread_of_their_differences():
    """statsmodels' TTestPower: 131 differences with 15 points of deviation find 3.7 points, 30 find 8.0."""
    found = plan([shipped("translation")], models=2).suites[0]
    assert (found.questions, found.clusters) == (131, 30)
    assert (found.gap, found.gap_by_clusters) == (0.037, 0.08)
    assert found.never == ()
    notes = plan([shipped("translation")], models=2).notes
    assert "graded questions that do: 5 points 73, 10 points 20, 20 points 7" in notes
    assert any("assumed to have a standard deviation of 15 points" in note for note in notes)
    assert not any("right or wrong that find a gap" in note for note in notes)


def test_what_runs_have_shown_takes_the_place_of_assumptions():
    told = Seen(tokens=60.0, between=0.04, within=0.09, spread=0.1, size=3.0)
    found = plan([suite(90, per_cluster=3)], models=2, tokens_per_s=60.0, seen={"0": told})
    (one,) = found.suites
    assert one.gap == one.gap_by_clusters == pytest.approx(0.053, abs=0.0011)  # 30 clusters: 2.90 * 0.1 / sqrt(30)
    assert one.minutes == 3.0  # 180 answers of a second each
    assert one.se == pytest.approx(((0.04 + 0.09) / 90) ** 0.5)
    assert "mine: as runs show, paired differences of clusters have a standard deviation of 10 points" in found.notes
    assert not any("assumed" in note for note in found.notes)


def test_epochs_steady_what_repeated_answers_vary_by():
    told = Seen(within=0.09, spread=0.3, epochs=1, size=3.0)
    # 0.09 of which 2 * 0.09 / 3 is of repeated answers: with three epochs 0.03 + 0.02.
    assert told.spread_at(3) == pytest.approx(0.05**0.5)
    assert told.spread_at(1) == pytest.approx(0.3)
    assert replace(told, within=None).spread_at(3) == 0.3


def test_candidates_that_seldom_disagree_are_planned_by_how_often_they_do():
    found = plan([suite(100)], models=2, seen={"0": Seen(discordance=0.1, spread=0.3)})
    assert found.suites[0].gap == 0.089
    assert "mine: as runs show, two candidates disagree on 10 of 100 questions" in found.notes
    few = plan([suite(30)], models=2, seen={"0": Seen(discordance=0.1, spread=0.3)})
    assert few.suites[0].sentence == "finds no gap below 10 points reliably"


def test_greedy_epochs_are_said_to_repeat_each_other():
    assert any("at temperature 0" in note for note in plan([suite(10)], models=2, epochs=3, temperature=0.0).notes)
    assert not any("at temperature 0" in note for note in plan([suite(10)], models=2, temperature=0.0).notes)
