"""The gate of a level, without a server."""

from __future__ import annotations

import asyncio

import pytest

from evener.bench.client import base_url
from evener.bench.crowd import Crowd
from evener.bench.gate import Gate
from evener.bench.load import Load
from evener.bench.probe import Server
from evener.records.events import Progress


def gate(load: Load, told: list[Progress]) -> tuple[Gate, Crowd]:
    crowd = Crowd(Server(url=base_url("127.0.0.1:1"), fields={}), load, keep=lambda _request: None)
    return Gate(crowd, load, report=told.append, on_turn=lambda: None), crowd


async def test_a_fault_of_ours_ends_the_level_and_is_raised_as_itself() -> None:
    async def faulty() -> None:
        raise ValueError("a fault")

    here, _ = gate(Load(), [])
    here.open(2, cold=(0, 1))
    here.start(faulty())
    with pytest.raises(ValueError, match="a fault"):
        async with asyncio.timeout(5):
            await here.until_over()


async def test_nobody_there_ends_the_level_without_a_fault() -> None:
    here, crowd = gate(Load(), [])
    here.open(2, cold=(0, 1))
    crowd.ended.set()
    async with asyncio.timeout(5):
        await here.until_over()
    assert here.spans == {}


@pytest.mark.parametrize(
    ("load", "users", "what"),
    [
        (Load(), 1, "1 user"),
        (Load(), 4, "4 users"),
        (Load(people=True), 1, "1 person"),
        (Load(people=True), 12, "12 people"),
        (Load(arrivals="poisson", rate_per_s=0.5), 64, "0.5 requests/s, at most 64 in flight"),
    ],
)
async def test_a_level_is_named_by_what_it_counts(load: Load, users: int, what: str) -> None:
    told: list[Progress] = []
    gate(load, told)[0].open(users, cold=())
    assert told[0].what == what
