"""By the clock, thinking, talking, recorded, warm, mixed, going on: against a fake engine whose times are known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from evener.bench.client import base_url
from evener.bench.load import Load, MixedLoad, Replayed
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.errors import ConfigurationError
from evener.records.load import Limits, Request, UsersResult
from evener.testing.fake_engine import FakeEngine, Seen, fake_engine

SMALL = Load(users=(2,), prompts=6, prompt_tokens=20, output_tokens=4)


class Measured:
    """A measurement: what was kept, what the server saw after the probe, and the answer."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.requests: list[Request] = []

    async def of(self, load: Load, *, earlier: tuple[Request, ...] = ()) -> UsersResult:
        async with fake_engine(self.engine), asyncio.timeout(30):
            server = await probe(base_url(self.engine.url), load)
            bench = UsersBench(server, load, keep=self.requests.append, report=lambda _p: None, earlier=earlier)
            return await bench.run()

    @property
    def counted(self) -> list[Request]:
        return [r for r in self.requests if not r.warm_up]

    @property
    def asked(self) -> list[Seen]:
        return self.engine.seen[1:]


def texts(seen: Seen) -> list[str]:
    return [message["content"] for message in seen.body["messages"]]


# ---- by the clock


async def test_constant_arrivals_do_not_wait_for_answers() -> None:
    run = Measured(FakeEngine(ttft_s=0.4, itl_s=0.01))
    result = await run.of(replace(SMALL, arrivals="constant", rate_per_s=10.0, prompts=8))
    (level,) = result.levels
    assert level.open_loop is not None
    assert level.open_loop.rate_per_s == pytest.approx(10.0, rel=0.3)
    assert level.open_loop.rate_asked_per_s == 10.0
    assert level.in_flight is not None
    assert level.in_flight.peak >= 4  # ten a second, each of which takes 0.43 s
    assert (level.requests.completed, level.users, level.fairness) == (8, 64, None)
    assert f"up to {level.in_flight.peak} of 64 in flight" in (level.note or "")
    assert "10 requests/s asked, " in (level.note or "")


async def test_what_the_cap_holds_back_is_sent_late_and_counted() -> None:
    run = Measured(FakeEngine(ttft_s=0.1, itl_s=0.01))
    result = await run.of(replace(SMALL, arrivals="poisson", rate_per_s=50.0, prompts=8, most_in_flight=2))
    (level,) = result.levels
    assert level.open_loop is not None
    assert level.in_flight is not None
    assert level.in_flight.peak == 2
    assert level.open_loop.late >= 6  # two go out every 0.13 s, and six are due in that time
    assert level.open_loop.latest_s > 0.2
    assert f"{level.open_loop.late} of 8 requests were sent late" in (level.note or "")
    assert "at most 2 may be in flight" in (level.note or "")


async def test_a_recording_is_sent_at_its_own_times() -> None:
    said = tuple(Replayed(messages=({"role": "user", "content": f"r{at}"},), at_s=at) for at in (5.0, 5.3, 5.1))
    run = Measured(FakeEngine())
    result = await run.of(replace(SMALL, arrivals="replay", replay=said, prompts=None))
    assert [texts(seen) for seen in run.asked] == [["r5.0"], ["r5.1"], ["r5.3"]]
    first, _, last = sorted(r.sent_s for r in run.counted)
    assert last - first == pytest.approx(0.3, abs=0.1)
    assert result.levels[0].requests.completed == 3


async def test_a_recorded_request_asks_for_its_own_length_and_may_end_by_itself() -> None:
    said = (Replayed(messages=({"role": "user", "content": "a b"},), max_tokens=3),)
    run = Measured(FakeEngine())
    result = await run.of(replace(SMALL, replay=said))
    assert result.prompt_tokens_asked is None  # recorded prompts are as long as they are
    assert {(seen.body["max_tokens"], seen.body["ignore_eos"]) for seen in run.asked} == {(3, False)}


# ---- thinking and talking


async def test_people_think_between_their_requests_and_are_fewer_sequences() -> None:
    run = Measured(FakeEngine(ttft_s=0.05, itl_s=0.01))
    load = replace(SMALL, users=(4,), people=True, prompts=12, think_s=0.2, thinking="fixed", profile="chat")
    result = await run.of(load)
    (level,) = result.levels
    assert (level.people, result.profile, result.think_s) == (4, "chat", 0.2)
    assert level.in_flight is not None
    assert 0.5 < level.in_flight.mean < 2.5  # 0.08 s of 0.28: 1.1 of four
    for user in range(4):
        mine = sorted((r for r in run.requests if r.user == user and not r.given_up), key=lambda r: r.sent_s)
        for before, after in pairwise(mine):
            assert after.sent_s - before.sent_s - (before.end_s or 0) >= 0.19


