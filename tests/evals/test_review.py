from dataclasses import replace
from datetime import UTC, datetime

from evener.evals.review import (
    between,
    by_person,
    consensus,
    decisive,
    everyone,
    items,
    left,
    machine_labels,
    standing_labels,
    with_machine,
)
from evener.records.answers import Asked, JudgeIdentity, Judgement, Review
from tests.evals.answered import answer, question

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTIONS = {f"q{i}": question(id=f"q{i}", cluster=f"q{i}") for i in range(20)}


def asked(i, candidate="a"):
    return Asked(question=f"q{i}", candidate=candidate)


def answers(candidate="a", n=20):
    return [answer(f"{candidate} says {i}", asked=asked(i, candidate)) for i in range(n)]


def said(i, label, *, who="ann", pool="random", other=None):
    return Review(reviewer=who, asked=asked(i), other=other, label=label, pool=pool, at=NOW)


def judged(i, verdict, *, other=None, **details):
    return Judgement(
        judge=JudgeIdentity(provider="h", model="j", prompt_sha256="0"),
        asked=asked(i),
        other=other,
        verdict=verdict,
        outcome="ok",
        raw="",
        at=NOW,
        details=details,
    )


def test_order_is_shuffled_and_the_same_when_somebody_comes_back():
    one = [i.question.id for i in items(QUESTIONS, answers(), pool="random", seed="run")]
    assert one == [i.question.id for i in items(QUESTIONS, answers(), pool="random", seed="run")]
    assert one != sorted(one)
    assert one != [i.question.id for i in items(QUESTIONS, answers(), pool="random", seed="another run")]


def test_of_a_pair_either_may_stand_first_and_the_label_is_of_the_record():
    pairs = items(QUESTIONS, answers(), answers("b"), pool="random", seed="run")
    assert {pair.swapped for pair in pairs} == {True, False}
    for pair in pairs:
        first = "first" if pair.shown[0].startswith("a says") else "second"
        assert pair.label("1") == first
        assert pair.label("t") == "tie"
        assert pair.label("x") is None


def test_what_decides_most_comes_first_in_its_pool():
    order = items(QUESTIONS, answers(), pool="decisive", weight={asked(7): 2.0, asked(3): 1.0}, seed="run")
    assert [i.question.id for i in order[:2]] == ["q7", "q3"]


def test_answers_that_are_no_evidence_are_not_shown():
    cut = [answer("half", outcome="truncated", asked=asked(0)), *answers(n=2)[1:]]
    assert [i.question.id for i in items(QUESTIONS, cut, pool="random", seed="run")] == ["q1"]


def test_a_label_that_was_taken_back_is_open_again():
    queue = items(QUESTIONS, answers(n=2), pool="random", seed="run")
    reviews = [said(0, "right"), said(1, "wrong"), said(0, None)]
    assert [i.question.id for i in left(queue, reviews, "ann", pool="random")] == ["q0"]
    assert len(left(queue, reviews, "bob", pool="random")) == 2
    assert [one.label for one in standing_labels(reviews).values()] == ["wrong"]


def test_code_and_judges_speak_in_the_words_of_people():
    other = asked(2, "b")
    found = machine_labels(
        [
            judged(0, "PASS"),
            judged(2, "A", other=other),
            judged(2, "B", other=other, swapped=True),
            judged(3, "A", other=other),
        ],
        {asked(0): 0.0, asked(1): 1.0, asked(4): 0.4, asked(5): None},
    )
    assert found == {(asked(0), None): "right", (asked(1), None): "right", (asked(2), other): "first"}


def test_agreement_leaves_the_unsure_out():
    machine = {(asked(i), None): "right" for i in range(4)}
    reviews = [said(0, "right"), said(1, "wrong"), said(2, "unsure"), said(9, "right")]
    found = with_machine(reviews, machine, reviewer="ann")
    assert (found.n, found.raw) == (2, 0.5)


def test_two_people_are_compared_on_what_both_labelled():
    reviews = [said(0, "right"), said(1, "wrong"), said(0, "right", who="bob"), said(2, "right", who="bob")]
    found = between(reviews, "ann", "bob")
    assert (found.n, found.raw) == (1, 1.0)


def test_what_was_labelled_for_deciding_much_is_still_part_of_the_random_sample():
    queue = items(QUESTIONS, answers(n=3), pool="random", seed="run")
    reviews = [said(0, "wrong", pool="decisive")]
    assert [i.question.id for i in left(queue, reviews, "ann", pool="random")] == [i.question.id for i in queue]
    assert len(left(queue, reviews, "ann", pool="decisive")) == 2


def test_a_label_of_another_pool_leaves_that_of_the_random_one_alone():
    reviews = [said(0, "right"), said(0, "wrong", pool="decisive")]
    (one,) = standing_labels(reviews, pool="random").values()
    assert one.label == "right"
    assert by_person(reviews) == {"ann": {(asked(0), None): "wrong"}}, "the last word, where pools do not matter"


def test_most_hangs_on_what_judges_contradict_each_other_about():
    told = {
        "j": {(asked(0), None): "right", (asked(1), None): "wrong", (asked(2), None): "right"},
        "k": {(asked(0), None): "wrong", (asked(1), None): "wrong"},
    }
    assert decisive(told) == {asked(0): 2.0, asked(1): 1.0, asked(2): 0.0}


def test_people_who_are_divided_say_nothing_together():
    reviews = [said(0, "right"), said(0, "wrong", who="bob"), said(1, "right"), said(1, "right", who="bob")]
    reviews.append(said(1, "wrong", who="eve"))
    assert consensus(by_person(reviews)) == {(asked(1), None): "right"}


def test_where_judges_differ_without_a_majority_the_machine_says_nothing():
    other = JudgeIdentity(provider="h", model="k", prompt_sha256="0")
    judgements = [judged(0, "PASS"), replace(judged(0, "FAIL"), judge=other), judged(1, "PASS"), judged(2, "PASS")]
    judgements.append(replace(judged(1, "PASS"), judge=other))
    assert machine_labels(judgements, {asked(0): 1.0}) == {(asked(1), None): "right"}


def test_all_who_labelled_the_same_have_one_alpha():
    """Right, right, wrong and right, right, right: 2 of 6 labels differ where 10 of 30 pairs would by chance."""
    told = {"code": {(asked(0), None): "right", (asked(1), None): "right", (asked(9), None): "wrong"}}
    reviews = [said(0, "right"), said(0, "wrong", who="bob"), said(1, "right"), said(1, "right", who="bob")]
    found = everyone(told, reviews, pool="random")
    assert (found.labellers, found.n) == (3, 2)
    assert abs(found.alpha) < 1e-12
