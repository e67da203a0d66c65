from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import ALPHA, CLUSTER, PLAN, level, run, users_result

from evener.records.load import Level
from evener.records.plan import Candidate
from evener.records.run import Run, Stage
from evener.report import comparing, rows
from evener.report.parts import Comparison, Layout

BETA = replace(ALPHA, name="beta", hosts=("beta",))
TWO_MACHINES = run(scan=None)


def layouts(*measured: tuple[Candidate, Level | None], of: Run = TWO_MACHINES) -> tuple[Layout, ...]:
    plan = replace(PLAN, candidates=tuple(candidate for candidate, _ in measured))
    stages = [Stage(layout=c.name, users=None if one is None else users_result(one)) for c, one in measured]
    return rows.layouts(replace(of, plan=plan), stages)


def rate(
    each: float | None, low: float | None = None, high: float | None = None, *, n: int = 20, users: int = 1
) -> Level:
    interval = None if low is None or high is None else (low, high)
    return level(users, each=each, interval=interval, total=each, n=n)


def only(tried: tuple[Layout, ...]) -> Comparison:
    (found,) = comparing.comparisons(tried, comparing.common_users(tried))
    return found


def said(*tried: Layout) -> str:
    users = comparing.common_users(tried)
    return comparing.headline(tried, comparing.comparisons(tried, users), users)


def test_the_second_machine_cost_what_the_medians_say_within_what_the_intervals_allow() -> None:
    found = only(layouts((ALPHA, rate(61, 60, 62)), (CLUSTER, rate(34, 33, 35))))
    assert found.outcome == "slower"
    assert found.sentence == "the second machine cost 44 %"  # 1 - 34/61
    assert found.change == pytest.approx(-0.4426, abs=1e-4)
    assert found.interval == pytest.approx((-0.4677, -0.4167), abs=1e-4)  # 33/62 - 1, 35/60 - 1
    assert found.basis.endswith("42 % to 47 %")


def test_the_second_machine_gained() -> None:
    found = only(layouts((ALPHA, rate(20, 19, 21)), (CLUSTER, rate(30, 29, 31))))
    assert (found.outcome, found.sentence) == ("faster", "the second machine gained 50 %")
    assert found.basis.endswith("38 % to 63 %")  # 29/21 - 1, 31/19 - 1


def test_overlapping_intervals_cannot_be_separated() -> None:
    found = only(layouts((ALPHA, rate(20, 18, 22)), (CLUSTER, rate(23, 21, 25))))
    assert (found.outcome, found.sentence) == ("cannot be separated", "the two cannot be separated")
    assert "overlap" in found.basis


def test_touching_intervals_cannot_be_separated_either() -> None:
    found = only(layouts((ALPHA, rate(20, 18, 22)), (CLUSTER, rate(24, 22, 26))))
    assert found.outcome == "cannot be separated"


def test_three_requests_give_no_verdict_however_far_apart() -> None:
    found = only(layouts((ALPHA, rate(61, n=3)), (CLUSTER, rate(34, n=3))))
    assert (found.outcome, found.interval) == ("unknown", None)
    assert found.sentence == "too few requests for a verdict"
    assert "n=3" in found.basis
    assert "at least 6" in found.basis


def test_an_interval_that_reaches_zero_bounds_no_ratio() -> None:
    found = only(layouts((ALPHA, rate(5, 0, 10)), (CLUSTER, rate(34, 33, 35))))
    assert (found.outcome, found.interval) == ("unknown", None)


def test_a_headline_names_both_speeds_and_the_price() -> None:
    tried = layouts((ALPHA, rate(61, 60, 62)), (CLUSTER, rate(34, 33, 35)))
    assert said(*tried) == (
        "alpha alone: 61.0 tok/s for one user; alpha + beta: 34.0 tok/s: the second machine cost 44 %"
    )


def test_two_hosts_on_one_machine_are_not_called_machines() -> None:
    tried = layouts((ALPHA, rate(61, 60, 62)), (CLUSTER, rate(34, 33, 35)), of=run())
    assert only(tried).sentence == "the second host cost 44 %"


def test_the_fastest_single_host_is_what_the_others_are_held_against() -> None:
    tried = layouts((CLUSTER, rate(34, 33, 35)), (ALPHA, rate(20, 19, 21)), (BETA, rate(61, 60, 62)))
    assert {(c.base, c.other) for c in comparing.comparisons(tried, 1)} == {("beta", "cluster"), ("beta", "alpha")}
    assert said(*tried) == "beta alone is the fastest of 3 layouts: 61.0 tok/s for one user"


def test_of_three_layouts_the_one_that_beats_the_best_single_host_is_named() -> None:
    tried = layouts((ALPHA, rate(20, 19, 21)), (BETA, rate(15, 14, 16)), (CLUSTER, rate(34, 33, 35)))
    assert said(*tried) == "alpha + beta (34.0) beat alpha alone (20.0), tok/s for one user"


def test_of_three_layouts_two_that_overlap_are_said_to() -> None:
    tried = layouts((ALPHA, rate(20, 19, 21)), (BETA, rate(19.5, 19, 20)), (CLUSTER, rate(10, 9, 11)))
    assert said(*tried) == "alpha alone (20.0) cannot be separated from beta alone (19.5), tok/s for one user"


def test_one_other_host_is_slower_and_no_machine_cost_anything() -> None:
    found = only(layouts((ALPHA, rate(20, 19, 21)), (BETA, rate(10, 9, 11))))
    assert found.sentence == "beta alone is 50 % slower than alpha alone"


def test_speeds_are_compared_at_a_user_count_that_both_have() -> None:
    tried = layouts((ALPHA, rate(61, 60, 62, users=2)), (CLUSTER, rate(34, 33, 35, users=2)))
    assert said(*tried).startswith("alpha alone: 61.0 tok/s for each of 2 users;")


def test_no_user_count_in_common_is_said_and_not_bridged() -> None:
    tried = layouts((ALPHA, rate(61, 60, 62, users=1)), (CLUSTER, rate(34, 33, 35, users=2)))
    assert only(tried).outcome == "unknown"
    assert "alpha + beta: not measured with 1 user" in said(*tried)


def test_an_invalid_result_gives_no_speed_and_no_verdict() -> None:
    bad = replace(users_result(rate(34, 33, 35)), validity="cache hits")
    stages = [Stage(layout="alpha", users=users_result(rate(61, 60, 62))), Stage(layout="cluster", users=bad)]
    tried = rows.layouts(TWO_MACHINES, stages)
    assert said(*tried) == (
        "alpha alone: 61.0 tok/s for one user; alpha + beta: not usable: cache hits: there is no verdict"
    )
    assert only(tried).change is None


def test_a_median_of_nothing_is_not_zero_tokens_per_second() -> None:
    tried = layouts((ALPHA, rate(None, n=0)))
    assert said(*tried) == "alpha alone: no request was completed for one user"


def test_a_run_that_only_loaded_speaks_of_its_cards() -> None:
    from report_samples import CLUSTER_STAGE

    tried = rows.layouts(TWO_MACHINES, [replace(CLUSTER_STAGE, users=None)])
    assert said(*tried) == "alpha + beta: 2 of 2 cards as planned, no speed measured"


def test_nothing_measured_is_said() -> None:
    assert said() == "Nothing was measured"
