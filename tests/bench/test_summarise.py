"""Requests written by hand; every expected figure can be followed with a pencil."""

from __future__ import annotations

from typing import Any

import pytest

from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import Server
from evener.bench.spreads import spread
from evener.bench.summarise import counts, decode_rate, level, total_rate, users_result, window
from evener.records.load import ClientCost, Limits, Request, UsersResult

SERVER = Server(url=base_url("127.0.0.1:1"), fields={}, model="m")
CALM = ClientCost(cpu_s=1.0, saturated=False, lag_p95_ms=1.0)


def request(**known: Any) -> Request:
    """Sent at 0, tokens at 1, 2, 3 and 4 s, done at 4 s; `known` changes that."""
    times = known.pop("token_times", tuple((float(at), 1.0) for at in (1, 2, 3, 4)))
    plain: dict[str, Any] = {
        "id": 0,
        "users": 1,
        "user": 0,
        "sent_s": 0.0,
        "ttft_s": times[0][0],
        "ttfa_s": times[0][0],
        "last_token_s": times[-1][0],
        "end_s": times[-1][0],
        "tokens": round(sum(credit for _, credit in times)),
        "chunks": len(times),
        "arrivals": len(times),
        "first_chunk_tokens": 1,
        "token_times": times,
    }
    return Request(**(plain | known))


def failed(**known: Any) -> Request:
    return request(failure="server_error_in_stream", **known)


def result(requests: list[Request], *, users: tuple[int, ...] = (1,), prompts: int = 2, **beside: Any) -> UsersResult:
    load = Load(users=users, prompts=max(prompts, *users), prompt_tokens=8, output_tokens=4)
    return users_result(
        requests, load=load, server=beside.pop("server", SERVER), client=beside.pop("client", CALM), **beside
    )


def test_the_decode_rate_leaves_out_the_first_token_and_its_waiting() -> None:
    assert decode_rate(request()) == pytest.approx(1.0)  # 3 tokens in 3 s


def test_a_first_read_with_several_tokens_leaves_them_all_out() -> None:
    assert decode_rate(request(token_times=((1.0, 3.0), (2.0, 1.0)), first_chunk_tokens=3)) == pytest.approx(1.0)


def test_a_first_read_of_unknown_size_is_an_average_one() -> None:
    batches = request(token_times=((4.0, 4.0), (8.0, 4.0), (12.0, 4.0)), first_chunk_tokens=None)
    assert decode_rate(batches) == pytest.approx(1.0)  # 12 - 4 tokens in 8 s


@pytest.mark.parametrize("known", [{"tokens": None}, {"token_times": ((1.0, 4.0),), "first_chunk_tokens": 4}])
def test_an_answer_in_one_piece_has_no_decode_rate(known: dict[str, Any]) -> None:
    assert decode_rate(request(**known)) is None


def test_one_value_has_no_spread() -> None:
    one = spread([5.0], "ms")
    assert (one.n, one.mean, one.p50, one.p90, one.interval, one.most) == (1, 5.0, 5.0, None, None, 5.0)


def test_no_value_is_unknown_and_not_zero() -> None:
    none = spread([], "ms")
    assert (none.n, none.mean, none.p50, none.most) == (0, None, None, None)


def test_p90_is_told_from_29_values_on() -> None:
    assert spread([1.0] * 28, "ms").p90 is None
    assert spread([1.0] * 29, "ms").p90 == 1.0


def test_the_window_is_from_the_first_measured_request_to_the_end_of_the_last() -> None:
    first = [request(user=0, sent_s=1.0), request(user=0, sent_s=5.0)]  # 1 to 9
    second = [request(user=1, sent_s=2.0), request(user=1, sent_s=6.0)]  # 2 to 10
    assert window([*first, *second]) == (1.0, 10.0)
    assert window([]) is None


def test_the_total_counts_a_token_when_it_arrived_and_counts_warm_ups_that_run_beside() -> None:
    one = [request(user=0, sent_s=2.0)]  # window 2 to 6: tokens at 3 4 5 6
    other = [request(user=1, warm_up=True), request(user=1, warm_up=True, sent_s=4.0)]  # tokens at 1 2 3 4, 5 6 7 8
    # Within 2 to 6: 3 4 5 6 of the first user; 2 3 4 of the one warm-up, 5 6 of the other.
    assert level(1, [*one, *other], asked=1).total_tokens_per_s == pytest.approx(9 / 4)


