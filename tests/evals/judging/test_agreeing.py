"""Several judges and people on the same answers."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import krippendorff
import pytest

from evener.evals.judging.everybody import everybody, unread_marks
from evener.evals.judging.labels import by_judge, labels, majority
from evener.records.answers import Asked, JudgeIdentity, Judgement, Review

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(q, candidate="a"):
    return Asked(question=str(q), candidate=candidate)


def judged(q, verdict, *, judge="j", other=None, template="rubric", sha="0", **details):
    return Judgement(
        judge=JudgeIdentity(provider="h", model=judge, prompt_sha256=sha),
        asked=asked(q),
        other=other,
        verdict=verdict,
        outcome="judge_unparseable" if verdict is None else "ok",
        raw="",
        at=NOW,
        details=details | {"template": template},
    )


def said(q, label, *, who="ann", pool="random"):
    return Review(reviewer=who, asked=asked(q), other=None, label=label, pool=pool, at=NOW)


def flawed(q, *severities, judge="j"):
    flaws = [{"severity": one, "category": "x", "span": "y"} for one in severities]
    return judged(q, str(len(flaws)), judge=judge, template="mqm", flaws=flaws, invented=0)


def test_a_majority_is_more_than_half_of_all_judges():
    assert majority(["right", "right", "wrong"]) == "right"
    assert majority(["right", "wrong"]) is None
    assert majority(["right", None]) is None, "one of two is no majority"
    assert majority([]) is None


def test_answers_without_a_majority_are_unscored_and_named():
    reviews = []
    judgements = [judged(q, v, judge=j) for j in "jk" for q, v in ((1, "PASS"), (2, "PASS" if j == "j" else "FAIL"))]
    judgements += [judged(3, "FAIL", judge="j"), judged(3, None, judge="k")]
    (found,) = everybody(judgements, reviews, {}).majority
    assert (found.passed.hits, found.passed.n, found.split, found.split_on) == (1, 1, 2, ("2", "3"))
    assert found.judges == ("j at h", "k at h")


def test_one_judge_alone_is_no_majority():
    assert everybody([judged(1, "PASS")], [], {}).majority == ()


def test_a_judge_that_never_said_anything_readable_takes_no_part():
    judgements = [judged(q, v, judge=j) for j, v in (("j", "PASS"), ("k", "PASS"), ("lost", None)) for q in range(3)]
    (found,) = everybody(judgements, [], {}).majority
    assert (found.judges, found.passed.hits) == (("j at h", "k at h"), 3)


def test_a_translation_is_right_without_a_critical_or_major_error():
    found = labels([flawed(1, "minor", "punctuation"), flawed(2, "minor", "major"), flawed(3)], "mqm")
    assert [found[asked(q), None] for q in (1, 2, 3)] == ["right", "wrong", "right"]


def test_a_pair_has_a_label_when_both_orders_were_read():
    b = asked(1, "b")
    one = judged(1, "A", other=b, template="pair")
    assert labels([one], "pair") == {}
    assert labels([one, judged(1, "B", other=b, template="pair", swapped=True)], "pair") == {(asked(1), b): "first"}
    assert labels([one, judged(1, "A", other=b, template="pair", swapped=True)], "pair") == {(asked(1), b): "tie"}


def test_a_judge_asked_in_other_words_is_another_one():
    old, new = judged(1, "PASS", sha="old"), judged(2, "FAIL", sha="new")
    assert by_judge([old, new]) == {"j at h": [new]}
    later = replace(new, at=NOW + timedelta(days=1))
    assert by_judge([later, old]) == {"j at h": [later]}, "the latest wording, whichever run is named first"


def test_two_judges_of_one_name_are_told_apart_by_their_parameters():
    hot = judged(1, "FAIL")
    hot = replace(hot, judge=replace(hot.judge, parameters={"temperature": 1}))
    assert list(by_judge([judged(1, "PASS"), hot])) == ["j at h", "j at h (2)"]


def test_a_request_that_failed_belongs_to_the_judge_that_answers_under_another_name():
    lost = replace(judged(2, None, judge="best"), outcome="judge_error")
    (name,) = by_judge([judged(1, "PASS", judge="best-2026-01"), lost])
    assert name == "best-2026-01 at h"
    assert list(by_judge([judged(1, "PASS", judge="x"), judged(1, "PASS", judge="y"), lost])) == [
        "x at h",
        "y at h",
        "best at h",
    ]


def test_a_judge_at_home_is_called_as_its_file_is():
    at_home = JudgeIdentity(provider="127.0.0.1", model="/home/me/models/Judge-8B.Q4_1.gguf", prompt_sha256="0")
    assert at_home.name == "Judge-8B.Q4_1.gguf at 127.0.0.1"
    assert replace(at_home, model="qwen/qwen3-32b").called == "qwen/qwen3-32b"


def test_many_replies_without_a_verdict_are_a_mark():
    said = [judged(q, None if q < 3 else "PASS") for q in range(10)]
    assert unread_marks(said) == ["no verdict in 3 of 10 replies"]
    assert unread_marks(said[1:]) == ["no verdict in 2 of 9 replies"]
    assert unread_marks(said[2:]) == []


def test_alpha_of_judges_and_people_agrees_with_the_peer():
    draw = random.Random(2)
    judgements, reviews, table = [], [], []
    for judge in ("j", "k", "l"):
        row = [draw.choice((1, 1, 0)) for _ in range(30)]
        judgements += [judged(q, "PASS" if one else "FAIL", judge=judge) for q, one in enumerate(row)]
        table.append(row)
    for who in ("ann", "bob"):
        row = [draw.choice((1, 0, float("nan"))) for _ in range(30)]
        reviews += [said(q, "right" if one else "wrong", who=who) for q, one in enumerate(row) if one == one]
        table.append(row)
    (found,) = everybody(judgements, reviews, {}).together
    assert found.alpha == pytest.approx(krippendorff.alpha(table, level_of_measurement="nominal"), abs=1e-6)
    assert (found.judges, found.people, found.n, len(found.pairs)) == (3, 2, 30, 10)
    low, high = found.interval
    assert low < found.alpha < high


def test_kappa_of_a_judge_and_people_agrees_with_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    cells = {("PASS", "right"): 20, ("PASS", "wrong"): 5, ("FAIL", "right"): 3, ("FAIL", "wrong"): 12}
    drawn = [(verdict, label) for (verdict, label), n in cells.items() for _ in range(n)]
    judgements = [judged(q, verdict) for q, (verdict, _) in enumerate(drawn)]
    reviews = [said(q, label) for q, (_, label) in enumerate(drawn)]
    found = everybody(judgements, reviews, {}).passport("j at h")
    assert found.kappa == pytest.approx(float(cohens_kappa([[20, 5], [3, 12]]).kappa), abs=1e-6)
    assert (found.people.hits, found.people.n) == (32, 40)
    low, high = found.kappa_interval
    assert low < found.kappa < high


def test_people_by_the_random_pool_correct_a_judge():
    """It passes all of 60; of 20 that people drew, they fail five."""
    judgements = [judged(q, "PASS") for q in range(60)]
    reviews = [said(q, "wrong" if q < 5 else "right") for q in range(20)]
    (found,) = everybody(judgements, reviews, {}).corrections("j at h")
    assert (found.judge_mean, found.mean, found.people_mean) == (1.0, 0.75, 0.75)
    assert (found.n, found.labelled, found.people, found.why) == (60, 20, 1, None)
    low, high = found.interval
    assert low < 0.75 < high <= 1.0


def test_labels_of_what_decides_most_correct_nobody():
    judgements = [judged(q, "PASS") for q in range(60)]
    reviews = [said(q, "wrong", pool="decisive") for q in range(40)]
    reviews += [said(q, "right") for q in range(30, 50)]
    (found,) = everybody(judgements, reviews, {}).corrections("j at h")
    assert (found.labelled, found.people_mean, found.mean) == (20, 1.0, 1.0)
    assert everybody(judgements, reviews, {}).passport("j at h").people.n == 20


def test_too_few_labels_of_people_are_said_to_be_too_few():
    judgements = [judged(q, "PASS") for q in range(60)]
    reviews = [said(q, "right") for q in range(19)] + [said(30, "unsure")]
    (found,) = everybody(judgements, reviews, {}).corrections("j at h")
    assert (found.mean, found.interval) == (None, None)
    assert found.why == "people labelled 19 at random, 20 are needed"
    assert found.unsure == 1


def test_labels_of_few_documents_are_few_labels():
    judgements = [judged(q, "PASS") for q in range(60)]
    reviews = [said(q, "right") for q in range(30)]
    (found,) = everybody(judgements, reviews, {str(q): f"d{q // 10}" for q in range(60)}).corrections("j at h")
    assert found.why == "people's labels are of 3 independent questions or documents, 10 are needed"


def test_several_people_are_one_voice_per_answer_and_where_they_are_divided_none():
    judgements = [judged(q, "PASS") for q in range(60)]
    reviews = [said(q, "right", who=who) for who in ("ann", "bob") for q in range(20)]
    reviews += [said(20, "right"), said(20, "wrong", who="bob")]
    (found,) = everybody(judgements, reviews, {}).corrections("j at h")
    assert (found.labelled, found.people, found.unsure) == (20, 2, 1)
