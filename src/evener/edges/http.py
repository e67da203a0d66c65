"""Short HTTP conversations behind the `Http` port.

aiohttp costs 0.1 s and 15 MB to import, and most commands ask nobody: it is imported with the first question.
"""

from __future__ import annotations

from collections.abc import Mapping

from evener.ports import Answer

MOST_BYTES = 16 << 20


class AioHttp:
    """One connection per question: health checks must not keep a stream of the engine open."""

    async def get(self, url: str, *, within_s: float, headers: Mapping[str, str] | None = None) -> Answer | None:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=within_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(url) as answer,
            ):
                return Answer(status=answer.status, body=await answer.content.read(MOST_BYTES))
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
