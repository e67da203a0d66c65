"""Who sends for a load: what has plainly failed, and what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from evener.bench.client import base_url
from evener.bench.crowd import Crowd, Sending, has_failed
from evener.bench.load import Load, optional_fields
from evener.bench.probe import Server
from evener.bench.speaker import Speaker
from evener.dialects.http1 import Ending, Exchange
from evener.records.load import Request
from evener.testing.fake_engine import FakeEngine, fake_engine

LOAD = Load(users=(1,), prompt_tokens=4, output_tokens=50)


def exchange(*pieces: bytes, ending: Ending = "complete", status: int = 200) -> Exchange:
    return Exchange(
        ending=ending, sent_ns=0, end_ns=9, status=status, headers={}, pieces=[(at, p) for at, p in enumerate(pieces)]
    )


@pytest.mark.parametrize(
    ("seen", "failed"),
    [
        (exchange(b'data: {"choices": []}'), False),
        (exchange(b"{}", status=500), True),
        (exchange(b"data: {}", ending="cut"), True),
        (exchange(b'data: {"error": {"message": "no"}}'), True),
        (exchange(*[b'data: {"choices": [{"delta": {"content": "an \\"error\\""}}]}'] * 9), False),
    ],
)
def test_what_has_plainly_failed_is_seen_without_reading_it(seen: Exchange, failed: bool) -> None:
    assert has_failed(seen) == failed


async def given_up(sending: Sending) -> list[Request]:
    """What is kept of a request whose user is let go in the middle of the answer."""
    kept: list[Request] = []
    async with fake_engine(FakeEngine(ttft_s=0.01, itl_s=0.02)) as engine:
        server = Server(url=base_url(engine.url), fields=optional_fields(LOAD))
        crowd = Crowd(server, LOAD, keep=kept.append)
        crowd.begin()
        work: Coroutine[Any, Any, Any] = crowd.send(Speaker(server, LOAD), sending, tokens=50)
        asked = asyncio.ensure_future(work)
        async with asyncio.timeout(10):
            while len(crowd.so_far(sending.user)) < 3:
                await asyncio.sleep(0.01)
        await crowd.dismiss({sending.user: asked})
        crowd.read_rest()
        crowd.close()
    return kept


async def test_of_a_warm_up_that_nobody_needs_any_more_the_tokens_are_kept_and_no_failure() -> None:
    (request,) = await given_up(Sending(users=1, user=0, warm_up=True))
    assert (request.given_up, request.failure) == (True, None)
    assert request.chunks >= 3


@pytest.mark.parametrize("long", [False, True])
async def test_half_of_what_was_to_be_measured_is_not_kept(long: bool) -> None:
    assert await given_up(Sending(users=1, user=0, warm_up=long, long=long)) == []
