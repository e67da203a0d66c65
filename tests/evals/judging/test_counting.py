from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evener.evals.judging.counting import mqm_results, pair_results, passport, rubric_results
from evener.records.answers import Asked, JudgeIdentity, Judgement
from tests.evals.answered import question

JUDGE = JudgeIdentity(provider="h", model="j", prompt_sha256="0")


def judged(q, candidate, verdict, *, other=None, probe=None, **details):
    return Judgement(
        judge=JUDGE,
        asked=Asked(question=q, candidate=candidate),
        other=None if other is None else Asked(question=q, candidate=other),
        verdict=verdict,
        outcome="judge_unparseable" if verdict is None else "ok",
        raw="",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        probe=probe,
        details=details,
    )


def both(q, first, second):
    """A pair in both orders, as the judge said it each time."""
    return [judged(q, "a", first, other="b"), judged(q, "a", second, other="b", swapped=True)]


def test_a_winner_must_win_in_both_orders():
    said = [*both("1", "A", "B"), *both("2", "A", "A"), *both("3", "B", "A"), *both("4", "TIE", "TIE")]
    (found,) = pair_results(said)
    assert (found.first_wins, found.second_wins, found.ties, found.order_changed) == (1, 1, 2, 1)


def test_a_pair_with_one_order_unread_does_not_count():
    (found,) = pair_results([*both("1", "A", "B"), *both("2", "A", None)])
    assert (found.first_wins, found.ties) == (1, 0)


def test_six_wins_to_nothing_are_significant():
    (found,) = pair_results([one for q in "123456" for one in both(q, "A", "B")])
    assert found.p == pytest.approx(2 / 64)


def test_penalties_per_thousand_units_by_document():
    questions = {
        "1": question("translation", id="1", cluster="d1", category="zh-en", prompt="译：\n\n一二三四五六七八九十"),
        "2": question("translation", id="2", cluster="d2", category="zh-en", prompt="译：\n\n一二三四五六七八九十"),
    }
    flaws = [{"severity": "major", "category": "x", "span": "y"}, {"severity": "minor", "category": "x", "span": "z"}]
    said = [judged("1", "a", "2", flaws=flaws, invented=1), judged("2", "a", "0", flaws=[], invented=0)]
    (found,) = mqm_results(questions, said)
    # 5 + 1 over 20 characters
    assert found.per_1000 == 300
    assert (found.segments, found.documents, found.errors, found.invented) == (2, 2, {"major": 1, "minor": 1}, 1)


def test_what_could_not_be_read_is_no_praise():
    assert mqm_results({"1": question("translation", id="1")}, [judged("1", "a", None)]) == ()


def test_a_judge_that_was_asked_twice_has_one_vote_its_last():
    said = [judged("1", "a", "PASS"), judged("1", "a", "FAIL"), judged("2", "a", "FAIL"), judged("2", "a", None)]
    (found,) = rubric_results(said)
    assert (found.passed.hits, found.passed.n) == (0, 2)


def test_translations_without_a_grave_error_are_counted_by_document():
    questions = {
        q: question("translation", id=q, cluster=f"d{q in '12'}", category="zh-en", prompt="译：\n\n一二")
        for q in "123"
    }
    said = [
        judged("1", "a", "1", flaws=[{"severity": "minor", "category": "x", "span": "y"}]),
        judged("2", "a", "1", flaws=[{"severity": "major", "category": "x", "span": "y"}]),
        judged("3", "a", "1", flaws=[{"severity": "critical", "category": "x", "span": "y"}]),
    ]
    (found,) = mqm_results(questions, said)
    assert (found.sound.hits, found.sound.n) == (1, 3)


def test_passport_tells_right_labels_from_wrong_ones_and_tricks():
    said = [
        judged("1", "probe: CORRECT", "CORRECT", probe="known", truth="CORRECT"),
        judged("1", "probe: INCORRECT", "CORRECT", probe="known", truth="INCORRECT"),
        judged("1", "probe", "A", probe="identical", truth="TIE"),
        judged("1", "probe", "B", probe="length", truth="A"),
        judged("2", "probe", "TIE", probe="length", truth="A"),
        judged("1", "probe: family", "A", probe="family", truth="B"),
        judged("2", "probe: family", "B", probe="family", truth="B"),
        judged("3", "a", "PASS"),
        judged("3", "a", "FAIL", probe="retest"),
    ]
    found = passport(
        said, people=[("right", "right"), ("right", "wrong")], rows=[["right", "right"], ["right", "wrong"]]
    )
    assert (found.known.hits, found.known.n) == (1, 2)
    assert (found.known_right.hits, found.known_wrong.hits) == (1, 0)
    assert (found.identical.hits, found.length.hits, found.length.n) == (0, 1, 2)
    assert (found.family.hits, found.family.n) == (1, 2)
    assert (found.retest.hits, found.retest.n) == (0, 1)
    assert found.order is None
    assert found.people.hits == 1
    # four labels, three of them "right": 1 - 3 * 2 / (16 - 9 - 1)
    assert found.alpha == pytest.approx(0.0)


def test_a_probe_that_stands_in_two_runs_counts_once():
    one = judged("1", "probe: CORRECT", "CORRECT", probe="known", truth="CORRECT")
    assert passport([one, one]).known.n == 1


def test_epochs_of_one_question_are_no_further_evidence():
    """Ten epochs of one question, all won by one side: one question, so that nothing is shown."""
    said = [
        replace(one, asked=replace(one.asked, epoch=n), other=replace(one.other, epoch=n))
        for n in range(10)
        for one in both("1", "A", "B")
    ]
    (found,) = pair_results(said)
    assert (found.first_wins, found.p) == (10, 1.0)


def test_questions_of_one_document_count_once():
    said = [one for q in "123456" for one in both(q, "A", "B")]
    (found,) = pair_results(said, {q: "doc" if q in "12345" else "other" for q in "123456"})
    assert found.p == 0.5


def test_epochs_do_not_narrow_the_interval_of_a_rubric():
    said = [judged(q, "a", "PASS") for q in "123"]
    again = [replace(one, asked=replace(one.asked, epoch=n)) for one in said for n in range(5)]
    assert rubric_results(again)[0].passed.n == 15
    assert rubric_results(again)[0].passed.interval == rubric_results(said)[0].passed.interval


def test_an_outage_of_the_judge_is_no_wrong_label():
    lost = replace(judged("1", "probe: CORRECT", None, probe="known", truth="CORRECT"), outcome="judge_error")
    found = passport([lost, judged("2", "probe: CORRECT", "CORRECT", probe="known", truth="CORRECT")])
    assert (found.known.hits, found.known.n) == (1, 1)


def test_two_replies_that_could_not_be_read_agree_in_nothing():
    said = [judged("1", "a", None), judged("1", "a", None, probe="retest"), judged("2", "a", "PASS")]
    found = passport([*said, judged("2", "a", None, probe="retest")])
    assert (found.retest.hits, found.retest.n) == (0, 1)
