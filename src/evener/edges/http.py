"""Short HTTP conversations behind the `Http` port."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from evener.ports import Answer

MOST_BYTES = 16 << 20


class AioHttp:
    """One connection per question: health checks must not keep a stream of the engine open."""

    async def get(self, url: str, *, within_s: float, headers: Mapping[str, str] | None = None) -> Answer | None:
        timeout = aiohttp.ClientTimeout(total=within_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(url) as answer,
            ):
                return Answer(status=answer.status, body=await answer.content.read(MOST_BYTES))
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
