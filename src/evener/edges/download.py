"""Large files over HTTP behind the `Downloads` port, through the user's proxy and certificates.

aiohttp is imported with the first download, as in edges/http.py.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from evener.errors import FetchFailed
from evener.ports import Body

if TYPE_CHECKING:
    import aiohttp

CHUNK_BYTES = 1 << 20
CONNECT_WITHIN_S = 20.0
SILENT_AFTER_S = 60.0
MOST_REDIRECTS = 10
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class HttpDownloads:
    def __init__(self, *, connect_within_s: float = CONNECT_WITHIN_S, silent_after_s: float = SILENT_AFTER_S) -> None:
        self._connect_within_s = connect_within_s
        self._silent_after_s = silent_after_s

    @asynccontextmanager
    async def open(self, url: str, *, start: int = 0, headers: Mapping[str, str] | None = None) -> AsyncIterator[Body]:
        import aiohttp

        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._connect_within_s,
            connect=self._connect_within_s,
            sock_read=self._silent_after_s,
        )
        # Compressed on the way, byte positions would count something else.
        wanted = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
            with _translated(url):
                answer = await session.get(url, headers=wanted | dict(headers or {}), max_redirects=MOST_REDIRECTS)
            async with answer:
                yield _body(url, answer)


def _body(url: str, answer: aiohttp.ClientResponse) -> Body:
    start, total = 0, answer.content_length
    if answer.status == 206 and (said := _RANGE.fullmatch(answer.headers.get("Content-Range", ""))):
        start = int(said[1])
        total = None if said[2] == "*" else int(said[2])
    return Body(
        status=answer.status,
        start=start,
        total_bytes=total,
        version=answer.headers.get("ETag") or answer.headers.get("Last-Modified"),
        chunks=_chunks(url, answer),
        next_url=str(answer.links["next"]["url"]) if "next" in answer.links else None,
    )


async def _chunks(url: str, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _translated(url):
        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
            yield chunk


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """aiohttp's failures in one line each. The order is theirs: the special ones first."""
    import aiohttp

    try:
        yield
    except aiohttp.InvalidURL as error:
        raise FetchFailed(f"{url}: not a URL", hint="it begins with http:// or https://") from error
    except aiohttp.TooManyRedirects as error:
        raise FetchFailed(f"{url}: the server redirects without end") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise FetchFailed(
            f"{url}: the server's certificate is not trusted", hint="SSL_CERT_FILE names yours"
        ) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise FetchFailed(f"{url}: no such host", hint="is this machine online, or behind a proxy?") from error
    except aiohttp.ClientConnectorError as error:
        raise FetchFailed(f"{url}: cannot connect: {error.os_error.strerror or error.os_error}") from error
    except aiohttp.ClientPayloadError as error:
        raise FetchFailed(f"{url}: the server broke off") from error
    except TimeoutError as error:
        raise FetchFailed(f"{url}: the server fell silent") from error
    except (aiohttp.ClientError, ValueError) as error:
        raise FetchFailed(f"{url}: {str(error) or type(error).__name__}") from error
    except OSError as error:
        raise FetchFailed(f"{url}: {error.strerror or error}") from error