async def test_a_conversation_grows_by_the_real_answers_and_cold_ones_begin_anew_each_turn() -> None:
    run = Measured(FakeEngine())
    result = await run.of(replace(SMALL, users=(1,), turns=3))
    by_turn = [(request.turn, texts(run.asked[request.id])) for request in run.requests]
    opening = next(said for turn, said in by_turn if turn == 0)
    third = next(said for turn, said in by_turn if turn == 2)
    assert [len(said) for turn, said in by_turn[:6]] == [1, 3, 5, 1, 3, 5]
    assert third[3] == " so two unequal horses"  # what the fake engine says
    assert opening[0].split()[1:] == third[0].split()[1:]
    firsts = [said[0].split()[0] for _, said in by_turn]
    assert len(set(firsts)) == len(firsts)
    assert "cache" not in result.validity


async def test_a_cold_conversation_that_was_cached_is_invalid() -> None:
    def cached(number: int) -> str:
        return "cached" if number == 4 else "plain"

    result = await Measured(FakeEngine(scenario=cached)).of(replace(SMALL, users=(1,), turns=2))
    assert "prompts came from a cache in 1 requests" in result.validity


async def test_a_recorded_conversation_sends_its_turns_with_the_answers_between_them() -> None:
    said = (Replayed(messages=({"role": "user", "content": "one"},), turns=("two",), max_tokens=2),)
    run = Measured(FakeEngine())
    await run.of(replace(SMALL, users=(1,), replay=said))
    assert [texts(seen) for seen in run.asked[:3]] == [["one"], ["one", " so two", "two"], ["one"]]


@pytest.mark.parametrize("failure", ["failing", "cut", "error-first"])
async def test_a_conversation_of_which_a_turn_failed_is_begun_anew(failure: str) -> None:
    def failing(number: int) -> str:
        return failure if number == 2 else "plain"

    run = Measured(FakeEngine(scenario=failing))
    await run.of(replace(SMALL, users=(1,), turns=3))
    assert [len(texts(seen)) for seen in run.asked[:4]] == [1, 3, 1, 3]


# ---- warm


async def test_a_shared_prefix_is_found_in_the_cache_and_shown_and_is_valid() -> None:
    run = Measured(FakeEngine(caches=True, read_s=0.001))
    load = replace(SMALL, mode="warm", shared_prefix_tokens=150, prompts=8)
    result = await run.of(load)
    (level,) = result.levels
    assert (result.mode, level.mode, result.shared_prefix_tokens) == ("warm", "warm", 150)
    assert "cache" not in result.validity
    assert level.prompt_tokens == (170, 170)
    assert level.cache is not None
    assert (level.cache.hits, level.cache.of) == (8, 8)
    assert level.cache.cached_tokens >= 8 * 150
    assert "warm: 8 of 8 prompts were found in the cache, 88% of all their tokens" in (level.note or "")
    assert all(seen.body["cache_prompt"] for seen in run.asked)


async def test_hits_and_misses_have_their_own_times() -> None:
    run = Measured(FakeEngine(caches=True, ttft_s=0.0, read_s=0.001))
    said = (
        Replayed(messages=({"role": "user", "content": " ".join(f"w{n}" for n in range(200))},), user="a"),
        *(
            Replayed(messages=({"role": "user", "content": " ".join(f"x{k}-{n}" for n in range(200))},), user="b")
            for k in range(20)
        ),
    )
    result = await run.of(replace(SMALL, mode="warm", replay=said, prompts=8))
    cache = result.levels[0].cache
    assert cache is not None
    assert cache.hits + cache.ttft_miss_ms.n == 8
    assert cache.ttft_hit_ms.n >= 2
    assert cache.ttft_miss_ms.n >= 2
    assert (cache.ttft_miss_ms.p50 or 0) > 190  # 200 words at 1 ms each


# ---- mixed


