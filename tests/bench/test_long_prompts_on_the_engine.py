"""`bench speed` and `bench context` against the real llama-server and a real, small model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evener.bench.client import BaseUrl, Line, base_url
from evener.bench.context import Asked, ContextBench, stated
from evener.bench.probe import probe
from evener.bench.sizes import Sizes
from evener.bench.speed import SpeedBench
from evener.edges.local_shell import LocalShell
from evener.together import until

pytestmark = pytest.mark.engine


@asynccontextmanager
async def serving(engine: Path, model: Path, port: int) -> AsyncIterator[BaseUrl]:
    url = base_url(f"127.0.0.1:{port}")
    argv = [str(engine / "llama-server"), "-m", str(model), "--port", str(port), "-c", "1024", "-np", "1"]
    child = await LocalShell("here").start([*argv, "-fit", "off", "-t", "1", "--cache-ram", "0"], env={})
    log = asyncio.ensure_future(_drain(child.lines()))
    try:
        assert await until(lambda: _healthy(url), within_s=60)
        yield url
    finally:
        await child.stop()
        await log


async def _healthy(url: BaseUrl) -> bool | None:
    async with Line(url) as line:
        answer = await line.get("/health", within_s=5)
    return True if answer.status == 200 else None


async def _drain(lines: AsyncIterator[str]) -> None:
    async for _ in lines:
        pass


async def test_a_depth_is_given_back_exactly_and_both_clocks_agree(
    engine: Path, model: Path, unused_tcp_port: int
) -> None:
    sizes = Sizes(prompts=(64,), outputs=(8,), pairs=((32, 4),), depths=(0, 96), repetitions=2, seed=5)
    async with serving(engine, model, unused_tcp_port) as url:
        server = await probe(url, sizes.load())
        result = await SpeedBench(server, sizes, keep=lambda _: None, report=lambda _: None).run()
    assert [row.test for row in result.rows] == [
        "pp64", "tg8", "pp32+tg4", "pp64 @ d96", "tg8 @ d96", "pp32+tg4 @ d96",
    ]  # fmt: skip
    assert [row.client.n for row in result.rows] == [2] * 6
    worked_on = [row.processed_tokens for row in result.rows if row.prompt_tokens]
    assert worked_on == [(64, 64), (32, 32), (64, 64), (32, 32)]
    for row in result.rows:
        assert row.server is not None
        assert row.client.mean == pytest.approx(row.server.mean, rel=0.3)


async def test_prompts_have_exactly_the_length_asked_and_every_needle_is_judged(
    engine: Path, model: Path, unused_tcp_port: int
) -> None:
    asked = Asked(lengths=(300,), each_place=1, chains=1, answer_tokens=12, decode_tokens=4, seed=4)
    answers: list[dict[str, Any]] = []
    async with serving(engine, model, unused_tcp_port) as url:
        server = await probe(url, asked.load())
        async with server.line() as line:
            said = await stated(line, server)
        assert (said.trained, said.configured) == (8192, 1024)
        bench = ContextBench(
            server, asked, allocation="this", ceilings=said.ceilings(), keep=lambda _: None,
            on_answer=answers.append, report=lambda _: None,
        )  # fmt: skip
        result = await bench.run()
    assert [row.prompt_tokens for row in result.lengths] == [(300, 300)]
    assert [(row.needles.n, row.reasoning.n, row.decode_tokens_per_s.n) for row in result.lengths] == [(5, 1, 3)]
    assert [row.truncated for row in result.lengths] == [False]
    assert ("cache" in result.validity, result.binding) == (False, "configured")
    assert [answer["place"] for answer in answers[:5]] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert sum(bool(a["right"]) for a in answers if a["kind"] == "needle") == sum(
        r.needles.right for r in result.lengths
    )
