"""The closed loop against the real llama-server and a real model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evener.bench.client import BaseUrl, Line, base_url
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.edges.local_shell import LocalShell
from evener.records.load import Request, UsersResult
from evener.together import until


@asynccontextmanager
async def served(engine: Path, model: Path, port: int, *options: str) -> AsyncIterator[BaseUrl]:
    url = base_url(f"127.0.0.1:{port}")
    argv = [str(engine / "llama-server"), "-m", str(model), "--port", str(port), "-fit", "off", "-t", "1", *options]
    child = await LocalShell("here").start(argv, env={})
    log = asyncio.ensure_future(_drain(child.lines()))
    try:
        assert await until(lambda: _healthy(url), within_s=60)
        yield url
    finally:
        await child.stop()
        await log


async def measured(url: BaseUrl, load: Load) -> tuple[UsersResult, list[Request]]:
    requests: list[Request] = []
    server = await probe(url, load)
    result = await UsersBench(server, load, keep=requests.append, report=lambda _progress: None).run()
    return result, requests


@pytest.mark.engine
async def test_one_and_two_users_get_exactly_what_was_asked(engine: Path, model: Path, unused_tcp_port: int) -> None:
    async with served(engine, model, unused_tcp_port, "-c", "1024", "-np", "2") as url:
        load = Load(users=(1, 2), prompts=2, prompt_tokens=64, output_tokens=12, seed=7)
        server = await probe(url, load)
        assert (server.llama, server.slots, server.context, server.notes) == (True, 2, 512, ())
        result, requests = await measured(url, load)
    assert {r.failure for r in requests} == {None}
    counted = [r for r in requests if not r.warm_up]
    assert {(r.prompt_tokens, r.cached_tokens, r.tokens, r.finish_reason) for r in counted} == {(64, 0, 12, "length")}
    assert [one.requests.completed for one in result.levels] == [2, 2]
    assert all((one.total_tokens_per_s or 0) > 0 for one in result.levels)
    assert result.levels[0].prefill_tokens_per_s is not None
    assert result.levels[0].prefill_tokens_per_s.unit == "tok/s by the server"
    assert result.notes == ()
    assert result.client.retries <= 2  # it hangs up after each stream, which each line learns once


@pytest.mark.engine
async def test_warm_prompts_are_found_in_the_cache_and_cold_conversations_are_read_anew(
    engine: Path, model: Path, unused_tcp_port: int
) -> None:
    async with served(engine, model, unused_tcp_port, "-c", "1024", "-np", "2", "--metrics") as url:
        load = Load(users=(2,), prompts=4, prompt_tokens=48, output_tokens=6, seed=7)
        warm, _ = await measured(url, replace(load, mode="warm", shared_prefix_tokens=200))
        talk, turns = await measured(url, replace(load, turns=3))
    cache = warm.levels[0].cache
    assert cache is not None
    assert (cache.hits, cache.of) == (4, 4)
    assert cache.cached_tokens >= 4 * 200
    assert {(r.turn, r.cached_tokens) for r in turns if not r.given_up} == {(0, 0), (1, 0), (2, 0)}
    lengths = {turn: {r.prompt_tokens for r in turns if r.turn == turn and not r.given_up} for turn in range(3)}
    assert max(n or 0 for n in lengths[0]) < min(n or 0 for n in lengths[1])
    assert max(n or 0 for n in lengths[1]) < min(n or 0 for n in lengths[2])
    queue = talk.levels[0].queue
    assert queue is not None
    assert (queue.source, queue.deferred_most) == ("metrics", 0)


@pytest.mark.engine
async def test_two_who_share_a_pool_that_holds_one_are_killed_and_it_is_said_from_how_many_on(
    engine: Path, model: Path, unused_tcp_port: int
) -> None:
    async with served(engine, model, unused_tcp_port, "-c", "256", "-np", "2", "-kvu", "--cache-ram", "0") as url:
        result, _ = await measured(url, Load(users=(1, 2), prompts=2, prompt_tokens=120, output_tokens=40, seed=7))
    assert [one.requests.by_class for one in result.levels] == [{}, {"kv_exhausted": 2}]
    assert result.kv_exhausted_from == 2


async def _healthy(url: BaseUrl) -> bool | None:
    async with Line(url) as line:
        answer = await line.get("/health", within_s=5)
    return True if answer.status == 200 else None


async def _drain(lines: AsyncIterator[str]) -> None:
    async for _ in lines:
        pass