async def test_a_long_prompt_stalls_those_who_decode_and_each_stall_is_measured() -> None:
    run = Measured(FakeEngine(ttft_s=0.0, itl_s=0.005, read_s=0.0002, context=8192, slots=8))
    load = Load(users=(), prompt_tokens=20, mixed=MixedLoad(users=3, prompt_tokens=2000, repeats=2))
    result = await run.of(load)
    mixed = result.mixed
    assert mixed is not None
    assert (result.levels, len(mixed.arrivals), mixed.limited_by) == ((), 2, None)
    for arrival in mixed.arrivals:
        assert (arrival.prompt_tokens, arrival.failure) == (2000, None)
        assert arrival.ttft_ms is not None
        assert arrival.worst_stall_ms is not None
        assert arrival.usual_gap_ms is not None
        assert arrival.ttft_ms >= 390  # 2000 words at 0.2 ms
        assert arrival.worst_stall_ms > 300
        assert 0 < arrival.usual_gap_ms < 60


async def test_a_long_prompt_is_as_long_as_a_slot_holds_and_that_is_said() -> None:
    run = Measured(FakeEngine(context=600, slots=8))
    result = await run.of(Load(users=(), prompt_tokens=20, mixed=MixedLoad(users=1, prompt_tokens=30_000, repeats=1)))
    assert result.mixed is not None
    assert result.mixed.limited_by == "a slot holds 600 tokens"
    assert result.mixed.arrivals[0].prompt_tokens == 600 - 16 - 64


async def test_the_long_prompt_has_a_slot_and_as_many_decode_as_are_left() -> None:
    result = await Measured(FakeEngine(slots=3)).of(
        Load(users=(), prompt_tokens=20, mixed=MixedLoad(users=7, prompt_tokens=100, repeats=1))
    )
    assert result.mixed is not None
    assert (result.mixed.users, result.mixed.users_asked) == (2, 7)
    assert result.notes == ("mixed load: 2 decode, 7 asked: the long prompt needs a slot, too",)


async def test_others_who_are_never_answered_end_a_mixed_load() -> None:
    def failing(number: int) -> str:
        return "failing" if number else "plain"

    result = await Measured(FakeEngine(scenario=failing)).of(
        Load(users=(), prompt_tokens=20, mixed=MixedLoad(users=2, prompt_tokens=100))
    )
    assert result.mixed is None


# ---- comfortable


async def test_a_chat_at_ten_tokens_a_second_is_not_comfortable_and_one_at_fifty_is() -> None:
    limits = Limits(ttft_ms=2000.0, tpot_ms=66.0)
    load = replace(SMALL, prompts=36, output_tokens=3, limits=limits, users=(12,))
    slow = await Measured(FakeEngine(itl_s=0.1, slots=12)).of(load)
    quick = await Measured(FakeEngine(itl_s=0.02, slots=12)).of(load)
    assert slow.comfortable is not None
    assert quick.comfortable is not None
    assert (slow.comfortable.holds_for, slow.comfortable.fails_at) == (None, 12)
    assert quick.comfortable.holds_for == 12
    assert slow.levels[0].goodput == 0.0
    assert (quick.levels[0].goodput or 0) > 0


# ---- slots


@pytest.mark.parametrize(("silent", "source", "deferred"), [((), "metrics", 2), (("/metrics",), "slots", None)])
async def test_who_waits_for_a_slot_is_told_as_far_as_the_server_does(
    silent: tuple[str, ...], source: str, deferred: int | None
) -> None:
    run = Measured(FakeEngine(slots=2, itl_s=0.02, says_nothing_at=silent))
    result = await run.of(replace(SMALL, users=(4,), output_tokens=20, prompts=16))
    queue = result.levels[0].queue
    assert queue is not None
    assert (queue.source, queue.deferred_most) == (source, deferred)


async def test_a_server_that_says_nothing_of_its_slots_leaves_them_unknown() -> None:
    run = Measured(FakeEngine(says_nothing_at=("/metrics", "/slots")))
    assert (await run.of(SMALL)).levels[0].queue is None


# ---- ends


async def test_silence_on_every_stream_ends_the_run_and_says_so() -> None:
    def hangs(number: int) -> str:
        return "stall" if number > 6 else "plain"

    run = Measured(FakeEngine(scenario=hangs))
    result = await run.of(replace(SMALL, users=(2, 3), silence_s=0.1))  # and 20 tokens to be read at 50 a second
    assert result.partial == "nothing arrived on any stream for 0.5 s"
    assert result.levels[0].requests.by_class == {"timeout": 2}
    assert [one.users for one in result.levels] == [2]


async def test_comments_of_a_server_that_hangs_are_no_life() -> None:
    engine = FakeEngine(scenario=lambda number: "pings" if number else "plain")
    result = await Measured(engine).of(replace(SMALL, silence_s=0.1))
    assert result.partial == "nothing arrived on any stream for 0.5 s"


