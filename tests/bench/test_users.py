"""The closed loop against a fake engine whose token times are known, and against the real one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.errors import HostError
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.testing.fake_engine import FakeEngine, fake_engine


class Kept(list[Request]):
    """Requests as they are kept; `enough` is set when there are so many."""

    def __init__(self, enough: int) -> None:
        super().__init__()
        self.enough = asyncio.Event()
        self._count = enough

    def keep(self, request: Request) -> None:
        self.append(request)
        if len(self) >= self._count:
            self.enough.set()


class Run:
    """A measurement and everything it gave away."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.progress: list[Progress] = []
        self.result: UsersResult | None = None

    async def of(self, engine: FakeEngine, load: Load, *, keep: Callable[[Request], None] | None = None) -> UsersResult:
        async with fake_engine(engine):
            server = await probe(base_url(engine.url), load)
            bench = UsersBench(server, load, keep=keep or self.requests.append, report=self.progress.append)
            self.result = await bench.run()
        return self.result


def after_the_probe(then: str, *, at: int) -> Callable[[int], str]:
    """Request 0 is the probe; `at` counts the requests of the load from 1, its warm-up first."""
    return lambda number: then if number == at else "plain"


async def test_every_level_is_measured_when_all_its_users_have_warmed_up() -> None:
    run = Run()
    result = await run.of(FakeEngine(), Load(users=(1, 2, 4), output_tokens=4, prompt_tokens=20))
    assert [(one.users, one.requests.completed) for one in result.levels] == [(1, 6), (2, 6), (4, 12)]
    for users in (1, 2, 4):
        first = min(r.sent_s for r in run.requests if r.users == users and not r.warm_up)
        warm = {r.user for r in run.requests if r.warm_up and not r.given_up and r.sent_s + (r.end_s or 0) <= first}
        assert set(range(users)) <= warm


async def test_the_server_sees_the_full_load_from_the_first_level_to_the_last() -> None:
    in_flight: list[tuple[float, int]] = []

    def slowdown(streams: int) -> float:
        in_flight.append((time.perf_counter(), streams))
        return 1.0

    run = Run()
    engine = FakeEngine(ttft_s=0.0, itl_s=0.01, slowdown=slowdown)
    result = await run.of(engine, Load(users=(2, 4), prompts=12, output_tokens=20, prompt_tokens=20))
    two, four = result.levels
    # The truth is 2 and 4; what is missing lies between an answer and the next request.
    assert two.in_flight is not None
    assert four.in_flight is not None
    assert two.in_flight.peak == 2
    assert four.in_flight.peak == 4
    assert two.in_flight.mean > 1.8
    assert four.in_flight.mean > 3.6
    assert max(streams for _, streams in in_flight) == 4


async def test_what_is_in_flight_when_a_level_is_over_warms_up_the_next_and_is_finished() -> None:
    run = Run()
    await run.of(FakeEngine(itl_s=0.01), Load(users=(1, 2), output_tokens=10, prompt_tokens=20))
    over = max(r.sent_s + (r.end_s or 0) for r in run.requests if r.users == 1 and not r.warm_up)
    carried = [r for r in run.requests if r.users == 1 and r.sent_s >= over]
    assert len(carried) == 1
    assert (carried[0].warm_up, carried[0].given_up, carried[0].tokens) == (True, False, 10)
    _, then, *_ = sorted((r for r in run.requests if r.user == 0 and r.sent_s >= over), key=lambda r: r.sent_s)
    assert not then.warm_up  # user 0 was warm, and user 1 had only half an answer to wait for


async def test_what_is_in_flight_at_the_very_end_is_given_up_and_is_no_failure() -> None:
    run = Run()
    result = await run.of(FakeEngine(itl_s=0.02), Load(users=(3,), output_tokens=10, prompt_tokens=20))
    given_up = [r for r in run.requests if r.given_up]
    assert 1 <= len(given_up) <= 3
    assert all(r.warm_up and r.failure is None for r in given_up)
    assert result.levels[0].requests.by_class == {}


