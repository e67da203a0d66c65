import asyncio

import pytest

from evener.together import to_the_end, together, until


async def test_what_must_end_ends_however_often_we_are_cancelled():
    ended = []

    async def stop():
        await asyncio.sleep(0.2)
        ended.append(True)

    task = asyncio.ensure_future(to_the_end(stop()))
    for _ in range(3):
        await asyncio.sleep(0.03)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_its_own_failure_is_raised():
    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await to_the_end(fail())


async def test_the_first_failure_cancels_the_others_and_is_itself():
    cancelled = asyncio.Event()

    async def long():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def fail():
        await asyncio.sleep(0.01)
        raise KeyError("first")

    with pytest.raises(KeyError):
        await together([long(), fail()])
    assert cancelled.is_set()


async def test_until_gives_up_at_its_deadline():
    async def never():
        return None

    assert await until(never, within_s=0.05, every_s=0.01) is None
