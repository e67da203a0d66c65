"""llama-bench's tests through a server whose times are known, and through the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest

from evener.bench.client import base_url
from evener.bench.probe import probe
from evener.bench.sizes import Sizes
from evener.bench.speed import SpeedBench, require_room
from evener.errors import ConfigurationError
from evener.records.load import Request
from evener.records.speed_rows import SpeedResult, SpeedRow
from evener.testing.fake_engine import FakeEngine, fake_engine

SMALL = Sizes(prompts=(40,), outputs=(10,), repetitions=3, seed=1)
READ_S = 0.001  # per prompt token


async def measured(
    engine: FakeEngine,
    sizes: Sizes = SMALL,
    *,
    requests: list[Request] | None = None,
    rows: list[SpeedRow] | None = None,
) -> SpeedResult:
    async with fake_engine(engine):
        server = await probe(base_url(engine.url), sizes.load())
        bench = SpeedBench(
            server,
            sizes,
            keep=(requests if requests is not None else []).append,
            report=lambda _: None,
            on_row=(rows if rows is not None else []).append,
        )
        return await bench.run()


def assert_true(row: SpeedRow, *, at_most: float) -> None:
    """The client's clock against the server's stamps. Medians: on a busy machine both are late, and then in bursts."""
    assert row.server is not None
    client, server = median(row.client.values), median(row.server.values)
    assert client == pytest.approx(server, rel=0.2)
    assert at_most / 3 < server < at_most * 1.1


def engine(**more: object) -> FakeEngine:
    return FakeEngine(**({"ttft_s": 0.0, "itl_s": 0.005, "read_s": READ_S, "caches": True} | more))  # type: ignore[arg-type]


async def test_prompts_are_exactly_as_long_as_asked_and_both_clocks_agree_with_the_truth() -> None:
    requests: list[Request] = []
    result = await measured(engine(), requests=requests)
    prompt, answer = result.rows
    assert (prompt.test, prompt.client.n, answer.test, answer.client.n) == ("pp40", 3, "tg10", 3)
    assert prompt.processed_tokens == (40, 40)
    assert {r.prompt_tokens for r in requests} == {40, 1}
    assert_true(prompt, at_most=1 / READ_S)
    assert_true(answer, at_most=200)
    assert ("no repetition" in result.validity, result.partial) == (False, None)
    assert result.rtt_ms is not None


async def test_the_first_repetition_warms_up_and_is_dropped() -> None:
    requests: list[Request] = []
    result = await measured(engine(), replace(SMALL, outputs=(0,)), requests=requests)
    assert [r.warm_up for r in requests] == [True, False, False, False]
    assert result.rows[0].client.n == 3


async def test_a_depth_is_in_the_cache_and_only_what_comes_behind_is_timed() -> None:
    requests: list[Request] = []
    result = await measured(engine(), replace(SMALL, depths=(200,)), requests=requests)
    prompt, answer = result.rows
    assert prompt.test == "pp40 @ d200"
    assert prompt.processed_tokens == (40, 40)
    assert_true(prompt, at_most=1 / READ_S)
    assert_true(answer, at_most=200)
    # One request fills the cache for all eight that follow.
    assert [r.prompt_tokens for r in requests] == [200, *[240] * 4, *[200] * 4]
    assert [r.cached_tokens for r in requests[1:5]] == [200] * 4


async def test_a_cache_that_cannot_roll_back_is_filled_anew_for_each_repetition() -> None:
    requests: list[Request] = []
    result = await measured(engine(rolls_back=False), replace(SMALL, outputs=(0,), depths=(100,)), requests=requests)
    (prompt,) = result.rows
    assert (prompt.client.n, prompt.excluded, prompt.processed_tokens) == (3, 0, (40, 40))
    assert_true(prompt, at_most=1 / READ_S)


async def test_an_answer_behind_such_a_cache_sends_each_prompt_once() -> None:
    requests: list[Request] = []
    sizes = replace(SMALL, prompts=(20,), depths=(60,), repetitions=1)
    await measured(engine(rolls_back=False), sizes, requests=requests)
    # The prompt's repetitions: filled, sent; missed, filled anew, sent. Then the answer's, warm-up and one.
    assert [r.prompt_tokens for r in requests] == [60, 80, 80, 60, 80, 60, 60]


async def test_a_depth_that_no_cache_gives_back_is_left_out_and_counted() -> None:
    result = await measured(engine(caches=False), replace(SMALL, outputs=(0,), depths=(100,)))
    (prompt,) = result.rows
    assert (prompt.client.n, prompt.excluded) == (0, 3)
    assert "no repetition could be used" in result.validity


async def test_a_cold_prompt_that_came_from_a_cache_is_left_out() -> None:
    result = await measured(engine(scenario="cached"))
    assert (result.rows[0].client.n, result.rows[0].excluded) == (0, 3)
    assert result.rows[1].client.n == 3


async def test_elsewhere_a_prompt_at_a_depth_is_the_difference_of_two_cold_ones() -> None:
    result = await measured(engine(llama=False, caches=False), replace(SMALL, depths=(0, 80), prompts=(80,)))
    cold, _, deep, answer = result.rows
    assert cold.server is None
    assert deep.client.mean == pytest.approx(1 / READ_S, rel=0.5)
    assert deep.note == "by the difference of two cold prompts: this server's cache cannot be asked"
    assert answer.client.mean == pytest.approx(200, rel=0.3)
    assert "chat template" in result.gaps


async def test_failures_are_counted_by_class_and_in_no_figure() -> None:
    result = await measured(engine(scenario=lambda n: "error-middle" if n == 3 else "plain"))
    assert result.rows[0].by_class == {"server_error_in_stream": 1}
    assert result.rows[0].client.n == 2


async def test_a_server_that_goes_away_leaves_a_partial_result() -> None:
    went = engine()
    async with fake_engine(went) as serving:
        server = await probe(base_url(serving.url), SMALL.load())
        bench = SpeedBench(server, replace(SMALL, repetitions=200), keep=_after(5, lambda: None), report=lambda _: None)
        work = asyncio.ensure_future(bench.run())
        while len(went.seen) < 6:
            await asyncio.sleep(0.01)
    result = await asyncio.wait_for(work, 20)
    assert result.partial is not None
    assert "the server went away" in result.partial
    assert "cut short" in (result.rows[0].note or "")


async def test_what_was_measured_before_an_interruption_is_there() -> None:
    rows: list[SpeedRow] = []
    interrupted = asyncio.Event()
    async with fake_engine(engine()) as serving:
        server = await probe(base_url(serving.url), SMALL.load())
        bench = SpeedBench(
            server, replace(SMALL, repetitions=20), keep=_after(21 + 5, interrupted.set), report=lambda _: None,
            on_row=rows.append,
        )  # fmt: skip
        work = asyncio.ensure_future(bench.run())
        await asyncio.wait_for(interrupted.wait(), 20)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    result = bench.result("interrupted")
    assert (result.partial, [row.test for row in rows]) == ("interrupted", ["pp40"])
    whole, begun = result.rows
    assert (whole.client.n, begun.client.n, begun.note) == (20, 4, "cut short: 4 of 20 repetitions")


def _after(count: int, call: Callable[[], None]) -> Callable[[Request], None]:
    seen: list[Request] = []

    def keep(request: Request) -> None:
        seen.append(request)
        if len(seen) == count:
            call()

    return keep


async def test_what_the_context_cannot_hold_is_refused_before_anything_is_asked() -> None:
    async with fake_engine(engine(context=512)) as serving:
        server = await probe(base_url(serving.url), SMALL.load())
    with pytest.raises(ConfigurationError, match=r"pp512 @ d4096 needs 4609 tokens of context, .* gives 512 to a user"):
        require_room(Sizes(depths=(0, 4096)).tests(), server)