async def test_fewer_users_after_more_leave_none_behind() -> None:
    run = Run()
    result = await run.of(FakeEngine(itl_s=0.01), Load(users=(3, 1), output_tokens=8, prompt_tokens=20))
    assert [one.users for one in result.levels] == [3, 1]
    assert result.levels[1].in_flight is not None
    assert result.levels[1].in_flight.peak == 1


async def test_lengths_are_those_asked_and_nothing_is_cached() -> None:
    run = Run()
    await run.of(FakeEngine(), Load(users=(2,), output_tokens=5, prompt_tokens=33))
    measured = [r for r in run.requests if not r.warm_up]
    assert {(r.prompt_tokens, r.tokens, r.cached_tokens) for r in measured} == {(33, 5, 0)}


async def test_no_two_requests_send_prompts_that_begin_alike() -> None:
    engine = FakeEngine()
    await Run().of(engine, Load(users=(1, 2, 4), output_tokens=2, prompt_tokens=20))
    firsts = [seen.body["messages"][0]["content"].split()[0] for seen in engine.seen]
    assert len(set(firsts)) == len(firsts)


async def test_no_more_requests_are_in_flight_than_there_are_users() -> None:
    most = 0

    def slowdown(streams: int) -> float:
        nonlocal most
        most = max(most, streams)
        return 1.0

    await Run().of(FakeEngine(slowdown=slowdown), Load(users=(3,), output_tokens=6, prompt_tokens=20))
    assert most == 3


async def test_what_is_reported_is_what_the_server_did() -> None:
    engine = FakeEngine(ttft_s=0.1, itl_s=0.02)
    run = Run()
    await run.of(engine, Load(users=(2,), output_tokens=10, prompt_tokens=20))
    truths = sorted(s.received_ns for s in engine.seen[1:])
    assert len(run.requests) == len(truths)
    for told in (r for r in run.requests if not r.given_up):
        truth = next(s for s in engine.seen if len(s.token_ns) == told.tokens and _same_prompt(s.body, told))
        true_ttft_s = (truth.token_ns[0] - truth.received_ns) / 1e9
        true_span_s = (truth.token_ns[-1] - truth.token_ns[0]) / 1e9
        assert told.ttft_s is not None
        assert told.last_token_s is not None
        # Received after sent and read after written, by what a busy machine may add and never by less.
        assert true_ttft_s - 0.001 <= told.ttft_s <= true_ttft_s + 0.25
        assert told.last_token_s - told.ttft_s == pytest.approx(true_span_s, abs=0.25)


def _same_prompt(body: dict[str, Any], told: Request) -> bool:
    from evener.bench.load import WORDS

    return bool(body["messages"][0]["content"].split()[0] == WORDS[told.id % len(WORDS)])


async def test_a_server_that_slows_down_with_users_shows_it() -> None:
    engine = FakeEngine(itl_s=0.01, slowdown=lambda streams: float(streams**2))
    result = await Run().of(engine, Load(users=(1, 2), output_tokens=12, prompt_tokens=20))
    one, two = result.levels
    assert two.degradation is not None
    assert two.degradation < 0.6  # truth: a quarter while both decode
    assert one.total_tokens_per_s is not None
    assert two.total_tokens_per_s is not None
    assert "total falls" in (two.note or "")


@pytest.mark.parametrize(
    ("scenario", "failure"),
    [
        ("error-first", "server_error_in_stream"),
        ("error-middle", "server_error_in_stream"),
        ("cut", "connection_cut"),
        ("empty", "no_token"),
        ("stall", "timeout"),
        ("context", "context_exceeded"),
        ("kv", "kv_exhausted"),
        ("loading", "model_loading"),
        ("failing", "http_error"),
        ("unstreamed", "client_invalid"),
    ],
)
async def test_a_failure_is_counted_by_its_class_and_the_level_goes_on(scenario: str, failure: str) -> None:
    engine = FakeEngine(scenario=after_the_probe(scenario, at=3))
    result = await Run().of(engine, Load(users=(1,), output_tokens=4, prompt_tokens=20, timeout_s=2.0))
    requests = result.levels[0].requests
    assert requests.by_class == {failure: 1}
    assert (requests.completed, requests.errored + requests.invalid) == (5, 1)
    assert result.levels[0].ttft_ms.n == 5


