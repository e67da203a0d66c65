"""What measuring costs on this machine: CPU seconds, and how late the event loop wakes up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evener.records.load import ClientCost
from evener.stats.intervals import quantile
from evener.together import background

TICK_S = 0.02
# A stamp is as late as the loop. Above this the figures tell of the client, not of the server.
MOST_LAG_P95_MS = 20.0


class Watch:
    """`async with watch.watching():` around the load; then `cost()`, at any time."""

    def __init__(self) -> None:
        self._lags_ms: list[float] = []
        self._cpu_s = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        begun = time.process_time()
        try:
            async with background(self._tick()):
                yield
        finally:
            self._cpu_s += time.process_time() - begun

    def cost(self, *, retries: int = 0) -> ClientCost:
        lag = quantile(self._lags_ms, 0.95)
        return ClientCost(
            cpu_s=round(self._cpu_s, 3),
            saturated=None if lag is None else lag > MOST_LAG_P95_MS,
            lag_p95_ms=None if lag is None else round(lag, 2),
            retries=retries,
        )

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            self._lags_ms.append((loop.time() - due) * 1e3)
