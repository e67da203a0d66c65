"""Headers over HTTP: a real server on loopback that serves a model of 40 GB without having it, or misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evener.edges.download import HttpDownloads
from evener.errors import BadHeader, FetchFailed, ModelMissing
from evener.models.remote import open_remote
from evener.testing.gguf_files import gguf_bytes

MIB = 1 << 20
# Ten million rows of a thousand numbers: 40 GB of data behind 3 MB of vocabulary.
SHAPES = [("token_embd.weight", "F32", (1000, 10_000_000)), ("output_norm.weight", "F32", (1000,))]
METADATA = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 1000,
    "llama.attention.head_count": 10, "tokenizer.ggml.tokens": ["a token of twenty-eight bytes"] * 90_000,
}  # fmt: skip
HEADER = gguf_bytes(METADATA, SHAPES)
DATA_BYTES = 40_000_000_000 + 4000 + 32 - (40_000_000_000 + 4000) % 32


@dataclass
class Shop:
    """A server of one huge file that can be told to misbehave. `asked` holds each request's Range."""

    header: bytes = HEADER
    total: int = len(HEADER) + DATA_BYTES
    ranges: bool = True
    says_length: bool = True
    break_after: list[int] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    sent: int = 0

    async def give(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.headers.get("Range"))
        start = request.http_range.start or 0 if self.ranges else 0
        response = web.StreamResponse(status=206 if start else 200)
        if self.says_length:
            response.content_length = self.total - start
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{self.total - 1}/{self.total}"
        await response.prepare(request)
        limit = self.break_after.pop(0) if self.break_after else self.total
        at = start
        try:
            while at < min(start + limit, self.total):
                chunk = self.header[at : at + MIB // 4] or bytes(min(MIB // 4, self.total - at))
                await response.write(chunk)
                at += len(chunk)
                self.sent = max(self.sent, at)
        except ConnectionError:
            return response
        if at < self.total:
            assert request.transport is not None
            request.transport.abort()
        return response


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
async def server(shop: Shop) -> AsyncIterator[TestServer]:
    async def around(_: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/around.gguf")

    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>a page about a model</html>")

    async def private(_: web.Request) -> web.StreamResponse:
        return web.Response(status=401)

    app = web.Application()
    app.router.add_get("/model.gguf", shop.give)
    app.router.add_get("/around.gguf", around)
    app.router.add_get("/page.gguf", page)
    app.router.add_get("/private.gguf", private)
    async with TestServer(app) as running:
        yield running


async def opened(server: TestServer, *names: str):
    return await asyncio.wait_for(open_remote(HttpDownloads(), [str(server.make_url(f"/{n}")) for n in names]), 20)


async def test_a_file_of_40_gb_is_known_from_its_first_megabytes(shop, server):
    found = await opened(server, "model.gguf")
    weights = found.weights()
    assert weights.file_bytes == shop.total > 40e9
    assert (weights.name, weights.origin, weights.vocabulary) == ("model", "remote", 90_000)
    assert weights.host_bytes == 40_000_000_000
    assert shop.sent < 64 * MIB
    assert shop.asked == [None]


async def test_a_broken_connection_is_taken_up_where_it_stopped(shop, server):
    shop.break_after = [2 * MIB]
    found = await opened(server, "model.gguf")
    assert found.headers[0].tensors[0].shape == (1000, 10_000_000)
    assert len(shop.asked) == 2
    assert shop.asked[1].startswith("bytes=")


async def test_a_server_without_ranges_begins_again_and_is_understood(shop, server):
    shop.ranges, shop.break_after = False, [2 * MIB]
    found = await opened(server, "model.gguf")
    assert found.headers[0].tensors[1].name == "output_norm.weight"


async def test_a_server_that_breaks_off_again_and_again_is_one_line(shop, server):
    shop.ranges, shop.break_after = False, [MIB] * 9
    with pytest.raises(FetchFailed, match="broke off, after 1048576 bytes"):
        await opened(server, "model.gguf")


async def test_a_file_that_the_server_has_cut_short_says_so(shop, server):
    shop.total = len(HEADER) + 1000
    with pytest.raises(BadHeader, match="cut short"):
        await opened(server, "model.gguf")


async def test_a_file_that_ends_within_its_header_says_so(shop, server):
    shop.total = len(HEADER) // 2
    shop.header = HEADER[: shop.total]
    with pytest.raises(BadHeader, match="cut short"):
        await opened(server, "model.gguf")


async def test_no_such_file_is_one_line(server):
    with pytest.raises(ModelMissing, match="no such file"):
        await opened(server, "other.gguf")


async def test_redirects_without_end_are_one_line(server):
    with pytest.raises(FetchFailed, match="redirects without end"):
        await opened(server, "around.gguf")


async def test_a_web_page_is_recognised(server):
    with pytest.raises(BadHeader, match="a web page, not a GGUF"):
        await opened(server, "page.gguf")


async def test_a_file_behind_a_login_says_what_to_do(server):
    with pytest.raises(FetchFailed, match="401") as caught:
        await opened(server, "private.gguf")
    assert "login" in caught.value.hint


async def test_a_server_that_does_not_say_how_large_is_refused(shop, server):
    shop.says_length = False
    with pytest.raises(FetchFailed, match="does not say how large"):
        await opened(server, "model.gguf")


async def test_parts_are_read_each_from_its_own_beginning(shop, server):
    """Both names lead to one file here, which two parts of a model never do."""
    with pytest.raises(BadHeader, match="says it is part 0 of 1"):
        (await opened(server, "model.gguf", "model.gguf")).weights()
    assert shop.asked == [None, None]
