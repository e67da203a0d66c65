"""Percentiles with what n allows; those that failed wait for ever."""

from __future__ import annotations

from evener.bench.spreads import adjusted, spread


def test_p95_and_its_interval_are_told_from_59_values_on() -> None:
    few, enough = spread([float(n) for n in range(58)], "ms"), spread([float(n) for n in range(59)], "ms")
    assert (few.p95, few.p95_interval) == (None, None)
    assert enough.p95 is not None
    assert enough.p95_interval is not None
    assert enough.p95_interval[1] == 58.0  # all 59 are below it in 0.95^59 = 4.8 % of samples: just enough


def test_values_that_are_not_independent_have_no_interval() -> None:
    one = spread([1.0] * 100, "ms", independent=False)
    assert (one.p95, one.p95_interval, one.p90_interval, one.interval) == (1.0, None, None, None)


def test_failed_requests_move_the_adjusted_percentiles_up() -> None:
    # 1..6 and three that never end: the middle one of nine is the fifth.
    seen = adjusted([float(n) for n in range(1, 7)], failed=3, unit="ms")
    assert (seen.n, seen.failed, seen.p50, seen.p90, seen.p95) == (9, 3, 5.0, None, None)


def test_a_percentile_among_the_failed_ones_is_never() -> None:
    assert adjusted([1.0], failed=2, unit="ms").p50 == "never"
    assert adjusted([1.0] * 28, failed=4, unit="ms").p90 == "never"
    assert adjusted([1.0, 2.0], failed=0, unit="ms").p50 == 1.5


def test_between_the_last_that_ended_and_the_first_that_did_not_lies_never() -> None:
    assert adjusted([1.0], failed=1, unit="ms").p50 == "never"


def test_of_nothing_there_is_no_percentile() -> None:
    assert adjusted([], failed=0, unit="ms").p50 is None
