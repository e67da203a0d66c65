"""Who is measured when, and what pairs say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.bench.load import Load
from evener.bench.pair import Visit, Visited, apart, difference, judged, result, visits
from evener.records.conditions import Conditions
from evener.records.load import ClientCost, Counts, Level, Spread, UsersResult
from evener.records.pair import PairResult, Side

A = Side(name="A", label="alpha", conditions=Conditions(quantisation="Q4_1", context=512, layout="alpha"))
B = Side(name="B", label="cluster", conditions=Conditions(quantisation="Q4_1", context=512, layout="cluster"))


def spread(value: float | None, unit: str = "ms") -> Spread:
    return Spread(n=6, mean=value, p50=value, p90=None, interval=None, unit=unit)


def seen(rate: float | None, *, users: int = 1, total: float | None = None, **more: object) -> UsersResult:
    level = Level(
        users=users,
        requests=Counts(completed=6, errored=0, invalid=0),
        ttft_ms=spread(200.0),
        tpot_ms=spread(None),
        itl_ms=spread(None),
        per_user_tokens_per_s=spread(rate, "tok/s"),
        total_tokens_per_s=total,
        prefill_tokens_per_s=None,
        duration_s=1.0,
    )
    made = UsersResult(
        url="http://127.0.0.1:1",
        model="m",
        prompt_tokens_asked=16,
        output_tokens_asked=8,
        levels=(level,),
        client=ClientCost(cpu_s=0.1),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def told(pairs: list[tuple[UsersResult, UsersResult]], *, users: int = 1, margin: float = 0.02) -> PairResult:
    visited = [
        Visited(visit=Visit(pair=number, side=side, seed=0), users=users_)
        for number, both in enumerate(pairs)
        for side, users_ in zip(("A", "B"), both, strict=True)
    ]
    return result(A, B, visited, load=Load(users=(users,)), pairs=len(pairs), margin=margin)


@pytest.mark.parametrize("seed", range(5))
def test_four_visits_are_abba_or_baab_and_a_pair_asks_for_the_same_prompts(seed: int) -> None:
    order = visits(6, seed=seed)
    assert [v.pair for v in order] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    sides = "".join(v.side for v in order)
    assert {sides[i : i + 4] for i in (0, 4, 8)} <= {"ABBA", "BAAB"}
    assert all(a.seed == b.seed for a, b in zip(order[::2], order[1::2], strict=True))
    assert len({v.seed for v in order}) == 6


def test_chance_decides_the_order_and_the_seed_decides_chance() -> None:
    assert len({tuple(v.side for v in visits(6, seed=seed)) for seed in range(20)}) > 4
    assert visits(6, seed=3) == visits(6, seed=3)
    assert [v.side for v in visits(1, seed=0)] in (["A", "B"], ["B", "A"])


def test_a_clear_difference_is_one_sentence_with_its_basis() -> None:
    found = told([(seen(100.0 + i), seen(60.0 + 0.6 * i)) for i in range(6)])
    assert found.outcome == "B is slower"
    assert found.sentence == "cluster (B) is 40.0% slower than alpha (A) for one user"
    assert found.basis == (
        "tokens per second of each user, 6 pairs of 6 requests each; change -40.0%, 95 % interval -40.0% to -40.0% "
        "(signed ranks of the paired ratios); less than 2% is taken not to matter"
    )
    assert (found.verdict_metric, found.verdict_users, found.differing) == ("per_user_tokens_per_s", 1, ("layout",))


def test_several_users_are_judged_by_what_they_get_together() -> None:
    found = told([(seen(10, users=4, total=40.0), seen(9, users=4, total=50.0))] * 6, users=4)
    assert (found.verdict_metric, found.outcome) == ("total_tokens_per_s", "B is faster")
    assert [(d.metric, d.outcome) for d in found.differences] == [
        ("per_user_tokens_per_s", "B is slower"),
        ("total_tokens_per_s", "B is faster"),
        ("ttft_ms", "no difference that matters"),
    ]


def test_pairs_that_disagree_cannot_be_separated() -> None:
    found = told([(seen(100), seen(100 + change)) for change in (-6, 5, -4, 7, -5, 6)])
    assert found.outcome == "cannot be separated"
    assert found.sentence == "cluster (B) and alpha (A) cannot be separated for one user"


def test_too_few_pairs_cannot_be_separated_however_far_apart() -> None:
    found = told([(seen(100), seen(50))] * 5)
    assert found.outcome == "cannot be separated"
    assert found.differences[0].interval is None
    assert found.differences[0].change == pytest.approx(-0.5)
    assert found.basis.endswith("change -50.0%, and an interval needs 6 pairs")
    assert "5 pairs can separate nothing: an interval needs 6" in found.notes


def test_a_difference_below_the_margin_does_not_matter() -> None:
    assert told([(seen(100), seen(101 + i / 10)) for i in range(6)]).outcome == "no difference that matters"
    assert told([(seen(100), seen(101 + i / 10)) for i in range(6)], margin=0.005).outcome == "B is faster"
    assert judged(0.01, (0.005, 0.03), margin=0.02) == "cannot be separated"


def test_a_longer_wait_is_slower() -> None:
    assert difference([(100, 150)] * 6, metric="ttft_ms", users=1, margin=0.02).outcome == "B is slower"
    assert difference([(100, 50)] * 6, metric="ttft_ms", users=1, margin=0.02).outcome == "B is faster"


def test_a_visit_that_must_not_be_used_leaves_its_pair_out() -> None:
    good, bad = (seen(100), seen(50)), (seen(100), seen(5000, validity="prompts came from a cache in 6 requests"))
    found = told([good] * 6 + [bad])
    assert len(found.differences[0].pairs) == 6
    assert "pair 7, B: left out: prompts came from a cache in 6 requests" in found.notes
    assert (found.validity, found.outcome) == ("valid", "B is slower")


def test_a_side_that_was_never_usable_leaves_no_verdict() -> None:
    found = told([(seen(100), seen(50, validity="no request completed"))] * 6)
    assert (found.outcome, found.validity) == ("unknown", "B: no request completed")
    assert found.sentence == "cluster (B) and alpha (A): there is no verdict"


def test_failed_requests_are_named() -> None:
    level = replace(
        seen(50).levels[0], requests=Counts(completed=4, errored=2, invalid=0, by_class={"kv_exhausted": 2})
    )
    found = told([(seen(100), seen(50, levels=(level,)))] * 6)
    assert "pair 1, B: 2 of 6 requests failed: 2 kv_exhausted" in found.notes


def test_conditions_are_the_same_different_or_unknown() -> None:
    differing, unknown = apart(A.conditions, B.conditions)
    assert differing == ("layout",)
    assert "kv_type_k" in unknown
    assert "quantisation" not in differing + unknown


def test_one_pair_that_a_neighbour_has_turned_round_hides_nothing_among_eight() -> None:
    clear = [(100.0, 40.0 + i) for i in range(7)]
    assert (
        difference([*clear, (33.0, 41.0)], metric="per_user_tokens_per_s", users=1, margin=0.02).outcome
        == "B is slower"
    )
    assert difference([*clear[:5], (33.0, 41.0)], metric="per_user_tokens_per_s", users=1, margin=0.02).outcome == (
        "cannot be separated"
    )