def test_an_answer_that_was_given_up_counts_by_what_reads_of_others_brought() -> None:
    batches = request(token_times=((1.0, 4.0), (2.0, 4.0)), tokens=8, chunks=2, arrivals=2)
    cut = request(user=1, warm_up=True, given_up=True, tokens_estimated=True, token_times=((1.0, 1.0), (2.0, 1.0)))
    # 8 tokens of the one, and two reads of four tokens each of the other, in 2 s.
    assert total_rate([batches, cut], (0.0, 2.0)) == pytest.approx(16 / 2)


def test_a_failed_request_enters_no_percentile_and_no_total() -> None:
    here = level(1, [request(), failed(sent_s=4.0)], asked=2)
    assert (here.ttft_ms.n, here.per_user_tokens_per_s.n) == (1, 1)
    assert here.total_tokens_per_s == pytest.approx(4 / 8)
    assert (here.requests.completed, here.requests.errored) == (1, 1)


def test_failures_are_counted_by_class_and_the_invalid_apart() -> None:
    got = counts([request(), failed(), failed(), request(failure="client_invalid"), request(failure="timeout")])
    assert (got.completed, got.errored, got.invalid) == (1, 3, 1)
    assert got.by_class == {"client_invalid": 1, "server_error_in_stream": 2, "timeout": 1}


def test_gaps_between_arrivals_have_no_interval_since_they_are_not_independent() -> None:
    here = level(1, [request(), request(sent_s=4.0)], asked=2)
    assert (here.itl_ms.n, here.itl_ms.p50, here.itl_ms.interval) == (6, 1000.0, None)


def test_prefill_is_by_the_servers_clock_and_leaves_out_cached_prompts() -> None:
    own = {"server_prompt_tokens": 100, "server_prompt_ms": 500.0, "prompt_tokens": 100}
    here = level(1, [request(**own), request(**own, sent_s=4.0, cached_tokens=5)], asked=2)
    assert here.prefill_tokens_per_s is not None
    assert (here.prefill_tokens_per_s.n, here.prefill_tokens_per_s.p50) == (1, 200.0)


def test_prefill_without_a_servers_clock_is_by_ttft() -> None:
    here = level(1, [request(prompt_tokens=100)], asked=1)
    assert here.prefill_tokens_per_s is not None
    assert (here.prefill_tokens_per_s.p50, here.prefill_tokens_per_s.unit) == (100.0, "tok/s by TTFT")


def test_degradation_is_the_rate_of_one_user_divided_into_the_rate_here() -> None:
    slow = tuple((float(at), 1.0) for at in (2, 4, 6, 8))
    both = [request(users=2, user=user, token_times=slow) for user in (0, 1)]
    got = result([request(), request(sent_s=4.0), *both], users=(1, 2))
    assert [one.degradation for one in got.levels] == [1.0, pytest.approx(0.5)]


def test_without_a_level_of_one_user_there_is_no_degradation() -> None:
    assert result([request(users=2, user=0), request(users=2, user=1)], users=(2,)).levels[0].degradation is None


def test_a_total_that_falls_as_users_are_added_is_said() -> None:
    slow = tuple((float(at), 1.0) for at in (9, 18, 27, 36))
    both = [request(users=2, user=user, sent_s=9.0, token_times=slow) for user in (0, 1)]
    got = result([request(), request(sent_s=4.0), *both], users=(1, 2))
    assert got.levels[1].note == "total falls: 0.2 tok/s, 1.0 with 1"


def test_a_total_within_five_percent_of_the_best_does_not_fall() -> None:
    """Windows of 4 and of 8.3 s: 1.0 and 0.96 tok/s."""
    slower = tuple((at * 25 / 24, 1.0) for at in (1, 2, 3, 4))
    two = [request(users=2, user=0, sent_s=at, token_times=slower) for at in (9.0, 9.0 + 25 / 6)]
    got = result([request(), request(sent_s=4.0), *two], users=(1, 2))
    assert got.levels[1].total_tokens_per_s == pytest.approx(0.96)
    assert "total falls" not in (got.levels[1].note or "")


