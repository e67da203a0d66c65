"""What finished runs show of a suite: worked out by hand."""

from dataclasses import replace

import pytest

from evener.evals.seen import Seen, rate, seen
from evener.records.measures import Measure
from tests.report.eval_samples import RESULT
from tests.report.eval_samples import suite as result_of

QUESTIONS = [f"q{i}" for i in range(8)]


def run(candidate, scores, *, clusters=None, **more):
    questions = QUESTIONS[: len(scores)]
    one = result_of("mine", 0.5, 0.5, scores=dict(zip(questions, scores, strict=True)), **more)
    one = replace(one, clusters={q: c for q, c in zip(questions, clusters or questions, strict=True)})
    return replace(RESULT, candidate=candidate, results=(one,), parallel=2)


def of(*runs):
    return seen(runs, "0" * 64)


def test_two_candidates_show_how_often_they_disagree():
    found = of(run("a", [1, 1, 1, 0, 0, 1, 1, 1]), run("b", [1, 0, 1, 1, 0, 1, 1, 1]))
    assert found.discordance == 0.25
    # Differences 1 and -1 and six noughts: variance 2 / 7.
    assert found.spread == pytest.approx((2 / 7) ** 0.5)
    assert (found.size, found.epochs) == (1.0, 1)


def test_questions_of_a_document_differ_together():
    found = of(
        run("a", [1.0, 1.0, 0.5, 0.5], clusters="aabb"),
        run("b", [0.6, 0.8, 0.6, 0.6], clusters="aabb"),
    )
    assert found.discordance is None
    # Documents differ by 0.3 and -0.1 per question: mean 0.1, deviation sqrt(2) * 0.2.
    assert found.spread == pytest.approx(0.2 * 2**0.5)
    assert found.size == 2.0


def test_three_candidates_are_three_pairs_and_one_asked_twice_is_none():
    a, b, c = run("a", [1, 1, 0, 0]), run("b", [1, 0, 0, 0]), run("c", [0, 0, 1, 1])
    assert of(a, b, c).discordance == pytest.approx((0.25 + 1.0 + 0.75) / 3)
    assert of(a, replace(b, candidate="a")) == Seen(tokens=1200 / 42)
    assert of(a).spread is None


def test_questions_that_one_has_no_score_for_are_left_out():
    assert of(run("a", [1, None, 0, 1]), run("b", [0, 1, 0, 1])).discordance == pytest.approx(1 / 3)


def test_candidates_that_answered_alike_show_no_differences():
    assert of(run("a", [1, 0, 1]), run("b", [1, 0, 1])).spread is None
    assert of(run("a", [0.3, 0.4, 0.9]), run("b", [0.2, 0.3, 0.8])).spread is None


def test_epochs_show_both_variances():
    measures = {"variance_between": Measure(value=0.04), "variance_within": Measure(value=0.1)}
    other = {"variance_between": Measure(value=0.06), "variance_within": Measure(value=None)}
    found = of(run("a", [1, 0.5], measures=measures), run("b", [0.5, 1], measures=other))
    assert (found.between, found.within) == (pytest.approx(0.05), 0.1)


def test_another_suite_or_arm_shows_nothing():
    assert seen([run("a", [1, 0]), run("b", [0, 1])], "1" * 64) == Seen()
    assert of(run("a", [1, 0], arm="vote"), run("b", [0, 1], arm="vote")) == Seen()


def test_the_rate_is_that_of_all_slots_together():
    # 1200 tokens in answers of 61.5 s together, two at once.
    assert rate([run("a", [1, 0])]) == pytest.approx(1200 / (61.5 / 2))
    assert rate([run("a", [1, 0], tokens=None)]) is None
    assert rate([]) is None
