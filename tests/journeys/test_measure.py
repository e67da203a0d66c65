"""A measurement of something that dies keeps what it has."""

from __future__ import annotations

import asyncio

import pytest

from evener.bench.load import Load
from evener.journeys.measure import measure_users
from evener.records.load import Request, UsersResult
from evener.testing.fake_engine import FakeEngine, fake_engine

LOAD = Load(users=(1, 2), prompts=40, prompt_tokens=20, output_tokens=4)


async def cut_after(measured: int) -> list[UsersResult]:
    """What a measurement gave away that was cancelled after so many measured requests."""
    told: list[UsersResult] = []
    kept: list[Request] = []
    enough = asyncio.Event()

    def keep(request: Request) -> None:
        kept.append(request)
        if sum(not r.warm_up for r in kept) >= measured:
            enough.set()

    async with fake_engine(FakeEngine()) as engine:
        work = measure_users(engine.url, LOAD, keep=keep, report=lambda _progress: None, on_cut=told.append)
        running = asyncio.ensure_future(work)
        await enough.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    return told


async def test_what_was_measured_until_then_is_told_when_it_is_cancelled() -> None:
    (partial,) = await cut_after(3)
    assert partial.partial == "cut off: it was interrupted, or what served had died"
    assert partial.levels[0].requests.completed >= 3
    assert "cut short" in (partial.levels[0].note or "")


async def test_nothing_is_told_where_nothing_was_measured() -> None:
    assert await cut_after(0) == []