def test_a_level_that_was_cut_short_has_no_total() -> None:
    got = result([request()], prompts=2, partial="interrupted")
    assert got.levels[0].total_tokens_per_s is None
    assert got.levels[0].note == "cut short: 1 of 2 requests"
    assert got.partial == "interrupted"


def test_a_level_that_was_cut_short_is_neither_comfortable_nor_not() -> None:
    limits = Load(limits=Limits(ttft_ms=1.0))  # which the request, at 1000 ms, does not meet
    whole, cut = (level(1, [request()] * n, asked=20, load=limits) for n in (20, 19))
    assert (whole.comfort, whole.goodput) == ("no", 0.0)
    assert (cut.comfort, cut.goodput, cut.requests_per_s) == (None, None, None)
    assert cut.within_limits is not None
    assert (cut.within_limits.met, cut.within_limits.of) == (0, 19)


def test_goodput_counts_good_requests_that_ended_in_the_window_those_beside_too() -> None:
    load = Load(limits=Limits(ttft_ms=1000.0))  # which every request meets, at its first second
    measured = [request(sent_s=2.0), failed(sent_s=6.0)]  # window 2 to 10
    beside = [request(user=1, warm_up=True, sent_s=sent_s) for sent_s in (0.0, 4.0, 8.0)]  # end at 4, 8 and 12
    here = level(1, [*measured, *beside], asked=2, load=load)
    assert here.goodput == pytest.approx(3 / 8)
    assert here.requests_per_s == pytest.approx(3 / 8)
    assert here.within_limits is not None
    assert (here.within_limits.met, here.within_limits.of) == (1, 2)


def test_a_level_of_warm_ups_only_is_no_level() -> None:
    assert result([request(warm_up=True)]).levels == ()


@pytest.mark.parametrize(
    ("known", "note"),
    [
        ({"ttfa_s": None}, "never answered, reasoning only: 2 of 2"),
        ({"arrivals": 2}, "tokens come in batches (0.50 arrivals per token): ITL is between batches"),
        ({"tokens_estimated": True}, "the server counts no tokens: chunks were counted"),
        ({"tokens": 3}, "answers of 3 tokens, 4 asked"),
        ({"cached_tokens": 1, "prompt_tokens": 8}, "part of the prompt came from a cache: 2 of 2"),
    ],
)
def test_what_a_reader_must_know_is_a_note_on_the_level(known: dict[str, Any], note: str) -> None:
    got = result([request(**known), request(sent_s=4.0, **known)])
    assert got.levels[0].note == note


def test_a_user_who_gets_less_than_half_is_said() -> None:
    slow = tuple((float(at), 1.0) for at in (9, 18, 27, 36))  # 4 tokens in 36 s beside 4 in 4 s, twice
    three = [request(users=3, user=0), request(users=3, user=1), request(users=3, user=2, token_times=slow)]
    assert result(three, users=(3,), prompts=3).levels[0].note == (
        "unfair: the slowest user gets 11% of what the median one gets"
    )


def test_more_users_than_slots_wait_and_it_is_said() -> None:
    crowded = Server(url=SERVER.url, fields={}, slots=1)
    got = result([request(users=2, user=0), request(users=2, user=1)], users=(2,), server=crowded)
    assert got.levels[0].note == "users wait in the queue: the server has 1 slots"


def test_prompts_of_another_length_than_asked_are_noted() -> None:
    got = result([request(prompt_tokens=8), request(prompt_tokens=10, sent_s=4.0)])
    assert got.notes == ("prompts of 8 to 10 tokens, 8 asked",)


def test_a_saturated_client_makes_the_figures_invalid() -> None:
    late = ClientCost(cpu_s=1.0, saturated=True, lag_p95_ms=31.0)
    assert result([request(), request(sent_s=4.0)], client=late).validity == (
        "this client was saturated: its loop woke up 31 ms late (p95)"
    )


@pytest.mark.parametrize(
    ("prompt", "cached", "valid"), [(128, 64, True), (128, 65, False), (8, 4, True), (8, 5, False)]
)
def test_a_cached_prompt_is_invalid_and_a_cached_template_is_not(prompt: int, cached: int, valid: bool) -> None:
    hit = request(prompt_tokens=prompt, cached_tokens=cached)
    assert (result([hit, hit]).validity == "valid") is valid


def test_a_run_without_one_answer_is_invalid() -> None:
    assert result([failed(), failed(sent_s=4.0)]).validity == "no request completed"
