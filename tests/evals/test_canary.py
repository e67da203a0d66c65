"""What the canary says: nothing about right and wrong, all about whether two layouts say the same."""

from evener.evals import canary
from evener.evals.canary import compare, told, verdict
from evener.evals.suites import shipped
from evener.records.answers import Asked
from tests.evals.answered import answer

NAMES = [f"can-{n:03}" for n in range(1, 13)]


def answers(*others, base="one two three", outcome="ok"):
    """Twelve answers; those of `others` go another way after "one "."""
    return [
        answer("one TWO" if n in others else base, outcome=outcome, asked=Asked(question=name, candidate="c"))
        for n, name in enumerate(NAMES)
    ]


def test_equal_answers_are_the_same_without_any_noise_floor():
    assert verdict(compare(answers(), answers()), None) == "same"


def test_the_first_differing_place_is_named():
    found = compare(answers(), answers(3))
    assert [(one.question, one.at, one.ours, one.theirs) for one in found.partings] == [
        ("can-004", 4, "two three", "TWO")
    ]
    assert told(found) == "11 of 12 answers are the same; can-004 parts at character 4: 'two three' against 'TWO'"


def test_an_answer_that_goes_on_parts_at_the_others_end():
    long = compare(answers(), answers(base="one two three four"))
    assert {(one.at, one.ours, one.theirs) for one in long.partings} == {(13, "", " four")}


def test_two_more_than_the_noise_floor_are_tolerated_and_three_are_not():
    itself = compare(answers(), answers(0))
    assert verdict(compare(answers(), answers(0, 1, 2)), itself) == "within tolerance"
    assert verdict(compare(answers(), answers(0, 1, 2, 3)), itself) == "differs"
    assert verdict(compare(answers(), answers(0)), itself, allowed=0) == "within tolerance"
    assert verdict(compare(answers(), answers(0, 1)), itself, allowed=0) == "differs"


def test_gibberish_from_one_layout_differs():
    silent = compare(answers(), answers())
    assert verdict(compare(answers(), answers(base="@@@@")), silent) == "differs"


def test_without_a_noise_floor_a_difference_proves_nothing():
    found = compare(answers(), answers(0))
    assert verdict(found, None) == "unknown"
    assert verdict(found, compare(answers()[:5], answers()[:5])) == "unknown"


def test_a_layout_that_never_repeats_itself_cannot_prove_anything():
    noisy = compare(answers(), answers(*range(10)))
    assert verdict(compare(answers(), answers(*range(12))), noisy) == "unknown"


def test_few_answers_say_nothing_and_failed_ones_are_counted():
    found = compare(answers(), [*answers()[:5], *answers(outcome="http_error")[5:]])
    assert (found.n, found.missing, verdict(found, found)) == (5, 7, "unknown")
    assert told(found) == "5 of 5 answers are the same, 7 could not be compared"


def test_an_answer_cut_short_is_compared():
    assert compare(answers(outcome="truncated"), answers(outcome="truncated")).n == 12


def test_other_epochs_and_arms_are_left_out():
    again = [answer("x", asked=Asked(question=name, candidate="c", epoch=1)) for name in NAMES]
    voted = [answer("y", asked=Asked(question=name, candidate="c", arm="vote", sample=1)) for name in NAMES]
    assert verdict(compare([*answers(), *again, *voted], answers()), None) == "same"


def test_suite_has_twelve_short_prompts_of_four_kinds():
    questions = shipped("canary").questions
    assert len(questions) == 12
    assert {q.category for q in questions} == {"en", "zh", "code", "numbers"}
    assert all(q.scoring == "same" and q.quick and len(q.references[0]) <= 64 for q in questions)
    assert len(questions) >= canary.LEAST
