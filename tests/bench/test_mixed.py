"""One long prompt among others, of requests written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.bench.client import base_url
from evener.bench.load import Load, MixedLoad
from evener.bench.mixed import arrival, long_prompt_tokens, mixed_result, others_answer_tokens, others_beside
from evener.bench.probe import Server
from evener.records.load import Request

SERVER = Server(url=base_url("127.0.0.1:1"), fields={})
LONG = Request(id=9, users=2, user=1, sent_s=10.0, ttft_s=4.0, end_s=5.0, warm_up=True, long=True, prompt_tokens=3000)


def stream(*times: float) -> Request:
    """Sent at 0; a token at each of these seconds."""
    return Request(id=0, users=2, user=0, sent_s=0.0, end_s=times[-1], token_times=tuple((t, 1.0) for t in times))


def test_a_stall_is_a_gap_that_lies_in_part_between_the_long_prompts_sending_and_its_first_token() -> None:
    # The long prompt comes at 10 and has its first token at 14: the gaps of 3 s (11 to 14) and of 1 s count.
    seen = arrival(LONG, [stream(8.0, 8.5, 9.0, 9.5, 10.0, 11.0, 14.0, 20.0)], since=0.0)
    assert (seen.worst_stall_ms, seen.usual_gap_ms, seen.ttft_ms) == (3000.0, 500.0, 4000.0)


def test_what_had_stalled_before_and_after_is_not_its_doing() -> None:
    seen = arrival(LONG, [stream(2.0, 10.0, 10.5, 14.0, 19.0)], since=0.0)
    assert seen.worst_stall_ms == 3500.0  # 10.5 to 14; not 2 to 10, and not 14 to 19


def test_usual_is_what_was_usual_since_the_one_before() -> None:
    times = stream(1.0, 3.0, 5.0, 7.0, 8.0, 9.0, 10.0, 13.0)
    assert arrival(LONG, [times], since=7.0).usual_gap_ms == 1000.0
    assert arrival(LONG, [times], since=0.0).usual_gap_ms == 1500.0  # of 2 2 2 1 1 1


def test_a_long_prompt_beside_nobody_stalls_nobody() -> None:
    seen = arrival(replace(LONG, failure="context_exceeded", ttft_s=None), [], since=0.0)
    assert (seen.worst_stall_ms, seen.usual_gap_ms, seen.failure) == (None, None, "context_exceeded")


def test_each_arrival_is_told_and_the_spread_over_them() -> None:
    second = replace(LONG, sent_s=20.0)
    seen = mixed_result(
        [LONG, second, stream(9.0, 9.5, 10.0, 12.0, 16.0, 16.5, 17.0, 23.0)],
        MixedLoad(users=1, prompt_tokens=3000),
        SERVER,
    )
    assert seen is not None
    assert [one.worst_stall_ms for one in seen.arrivals] == [4000.0, 6000.0]
    assert (seen.worst_stall_ms.n, seen.worst_stall_ms.most, seen.limited_by) == (2, 6000.0, None)


@pytest.mark.parametrize(
    ("slots", "context", "others", "prompt", "answer"),
    [
        (None, None, 7, 30_000, 512),
        (8, 32_768, 7, 30_000, 512),
        (4, 2048, 3, 2048 - 16 - 64, 512),
        (1, 400, 1, 400 - 16 - 64, 400 - 128 - 64),
    ],
)
def test_a_mixed_load_takes_what_slots_and_context_leave(
    slots: int | None, context: int | None, others: int, prompt: int, answer: int
) -> None:
    server, load = replace(SERVER, slots=slots, context=context), Load(mixed=MixedLoad())
    assert load.mixed is not None
    assert others_beside(load.mixed, server) == others
    assert long_prompt_tokens(load.mixed, server) == prompt
    assert others_answer_tokens(load, server) == answer
