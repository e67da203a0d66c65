import random

from evener.stats.best import best_set, fragility, groups


def answers(share, n, draw):
    return [float(draw.random() < share) for _ in range(n)]


def test_clear_losers_are_dropped():
    draw = random.Random(1)
    scores = {"good": answers(0.9, 120, draw), "near": answers(0.87, 120, draw), "poor": answers(0.4, 120, draw)}
    found = best_set(scores, range(120))
    assert found.dropped == ("poor",)
    assert set(found.kept) == {"good", "near"}
    assert found.p["poor"] < 0.01


def test_models_that_answer_alike_all_stay():
    same = [1.0, 0.0, 1.0]
    assert best_set({"a": same, "b": same}, range(3)).dropped == ()


def test_one_document_cannot_drop_anybody():
    found = best_set({"a": [1.0] * 9, "b": [0.0] * 9}, ["d"] * 9)
    assert found.dropped == ()


def test_truth_is_kept_among_equals():
    """Six equal models, 30 questions: each is dropped at most 5 times in 100."""
    draw, lost, rounds = random.Random(5), 0, 60
    for seed in range(rounds):
        scores = {name: answers(0.7, 30, draw) for name in "abcdef"}
        lost += "a" in best_set(scores, range(30), seed=seed).dropped
    assert lost <= 8  # mean 3 at most; 8 or more happens once in 100


def test_a_lone_model_is_the_best():
    assert best_set({"a": [0.0]}, ["q"]).kept == ("a",)


def test_groups_overlap_where_neighbours_cannot_be_told_apart():
    differ = {("a", "b"): False, ("b", "c"): False, ("a", "c"): True}
    assert groups(("a", "b", "c"), differ) == (("a", "b"), ("b", "c"))


def test_a_group_inside_another_is_not_named():
    assert groups(("a", "b", "c"), {}) == (("a", "b", "c"),)


def test_two_flips_bring_the_second_level():
    scores = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [0, 0, 0, 0]}
    found = fragility(scores, ("q1", "q2", "q3", "q4"))
    assert found is not None
    assert (found.first, found.second, found.flips, found.of) == ("a", "b", 2, 8)
    assert found.questions == ("q2", "q3")


def test_a_tie_takes_no_flip():
    found = fragility({"a": [1, 0], "b": [0, 1]}, ("q1", "q2"))
    assert found is not None
    assert found.flips == 0


def test_one_model_holds_no_place():
    assert fragility({"a": [1.0]}, ("q",)) is None


def test_a_noisy_rival_does_not_hide_a_steady_one():
    """c is ahead of a by 0.05 on each of 40 questions; b swings between 0 and 1, and is no better on average. Measured
    in each rival's own spread, c's lead is beyond chance; in plain sums b's swings would drown it."""
    scores = {"a": [0.5] * 40, "b": [0.0, 1.0] * 20, "c": [0.55] * 40}
    assert "a" in best_set(scores, range(40)).dropped
