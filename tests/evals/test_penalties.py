"""Penalties of translations: who makes fewer errors by document, and when nobody can tell."""

import pytest

from evener.evals.judging.scores import Penalties
from evener.evals.penalties import Direction, penalty_verdict
from evener.records.answers import JudgeIdentity
from evener.records.verdicts import JudgedBy

BY = JudgedBy(kind="mqm", judges=(JudgeIdentity(provider="h", model="j", prompt_sha256="0"),), passports=())


def direction(columns, *, documents=None, sizes=None, failed=None, again=None):
    """`columns` are penalties of each candidate, segment by segment; None was never judged or never came."""
    names = [f"s{n}" for n in range(len(next(iter(columns.values()))))]
    return Direction(
        name="translation, zh-en",
        judged=BY,
        clusters=dict(zip(names, documents or names, strict=True)),
        sizes=dict(zip(names, sizes or [10] * len(names), strict=True)),
        found={
            who: Penalties(
                penalties=dict(zip(names, column, strict=True)),
                failed=dict(zip(names, (failed or {}).get(who, [0.0] * len(names)), strict=True)),
            )
            for who, column in columns.items()
        },
        again=again or {},
    )


def test_fewer_errors_are_better_and_the_best_set_says_who_may_be_dropped():
    found = penalty_verdict(direction({"a": [5.0] * 12, "b": [0.0] * 6 + [1.0] * 6, "c": [25.0] * 12}))
    assert [(s.candidate, s.per_1000) for s in found.standings] == [("b", 50.0), ("a", 500.0), ("c", 2500.0)]
    assert [(p.first, p.second, p.word) for p in found.pairs] == [
        ("b", "a", "better"),
        ("b", "c", "better"),
        ("a", "c", "better"),
    ]
    assert (found.best, found.dropped) == (("b",), ("a", "c"))
    # 2 / 2^12 for each, three pairs
    assert found.pairs[0].p_holm == pytest.approx(3 * 2 / 2**12)
    assert found.sentence == "b is the best; a and c can be dropped"


def test_a_long_segment_weighs_what_it_is_long():
    found = penalty_verdict(direction({"a": [10.0, 0.0], "b": [0.0, 10.0]}, sizes=[100, 10]))
    assert [s.per_1000 for s in found.standings] == [pytest.approx(1000 * 10 / 110)] * 2
    assert found.pairs[0].gap == 0.0


def test_three_documents_separate_nobody_by_design():
    columns = {"a": [0.0] * 30, "b": [25.0] * 30}
    found = penalty_verdict(direction(columns, documents=[f"d{n // 10}" for n in range(30)]))
    assert found.pairs[0].word == "cannot be separated by design"
    assert (found.pairs[0].n, found.pairs[0].clusters) == (30, 3)


def test_near_ones_cannot_be_separated_and_it_is_told_how_many_segments_would():
    columns = {"a": [float(n % 5) for n in range(40)], "b": [float((n + 1) % 5) + 0.1 * (n % 2) for n in range(40)]}
    (pair,) = penalty_verdict(direction(columns)).pairs
    assert pair.word == "cannot be separated"
    assert pair.needed > 40


def test_only_segments_that_both_translated_are_compared_and_missing_ones_cost_a_critical_error():
    columns = {"a": [None, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "b": [1.0] * 8}
    failed = {"a": [1.0, 1.0] + [0.0] * 6}
    found = penalty_verdict(direction(columns, failed=failed))
    a = found.standings[0]
    assert (a.candidate, a.per_1000, a.counted_wrong, a.unscored) == ("a", 0.0, 1000 * 50 / 80, 2)
    assert found.pairs[0].n == 6
    assert found.pairs[0].flips_with_policy
    other = penalty_verdict(direction(columns, failed=failed), policy="counted wrong")
    assert other.policy == "counted wrong"
    assert [s.candidate for s in other.standings] == ["b", "a"]


def test_a_segment_that_the_judge_could_not_read_is_nobodys_error():
    found = penalty_verdict(direction({"a": [None] + [0.0] * 7, "b": [1.0] * 8}))
    assert (found.standings[0].counted_wrong, found.standings[0].unscored) == (0.0, 1)
    assert found.pairs[0].word == "better"


def test_a_candidate_against_itself_is_the_noise_floor_and_no_rival():
    found = penalty_verdict(direction({"a": [1.0] * 10, "a (2)": [0.0] * 5 + [1.0] * 5}, again={"a (2)": "a"}))
    assert [s.candidate for s in found.standings] == ["a"]
    assert found.noise == 1000 * 5 / 100
    assert found.sentence == "only a was scored"
