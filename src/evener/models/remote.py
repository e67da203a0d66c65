"""A model's header over HTTP: the first megabytes of each part, and not one more than the header takes. Keeps no file.

The file is read from its start until its header is whole; a connection that breaks is taken up where it stopped, with
a range request. A server without ranges starts again from the first byte, which costs time and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from evener.dialects.gguf import Header, read_header
from evener.errors import FetchFailed, ModelMissing
from evener.fetching import LOGIN_HINT
from evener.models.fetch import file_name
from evener.models.parts import Opened
from evener.ports import Body, Downloads
from evener.together import together

MOST_HEADER_BYTES = 256 << 20  # the largest vocabularies take some 20 MB
FIRST_TRY_BYTES = 1 << 20
ATTEMPTS = 3  # without a byte of progress between them


async def open_remote(downloads: Downloads, urls: Sequence[str], *, headers: Mapping[str, str] | None = None) -> Opened:
    """The headers behind `urls`, all parts of one model in order. Its paths are the names that its files would have.

    `headers` go to the URLs' own server alone. Raises FetchFailed, ModelMissing (no such file) or BadHeader.
    """
    read = await together(_read_one(downloads, url, headers or {}) for url in urls)
    return Opened(paths=tuple(file_name(url) for url in urls), headers=tuple(read), origin="remote")


class _NotYet(Exception):
    """The header goes on beyond what has come."""


class _Start:
    """The first bytes of a file whose whole size is known: what `read_header` reads from."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.total_bytes = 0
        self._at = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._at = offset + (self.total_bytes if whence == os.SEEK_END else 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int, /) -> bytes:
        if len(self.data) <= self._at < self.total_bytes:
            raise _NotYet
        got = bytes(self.data[self._at : self._at + size])
        self._at += len(got)
        return got


async def _read_one(downloads: Downloads, url: str, headers: Mapping[str, str]) -> Header:
    start, failures = _Start(), 0
    while True:
        before = len(start.data)
        try:
            async with downloads.open(url, start=before, headers=headers) as body:
                _check_answer(body, url, before)
                start.total_bytes = _size(body, url)
                return await _advance(start, body, url)
        except FetchFailed as failure:
            if not start.data:
                raise
            failures = 0 if len(start.data) > before else failures + 1
            if failures == ATTEMPTS:
                raise FetchFailed(f"{failure.message}, after {before} bytes", hint=failure.hint) from failure


async def _advance(start: _Start, body: Body, url: str) -> Header:
    """Take in what comes until the header is whole; tried anew whenever twice as much is there."""
    again = len(start.data) - body.start
    next_try = max(FIRST_TRY_BYTES, 2 * len(start.data))
    async for chunk in body.chunks:
        start.data += chunk[again:]
        again = max(0, again - len(chunk))
        if len(start.data) >= next_try:
            if (header := _try(start, url)) is not None:
                return header
            next_try = 2 * len(start.data)
        if len(start.data) > MOST_HEADER_BYTES:
            raise FetchFailed(f"{url}: its header goes on beyond {MOST_HEADER_BYTES >> 20} MiB: not a model")
    if (header := _try(start, url)) is not None:
        return header
    raise FetchFailed(f"{url}: the server broke off after {len(start.data)} of {start.total_bytes} bytes")


def _try(start: _Start, url: str) -> Header | None:
    """The header, None while it is not whole. Raises BadHeader as soon as what is there is wrong."""
    try:
        return read_header(start, name=url)
    except _NotYet:
        return None


def _check_answer(body: Body, url: str, have: int) -> None:
    if body.status in (404, 410):
        raise ModelMissing(f"{url}: the server has no such file (HTTP {body.status})")
    if body.status not in (200, 206):
        hint = LOGIN_HINT if body.status in (401, 403) else None
        raise FetchFailed(f"{url}: the server answered HTTP {body.status}", hint=hint)
    if body.start > have:
        raise FetchFailed(f"{url}: asked from byte {have} on, the server began at {body.start}")


def _size(body: Body, url: str) -> int:
    if body.total_bytes is None:
        raise FetchFailed(
            f"{url}: the server does not say how large the file is", hint="evener models fetch brings it here"
        )
    return body.total_bytes
