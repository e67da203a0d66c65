from evener.evals.planning import plan
from evener.evals.suites import shipped
from evener.records.questions import Suite
from tests.evals.answered import question


def suite(n, *, per_cluster=1):
    questions = tuple(question(id=f"q{i}", cluster=f"c{i // per_cluster}") for i in range(n))
    return Suite(name="mine", title="mine", questions=questions, sha256="0")


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
