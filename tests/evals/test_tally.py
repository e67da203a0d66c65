from evener.evals.tally import question_failures, tally
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
