"""What a model may be called where it is planned: a URL or a name on the Hub is read by its header alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evener.api import models
from evener.testing.gguf_files import gguf_bytes

METADATA = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 256,
    "llama.attention.head_count": 4, "llama.vocab_size": 100,
}  # fmt: skip
FIRST = {"split.no": 0, "split.count": 2, "split.tensors.count": 2}
EMBEDDING = [("token_embd.weight", "Q8_0", (256, 100))]
PARTS = {
    "m-Q8_0-00001-of-00002.gguf": gguf_bytes(METADATA | FIRST, EMBEDDING) + bytes(27200),
    "m-Q8_0-00002-of-00002.gguf": gguf_bytes({"split.no": 1, "split.count": 2}, [("output_norm.weight", "F32", (256,))])
    + bytes(1024),
}  # fmt: skip


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestServer]:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path))

    async def file(request: web.Request) -> web.Response:
        return web.Response(body=PARTS[request.match_info["name"]])

    async def tree(_: web.Request) -> web.Response:
        rows = [{"type": "file", "path": name, "size": len(body)} for name, body in PARTS.items()]
        return web.Response(text=json.dumps(rows))

    app = web.Application()
    app.router.add_get("/org/m-GGUF/resolve/main/{name}", file)
    app.router.add_get("/api/models/org/m-GGUF/tree/main", tree)
    async with TestServer(app) as running:
        monkeypatch.setenv("HF_ENDPOINT", str(running.make_url("")).rstrip("/"))
        yield running


async def test_any_part_of_a_split_model_behind_a_url_stands_for_all(server: TestServer) -> None:
    url = str(server.make_url("/org/m-GGUF/resolve/main/m-Q8_0-00002-of-00002.gguf"))
    weights = await models.weights(url)
    assert (weights.name, weights.origin, weights.layers) == ("m-Q8_0", "remote", 1)
    assert weights.file_bytes == sum(map(len, PARTS.values()))


async def test_a_name_on_the_hub_is_read_part_by_part(server: TestServer) -> None:
    weights = await models.weights("hf:org/m-GGUF:Q8_0")
    assert (weights.name, weights.origin) == ("m-Q8_0", "remote")
    assert weights.host_bytes == 256 * 100 * 34 // 32
