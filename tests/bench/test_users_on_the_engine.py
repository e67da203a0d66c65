"""The closed loop against the real llama-server and a real model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evener.bench.client import BaseUrl, Line, base_url
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.edges.local_shell import LocalShell
from evener.records.load import Request
from evener.together import until


@pytest.mark.engine
async def test_one_and_two_users_get_exactly_what_was_asked(engine: Path, model: Path, unused_tcp_port: int) -> None:
    url = base_url(f"127.0.0.1:{unused_tcp_port}")
    argv = [str(engine / "llama-server"), "-m", str(model), "--port", str(url.port), "-c", "1024", "-np", "2"]
    child = await LocalShell("here").start([*argv, "-fit", "off", "-t", "2"], env={})
    log = asyncio.ensure_future(_drain(child.lines()))
    try:
        assert await until(lambda: _healthy(url), within_s=60)
        load = Load(users=(1, 2), prompts=2, prompt_tokens=64, output_tokens=12, seed=7)
        server = await probe(url, load)
        assert (server.llama, server.slots, server.context, server.notes) == (True, 2, 512, ())
        requests: list[Request] = []
        result = await UsersBench(server, load, keep=requests.append, report=lambda _progress: None).run()
    finally:
        await child.stop()
        await log
    assert {r.failure for r in requests} == {None}
    measured = [r for r in requests if not r.warm_up]
    assert {(r.prompt_tokens, r.cached_tokens, r.tokens, r.finish_reason) for r in measured} == {(64, 0, 12, "length")}
    assert [one.requests.completed for one in result.levels] == [2, 2]
    assert all((one.total_tokens_per_s or 0) > 0 for one in result.levels)
    assert result.levels[0].prefill_tokens_per_s is not None
    assert result.levels[0].prefill_tokens_per_s.unit == "tok/s by the server"
    assert result.notes == ()
    assert result.client.retries <= 2  # it hangs up after each stream, which each line learns once


async def _healthy(url: BaseUrl) -> bool | None:
    async with Line(url) as line:
        answer = await line.get("/health", within_s=5)
    return True if answer.status == 200 else None


async def _drain(lines: AsyncIterator[str]) -> None:
    async for _ in lines:
        pass
