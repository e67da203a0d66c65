from dataclasses import replace

import pytest

from evener.evals.tally import measures, question_failures, tally
from evener.records.answers import Asked, Score
from evener.records.questions import Suite
from tests.evals.answered import answer, question


def asked(q, epoch=0):
    return Asked(question=q, candidate="c", epoch=epoch)


def score(q, value, *, epoch=0, why=None):
    return Score(asked=asked(q, epoch), scorer="x", value=value, why=why)


SUITE = Suite(name="s", title="s", sha256="0", questions=tuple(question(id=name, cluster=name) for name in ("a", "b")))


def test_an_epoch_cut_short_is_left_out_or_counts_as_wrong():
    scores = [score("a", 1.0), score("a", None, epoch=1, why="truncated"), score("b", 1.0), score("b", 1.0, epoch=1)]
    answers = [answer("x", asked=one.asked, outcome="truncated" if one.why else "ok") for one in scores]
    found = tally(SUITE, answers, scores, arm="single", epochs=2, asked=4)
    assert (found.standing.mean, found.counted_wrong.mean) == (1.0, 0.75)
    assert found.failed == {"a": 0.5}


def test_without_a_judge_nothing_is_wrong():
    scores = [score("a", None, why="no judge"), score("b", None, why="no judge")]
    found = tally(SUITE, [answer("x", asked=one.asked) for one in scores], scores, arm="single", epochs=1, asked=2)
    assert (found.counted_wrong.mean, found.counted_wrong.n, found.counted_wrong.unscored) == (None, 0, 2)
    assert found.failed == {"a": 0.0, "b": 0.0}


def test_errors_and_timeouts_are_no_replies():
    outcomes = ("http_error", "timeout")
    answers = [answer("", asked=asked(q), outcome=how) for q, how in zip("ab", outcomes, strict=True)]
    scores = [score(one.asked.question, None, why=one.outcome) for one in answers]
    found = tally(SUITE, answers, scores, arm="single", epochs=1, asked=2)
    assert (found.asked, found.answered) == (2, 0)


def test_questions_that_never_failed_are_not_listed():
    assert question_failures([score("a", 0.0)]) == {}


def test_what_declining_comes_to():
    """Ten questions. Of six that can be answered four are right, one wrong, one declined; of four that cannot three are
    declined and one is answered. C 7, I 2: F = 14 / (10 + 7 + 2), net = (7 - 2) / 10."""
    can = {f"can{n}": question(id=f"can{n}", references=("x",)) for n in range(6)}
    cannot = {f"not{n}": question(id=f"not{n}") for n in range(4)}
    premise = {"premise": question(id="premise", category="false-premise", references=("x",))}
    said = [*"CCCCI", "NA", *"CCCI"]
    declined = [None] * 5 + ["abstained"] * 4 + [None]
    scores = [
        replace(score(name, float(kind == "C")), details={"class": kind}, outcome=outcome)
        for name, kind, outcome in zip([*can, *cannot], said, declined, strict=True)
    ]
    found = measures(can | cannot | premise, scores)
    assert found == pytest.approx({"F": 14 / 19, "net": 0.5, "abstain_recall": 3 / 4, "over_refusal": 1 / 6})


def test_declining_a_false_premise_is_no_refusal_of_what_can_be_answered():
    questions = {
        "p": question(id="p", category="false-premise", references=("x",)),
        "a": question(id="a", references=("x",)),
    }
    scores = [
        replace(score("p", 1.0), details={"class": "C"}, outcome="abstained"),
        replace(score("a", 1.0), details={"class": "C"}),
    ]
    assert measures(questions, scores)["over_refusal"] == 0.0


def test_suites_without_declining_have_no_such_measures():
    assert measures({"a": question(id="a")}, [score("a", 1.0)]) == {}