@pytest.mark.parametrize(
    "scenario", ["role-first", "ping", "progress", "batches", "reasoning", "reasoning-only", "no-usage", "no-done"]
)
async def test_every_shape_of_a_good_stream_is_a_success(scenario: str) -> None:
    result = await Run().of(
        FakeEngine(scenario=scenario), Load(users=(1,), prompts=2, output_tokens=8, prompt_tokens=20)
    )
    assert result.levels[0].requests.completed == 2
    assert result.levels[0].output_tokens == (8, 8)


@pytest.mark.parametrize("scenario", ["role-first", "ping", "progress"])
async def test_what_comes_before_the_first_token_is_no_token(scenario: str) -> None:
    engine = FakeEngine(scenario=scenario, ttft_s=0.3)
    result = await Run().of(engine, Load(users=(1,), prompts=1, output_tokens=2, prompt_tokens=20))
    assert (result.levels[0].ttft_ms.p50 or 0) >= 290  # half of it passes before the early chunk goes out


async def test_cached_prompts_make_the_figures_invalid() -> None:
    result = await Run().of(
        FakeEngine(scenario="cached"), Load(users=(1,), prompts=2, output_tokens=2, prompt_tokens=20)
    )
    assert "prompts came from a cache in 2 requests" in result.validity


async def test_stale_connections_cost_one_retry_per_user_and_no_request() -> None:
    result = await Run().of(FakeEngine(hangs_up_on_reuse=True), Load(users=(2,), output_tokens=2, prompt_tokens=20))
    assert result.levels[0].requests.completed == 6
    assert result.client.retries == 2


async def test_progress_counts_measured_requests_of_each_level() -> None:
    run = Run()
    await run.of(FakeEngine(), Load(users=(1, 2), prompts=3, output_tokens=2, prompt_tokens=20))
    assert [(p.what, p.done, p.of) for p in run.progress] == [
        *(("1 user", float(done), 3) for done in range(4)),
        *(("2 users", float(done), 3) for done in range(4)),
    ]


async def test_a_server_that_goes_away_ends_the_run_and_says_so() -> None:
    load = Load(users=(1, 2), prompts=50, output_tokens=4, prompt_tokens=20)
    requests = Kept(5)
    async with fake_engine(FakeEngine()) as engine:
        server = await probe(base_url(engine.url), load)
        bench = UsersBench(server, load, keep=requests.keep, report=lambda _progress: None)
        running = asyncio.ensure_future(bench.run())
        await requests.enough.wait()
    async with asyncio.timeout(10):
        result = await running
    assert result.partial == "the server went away: connection refused"
    assert [one.users for one in result.levels] == [1]
    assert result.levels[0].requests.by_class.keys() == {"connection_cut"}
    assert result.levels[0].total_tokens_per_s is None


async def test_a_cancelled_run_has_kept_every_finished_request() -> None:
    load = Load(users=(2,), prompts=50, output_tokens=4, prompt_tokens=20)
    requests = Kept(7)
    async with fake_engine(FakeEngine()) as engine:
        server = await probe(base_url(engine.url), load)
        bench = UsersBench(server, load, keep=requests.keep, report=lambda _progress: None)
        running = asyncio.ensure_future(bench.run())
        await requests.enough.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        finished = sum(len(seen.token_ns) == seen.body["max_tokens"] for seen in engine.seen[1:])
    result = bench.result("interrupted")
    assert finished - 2 <= len(requests) <= finished  # the last ones may have been on their way
    assert result.partial == "interrupted"
    assert result.levels[0].requests.completed == sum(not r.warm_up for r in requests)


async def test_a_run_that_cannot_be_kept_ends() -> None:
    def full(_request: Request) -> None:
        raise HostError("cannot write: No space left on device")

    with pytest.raises(HostError, match="No space left"):
        async with asyncio.timeout(10):
            await Run().of(FakeEngine(), Load(users=(2,), prompts=99, output_tokens=4, prompt_tokens=20), keep=full)
