"""Several waits at once: the first failure cancels the others, and every wait has a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


async def together(awaitables: Iterable[Awaitable[T]]) -> list[T]:
    """Results in the order given. The first exception cancels the rest and is raised as itself, not as a group."""
    tasks = [asyncio.ensure_future(a) for a in awaitables]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[T | None]], *, within_s: float, every_s: float = 0.1) -> T | None:
    """Ask again and again until the answer is not None; None at the deadline."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while True:
        answer = await condition()
        if answer is not None or loop.time() >= deadline:
            return answer
        await asyncio.sleep(min(every_s, max(0.0, deadline - loop.time())))


@asynccontextmanager
async def background(work: Awaitable[object]) -> AsyncIterator[asyncio.Future[object]]:
    """Run `work` beside the block; it is cancelled and awaited when the block is left."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def to_the_end(awaitable: Awaitable[T]) -> T:
    """Finish `awaitable` even when we are cancelled meanwhile, as often as anybody likes; then be cancelled.

    For stopping what was started: the awaitable must have a deadline of its own.
    """
    task = asyncio.ensure_future(awaitable)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except Exception:  # noqa: BLE001 - raised again by result() below
            break
    if cancelled:
        raise asyncio.CancelledError
    return task.result()
