from __future__ import annotations

import asyncio
import time

from evener.bench.watch import MOST_LAG_P95_MS, Watch


async def test_a_loop_that_is_held_up_is_saturated() -> None:
    watch = Watch()
    async with watch.watching():
        for _ in range(6):
            await asyncio.sleep(0)
            time.sleep(0.1)  # noqa: ASYNC251 - to hold the loop up is the point
            await asyncio.sleep(0.001)
    cost = watch.cost(retries=3)
    assert cost.saturated
    assert (cost.lag_p95_ms or 0) > MOST_LAG_P95_MS
    assert cost.retries == 3


def test_a_load_that_never_ran_has_no_verdict() -> None:
    assert Watch().cost().saturated is None
