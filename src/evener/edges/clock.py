"""Real time behind the `Clock` port."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    def now_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
