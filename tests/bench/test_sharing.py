"""Parallel sequences, fairness and stalls of requests written by hand."""

from __future__ import annotations

import pytest

from evener.bench.sharing import fairness, in_flight, is_cache_hit, usual_gap_s, worst_stall_ms
from evener.records.load import Request


def request(user: int = 0, sent_s: float = 0.0, end_s: float = 4.0, tokens: int = 4, **known: object) -> Request:
    return Request(id=0, users=2, user=user, sent_s=sent_s, end_s=end_s, tokens=tokens, **known)  # type: ignore[arg-type]


def test_parallel_sequences_are_the_mean_over_the_window_and_the_most_at_once() -> None:
    # 0-4, 2-6 and 4-8 in a window of 0 to 8: 12 s of requests in 8 s; the one that ends at 4 is not beside the third.
    seen = in_flight([request(), request(1, 2.0), request(0, 4.0)], (0.0, 8.0))
    assert (seen.mean, seen.peak) == (1.5, 2)


def test_what_runs_outside_of_the_window_does_not_count() -> None:
    seen = in_flight([request(), request(1, 3.0)], (4.0, 8.0))
    assert (seen.mean, seen.peak) == (0.75, 1)


def test_equal_users_have_an_index_of_one() -> None:
    seen = fairness([request(0), request(1)])
    assert seen is not None
    assert (seen.users, seen.jain, seen.slowest_to_median) == (2, 1.0, 1.0)


def test_jains_index_and_the_slowest_user() -> None:
    # Rates 1, 1 and 4 tokens per second: 6^2 / (3 x 18) = 2/3; the slowest is the median.
    seen = fairness([request(0), request(1), request(2, end_s=1.0)])
    assert seen is not None
    assert seen.jain == pytest.approx(2 / 3)
    assert seen.slowest_to_median == 1.0


def test_waiting_for_a_request_that_failed_counts_and_its_tokens_do_not() -> None:
    # User 0: 4 tokens in 4 s. User 1: 4 in 4 + 4 s. Median 0.75.
    seen = fairness([request(0), request(1), request(1, failure="timeout")])
    assert seen is not None
    assert seen.slowest_to_median == pytest.approx(0.5 / 0.75)


def test_one_user_is_neither_fair_nor_unfair() -> None:
    assert fairness([request(), request()]) is None
    assert fairness([request(0, failure="timeout"), request(1, failure="timeout")]) is None


@pytest.mark.parametrize(("prompt", "cached", "hit"), [(128, 64, False), (128, 65, True), (8, 4, False), (8, 5, True)])
def test_a_templates_beginning_is_no_hit(prompt: int, cached: int, hit: bool) -> None:
    assert is_cache_hit(request(prompt_tokens=prompt, cached_tokens=cached)) is hit


def test_the_worst_stall_is_the_longest_gap_of_one_stream_and_never_between_streams() -> None:
    one = request(token_times=((1.0, 1.0), (2.0, 1.0), (3.5, 1.0)))
    other = request(sent_s=90.0, token_times=((1.0, 1.0), (2.0, 1.0)))
    assert worst_stall_ms([one, other]) == 1500.0
    assert worst_stall_ms([]) is None


def test_the_usual_gap_is_the_median_of_those_that_lie_within_the_time() -> None:
    stream = request(sent_s=10.0, token_times=((1.0, 1.0), (1.5, 1.0), (2.0, 1.0), (5.0, 1.0)))
    assert usual_gap_s([stream], between=(10.0, 12.0)) == 0.5
    assert usual_gap_s([stream], between=(10.0, 11.2)) is None
