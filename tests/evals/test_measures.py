"""Figures beside the mean, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from evener.evals.measures import measures
from evener.records.answers import Asked, Score
from tests.evals.answered import answer, question


def score(q, value, *, epoch=0, kind=None, outcome=None):
    details = {"class": kind} if kind else {}
    asked = Asked(question=q, candidate="c", epoch=epoch)
    return Score(asked=asked, scorer="x", value=value, details=details, outcome=outcome)


def of(names, **more):
    return {name: question(**({"id": name, "cluster": name} | more)) for name in names}


def test_what_declining_comes_to():
    """Ten questions. Of six that can be answered four are right, one wrong, one declined; of four that cannot three are
    declined and one is answered. C 7, I 2: F = 14 / (10 + 7 + 2), net = (7 - 2) / 10."""
    can = of([f"can{n}" for n in range(6)], references=("x",))
    cannot = of([f"not{n}" for n in range(4)])
    premise = of(["premise"], category="false-premise", references=("x",))
    said = [*"CCCCI", "NA", *"CCCI"]
    declined = [None] * 5 + ["abstained"] * 4 + [None]
    scores = [
        score(name, float(kind == "C"), kind=kind, outcome=outcome)
        for name, kind, outcome in zip([*can, *cannot], said, declined, strict=True)
    ]
    found = measures(can | cannot | premise, scores)
    values = {name: one.value for name, one in found.items()}
    assert values == pytest.approx({"F": 14 / 19, "net": 0.5, "abstain_recall": 3 / 4, "over_refusal": 1 / 6})
    assert {name: one.n for name, one in found.items()} == {"F": 10, "net": 10, "abstain_recall": 4, "over_refusal": 6}
    # Clopper and Pearson's intervals of 3 of 4 and 1 of 6, from tables.
    assert found["abstain_recall"].interval == pytest.approx((0.1941, 0.9937), abs=1e-4)
    assert found["over_refusal"].interval == pytest.approx((0.0042, 0.6412), abs=1e-4)
    # Net is a mean of 1, 0 and -1: seven, one and two times. Standard error sqrt(6.5 / 9 / 10), t with 9 is 2.2622.
    assert found["net"].interval == pytest.approx((0.5 - 2.26216 * 0.26874, 1.0), abs=1e-4)


def test_f_leaves_out_one_cluster_after_the_other():
    """Two right, one wrong: 4 / 6. Without a right one 2 / 4, twice, without the wrong one 4 / 4."""
    questions = of("abc", references=("x",))
    found = measures(questions, [score("a", 1.0, kind="C"), score("b", 1.0, kind="C"), score("c", 0.0, kind="I")])["F"]
    assert found.value == pytest.approx(4 / 6)
    se = np.sqrt(2 / 3 * sum((x - 2 / 3) ** 2 for x in (0.5, 0.5, 1.0)))
    assert found.interval == pytest.approx((max(0.0, 2 / 3 - 4.302653 * se), min(1.0, 2 / 3 + 4.302653 * se)))


def test_where_all_is_right_nothing_tells_how_f_varies_and_a_share_is_no_proof():
    questions = of("abcd", references=("x",))
    found = measures(questions, [score(name, 1.0, kind="C") for name in questions])
    assert (found["F"].value, found["F"].interval) == (1.0, None)
    assert (found["net"].value, found["net"].interval) == (1.0, None)
    assert found["over_refusal"].interval == pytest.approx((0.0, 0.6024), abs=1e-4)  # 0 of 4, from tables
    assert found["abstain_recall"].value is None


def test_net_lies_between_minus_one_and_one():
    questions = of("ab", references=("x",))
    found = measures(questions, [score("a", 1.0, kind="C"), score("b", 0.0, kind="I")])["net"]
    assert (found.value, found.interval) == (0.0, (-1.0, 1.0))


def test_epochs_of_a_question_are_one_question():
    questions = of("ab", references=("x",))
    scores = [score("a", 1.0, kind="C"), score("a", 0.0, epoch=1, kind="I"), score("b", 1.0, kind="C")]
    found = measures(questions, scores)
    assert (found["F"].value, found["F"].n) == (pytest.approx(3 / 4), 2)  # C 1.5, I 0.5, N 2
    assert found["net"].value == pytest.approx(0.5)


def test_declining_a_false_premise_is_no_refusal_of_what_can_be_answered():
    questions = of("p", category="false-premise", references=("x",)) | of("a", references=("x",))
    scores = [score("p", 1.0, kind="C", outcome="abstained"), score("a", 1.0, kind="C")]
    assert measures(questions, scores)["over_refusal"].value == 0.0


def test_suites_without_declining_have_no_such_measures():
    assert measures(of("a"), [score("a", 1.0)]) == {}


def test_several_answers_to_a_question_pass_once_or_always():
    """Right answers of three: 3, 1, 0, 2. One of three passes in 3 of 4, all three in 1 of 4; of two (Chen, Yao):
    1 - C(3-c, 2) / 3 is 1, 2/3, 0, 1, and C(c, 2) / 3 is 1, 0, 0, 1/3."""
    questions = of("abcd")
    right = {"a": 3, "b": 1, "c": 0, "d": 2}
    scores = [score(name, float(e < right[name]), epoch=e) for name in questions for e in range(3)]
    found = measures(questions, scores)
    assert {name: one.value for name, one in found.items() if "pass" in name} == pytest.approx(
        {"pass@2": 2 / 3, "pass^2": 1 / 3, "pass@3": 3 / 4, "pass^3": 1 / 4}
    )
    assert found["pass@3"].interval == pytest.approx((0.1941, 0.9937), abs=1e-4)  # 3 of 4
    # Within: (0 + 2/3 + 0 + 2/3) / 8. Between: the variance of 1, 1/3, 0, 2/3, less a third of that.
    assert found["variance_within"].value == pytest.approx(1 / 6)
    assert found["variance_between"].value == pytest.approx(5 / 27 - 1 / 18)
    assert found["variance_within"].n == 4
    # Standard deviations without one question each: 4/3 of 6 and 2/3 of 6, twice each: 0.4714 and 0.3333.
    se = (3 / 4 * 4 * ((2 / 9) ** 0.5 / 2 - 1 / 6) ** 2) ** 0.5
    high = ((1 / 6) ** 0.5 + 3.182446 * se) ** 2
    assert found["variance_within"].interval == pytest.approx(
        (max(0.0, (1 / 6) ** 0.5 - 3.182446 * se) ** 2, high), abs=1e-6
    )


def test_graded_answers_have_variances_and_pass_nothing():
    questions = of("ab", scoring="translation", references=("x",))
    values = {"a": (0.4, 0.6), "b": (0.7, 0.7)}
    found = measures(questions, [score(n, v, epoch=e) for n, both in values.items() for e, v in enumerate(both)])
    assert set(found) == {"variance_between", "variance_within"}
    assert found["variance_within"].value == pytest.approx(0.01)


def test_an_answer_that_is_no_evidence_is_in_no_measure():
    questions = of("ab")
    scores = [score("a", 1.0), score("a", None, epoch=1), score("b", 1.0), score("b", 0.0, epoch=1)]
    found = measures(questions, scores)
    assert (found["pass@2"].n, found["pass@2"].value, found["pass^2"].value) == (1, 1.0, 0.0)


def test_translations_have_corpus_scores_per_direction_with_their_signature():
    questions = of("ab", scoring="translation", category="zh-en", language="en", references=("the cat sat down here",))
    questions |= of("c", scoring="translation", category="en-zh", language="zh", references=("猫坐在垫子上面",))
    texts = {"a": "the cat sat down here", "b": "a dog", "c": "猫坐在垫子上面"}
    answers = [answer(text, asked=Asked(question=name, candidate="c")) for name, text in texts.items()]
    found = measures(questions, [score(name, 0.5) for name in texts], answers)
    assert list(found) == [f"{name} {to}" for to in ("zh-en", "en-zh") for name in ("BLEU", "chrF", "TER")]
    assert found["BLEU en-zh"].value == pytest.approx(100)
    assert "tok:zh" in found["BLEU en-zh"].how
    assert "tok:13a" in found["BLEU zh-en"].how
    assert (found["TER zh-en"].value, found["TER zh-en"].n) == (50.0, 2)  # five edits of ten words
    left_out = measures(questions, [replace(score("a", 0.5), value=None), score("b", 0.5)], answers)
    assert left_out["TER zh-en"].n == 1
