"""Which questions are worth reading before one believes a verdict."""

from evener.evals.apart import most_apart


def test_the_greatest_difference_comes_first_whoever_won():
    first = {"a": 0.9, "b": 0.2, "c": 0.5}
    second = {"a": 0.8, "b": 0.9, "c": 0.1}
    assert most_apart(first, second) == ("b", "c", "a")


def test_of_equal_differences_won_and_lost_take_turns():
    first = {"w1": 1.0, "w2": 1.0, "w3": 1.0, "l1": 0.0, "l2": 0.0}
    second = {"w1": 0.0, "w2": 0.0, "w3": 0.0, "l1": 1.0, "l2": 1.0}
    assert most_apart(first, second) == ("w1", "l1", "w2", "l2", "w3")
    assert most_apart(first, second, most=3) == ("w1", "l1", "w2")


def test_level_unscored_and_unasked_questions_are_never_shown():
    assert most_apart({"a": 1.0, "b": None, "c": 1.0, "d": 1.0}, {"a": 1.0, "b": 0.0, "c": None}) == ()