async def test_an_answer_that_takes_longer_than_the_silence_allowed_is_no_silence() -> None:
    load = replace(SMALL, users=(1,), prompts=1, output_tokens=50, silence_s=0.1)  # 0.5 s allowed, 1 s taken
    result = await Measured(FakeEngine(itl_s=0.02)).of(load)
    assert result.partial is None


async def test_one_slow_stream_among_others_is_no_silence() -> None:
    def one_stalls(number: int) -> str:
        return "stall" if number == 4 else "plain"

    load = replace(SMALL, prompts=60, output_tokens=20, silence_s=0.5, timeout_s=1.2)
    result = await Measured(FakeEngine(scenario=one_stalls)).of(load)
    assert result.partial is None
    assert result.levels[0].requests.by_class == {"timeout": 1}


async def test_a_server_that_fails_at_once_is_not_flooded_beside_the_last_measured_request() -> None:
    def scenario(number: int) -> str:
        return "stall" if number == 4 else "failing" if number > 4 else "plain"

    run = Measured(FakeEngine(scenario=scenario))
    result = await run.of(replace(SMALL, prompts=2, timeout_s=1.5))
    # Two warm-ups and one beside the slower of them; then one measured request hangs, and the other fails at once.
    assert result.levels[0].requests.by_class == {"http_error": 1, "timeout": 1}
    assert len(run.asked) <= 5 + 4  # in 1.5 s: at once, and after 0.25, 0.5 and 1 s more


async def test_a_full_kv_pool_is_told_with_the_users_from_whom_on() -> None:
    engine = FakeEngine(scenario="plain")
    engine.scenario = lambda _number: "kv" if engine.connections >= 6 else "plain"  # probe, slots, and four users
    result = await Measured(engine).of(replace(SMALL, users=(1, 2, 4)))
    assert result.kv_exhausted_from == 4
    assert "killed, the KV pool ran full" in (result.levels[2].note or "")


async def test_requests_longer_than_a_slot_are_refused_before_the_first_is_sent() -> None:
    with pytest.raises(
        ConfigurationError, match="prompts and answers of 5004 tokens do not fit into the server's 4096"
    ):
        await Measured(FakeEngine()).of(replace(SMALL, prompt_tokens=5000))


# ---- going on


async def interrupted(load: Load, *, after: Callable[[Request], bool]) -> tuple[Request, ...]:
    """The requests of a run that was cancelled at the first one that is so."""
    kept: list[Request] = []
    enough = asyncio.Event()

    def keep(request: Request) -> None:
        kept.append(request)
        if after(request):
            enough.set()

    async with fake_engine(FakeEngine(itl_s=0.01)) as engine:
        server = await probe(base_url(engine.url), load)
        running = asyncio.ensure_future(UsersBench(server, load, keep=keep, report=lambda _p: None).run())
        await enough.wait()
        running.cancel()
        await asyncio.wait([running])
    return tuple(kept)


async def test_a_run_goes_on_with_the_levels_that_are_missing_and_measures_half_ones_again() -> None:
    load = replace(SMALL, users=(1, 2, 3), prompts=6)
    earlier = await interrupted(load, after=lambda r: r.users == 2 and not r.warm_up)
    half = [r for r in earlier if r.users == 2 and not r.warm_up]
    assert 1 <= len(half) < 6
    run = Measured(FakeEngine())
    result = await run.of(load, earlier=earlier)
    assert {r.users for r in run.counted} == {2, 3}
    assert [(one.users, one.requests.completed, one.part) for one in result.levels] == [(1, 6, 0), (2, 6, 1), (3, 6, 1)]
    assert result.notes == ("resumed: measured in 2 parts",)
    assert min(r.sent_s for r in run.requests) > max(r.sent_s + (r.end_s or 0) for r in earlier)
    assert not {r.id for r in run.requests} & {r.id for r in earlier}


async def test_a_run_that_was_whole_sends_nothing_more() -> None:
    first = Measured(FakeEngine())
    whole = await first.of(SMALL)
    again = Measured(FakeEngine())
    result = await again.of(SMALL, earlier=tuple(first.requests))
    assert again.asked == []
    assert result.levels[0].ttft_ms == whole.levels[0].ttft_ms


async def test_an_interrupted_request_that_was_to_be_measured_is_not_kept() -> None:
    earlier = await interrupted(replace(SMALL, prompts=40), after=lambda r: not r.warm_up)
    assert all(r.tokens == 4 and r.failure is None for r in earlier if not r.warm_up)
