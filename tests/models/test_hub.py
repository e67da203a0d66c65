"""hf:org/repo:QUANT against a server that answers as the Hub does: listing, redirect to a store of blobs, hashes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evener.dialects.hf_hub import HubFile, HubName
from evener.edges.download import HttpDownloads
from evener.errors import BadHeader, ConfigurationError, FetchFailed, ModelMissing
from evener.models.hashes import sha256_of
from evener.models.hub import choose, fetch_hub, offers, projector
from evener.records.events import Progress
from evener.testing.gguf_files import gguf_bytes

SECRET = "hf_secret"


def gguf(name: str, size: int = 1000) -> bytes:
    return gguf_bytes({"general.architecture": "llama", "general.name": name}) + bytes(size)


def listed(*paths: str, size: int = 1 << 30) -> list[HubFile]:
    return [HubFile(path=path, bytes=size + n, sha256=None) for n, path in enumerate(paths)]


LLAMA = listed("README.md", "imatrix.dat", "M-Q4_K_M.gguf", "M-Q4_K_S.gguf", "M-Q8_0.gguf", "mmproj-F16.gguf")


# ---- choosing


def chosen(quant: str | None, listing: list[HubFile]) -> list[str]:
    return [part.path for part in choose(HubName(repo="o/r", quant=quant), listing).parts]


@pytest.mark.parametrize("quant", ["Q4_K_M", "q4_k_m", "M-Q4_K_M", "M-Q4_K_M.gguf"])
def test_a_quantisation_in_any_case_or_a_file_is_meant(quant: str) -> None:
    assert chosen(quant, LLAMA) == ["M-Q4_K_M.gguf"]


def test_no_quantisation_is_enough_where_there_is_one_model() -> None:
    assert chosen(None, listed("M-Q8_0.gguf", "mmproj-M-F16.gguf")) == ["M-Q8_0.gguf"]


def test_without_a_quantisation_everything_there_is_is_listed_with_its_size() -> None:
    with pytest.raises(ModelMissing, match="hf:o/r: 3 models, which one") as caught:
        chosen(None, LLAMA)
    assert caught.value.hint == "there is :Q4_K_M (1.0 GiB), :Q4_K_S (1.0 GiB), :Q8_0 (1.0 GiB)"


def test_part_of_a_quantisation_is_not_guessed_to_its_end() -> None:
    with pytest.raises(ModelMissing, match="hf:o/r:Q4_K: no such model") as caught:
        chosen("Q4_K", LLAMA)
    assert (caught.value.hint or "").startswith("there is :Q4_K_M")


def test_two_models_of_one_quantisation_are_named() -> None:
    with pytest.raises(ModelMissing, match="hf:o/r:Q8_0: 2 models, which one"):
        chosen("Q8_0", listed("small-Q8_0.gguf", "large-Q8_0.gguf"))
    assert chosen("large-Q8_0", listed("small-Q8_0.gguf", "large-Q8_0.gguf")) == ["large-Q8_0.gguf"]


def test_all_parts_are_one_model_and_a_torn_one_is_none() -> None:
    parts = [f"UD-Q4_K_XL/M-UD-Q4_K_XL-0000{n}-of-00002.gguf" for n in (1, 2)]
    assert chosen("UD-Q4_K_XL", listed(*parts)) == parts
    assert chosen("Q4_K_XL", listed(*parts)) == parts
    for only in parts:
        with pytest.raises(ModelMissing, match="no GGUF in it"):
            chosen("Q4_K_XL", listed(only))


def test_what_stands_beside_a_model_is_none() -> None:
    beside = listed("mmproj-F16.gguf", "M-Q4_0.gguf", "mtp-M-Q4_0.gguf", "imatrix_M.gguf", "eagle3-M-Q4_0.gguf")
    assert [offer.parts[0].path for offer in offers(beside)] == ["M-Q4_0.gguf"]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["Q4/M-Q4_0.gguf", "mmproj-F32.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf"], "mmproj-F16.gguf"),
        (["Q4/M-Q4_0.gguf", "mmproj-F16.gguf", "Q4/mmproj-Q8_0.gguf"], "Q4/mmproj-Q8_0.gguf"),
        (["Q4/M-Q4_0.gguf", "Q8/mmproj-F16.gguf"], None),
        (["M-Q4_0.gguf", "readme-mmproj.md"], None),
    ],
)
def test_the_projector_is_the_nearest_and_then_the_finest_usual(paths: list[str], expected: str | None) -> None:
    listing = listed(*paths)
    found = projector(next(o for o in offers(listing)), listing)
    assert (found.path if found else None) == expected


# ---- fetching


@dataclass
class Hub:
    """A repository org/M-GGUF. Its files are behind a redirect to another server, as on the real one."""

    files: dict[str, bytes] = field(default_factory=dict)
    store: str = ""
    private: bool = False
    per_page: int = 100
    elsewhere: str | None = None  # where a listing is said to go on
    wrong_hash: bool = False
    stop_after: int | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # (path, token) at the Hub
    stored: list[tuple[str, str | None, str | None]] = field(default_factory=list)  # (path, token, range) at the store

    async def tree(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, request.headers.get("Authorization")))
        if request.match_info["repo"] != "M-GGUF":
            return web.json_response({"error": "Repository not found"}, status=404)
        if self.private and request.headers.get("Authorization") != f"Bearer {SECRET}":
            return web.json_response({"error": "Invalid credentials"}, status=401)
        begin = int(request.query.get("cursor", "0"))
        rows = [self.row(path) for path in sorted(self.files)]
        headers = {}
        if begin + self.per_page < len(rows):
            following = request.url.update_query(cursor=begin + self.per_page)
            headers["Link"] = f'<{self.elsewhere or following}>; rel="next"'
        return web.json_response(rows[begin : begin + self.per_page], headers=headers)

    def row(self, path: str) -> dict[str, object]:
        content = self.files[path]
        digest = "00" * 32 if self.wrong_hash else hashlib.sha256(content).hexdigest()
        return {"type": "file", "path": path, "size": len(content), "oid": "1" * 40, "lfs": {"oid": digest}}

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, request.headers.get("Authorization")))
        raise web.HTTPFound(f"{self.store}/blob/{request.match_info['path']}")

    async def blob(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        self.stored.append((path, request.headers.get("Authorization"), request.headers.get("Range")))
        start = request.http_range.start or 0
        content = self.files[path]
        answer = web.StreamResponse(status=206 if start else 200, headers={"ETag": '"one"'})
        answer.content_length = len(content) - start
        if start:
            answer.headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        await answer.prepare(request)
        if self.stop_after is not None:
            await answer.write(content[start : start + self.stop_after])
            await asyncio.sleep(3600)
        await answer.write(content[start:])
        return answer


@pytest.fixture
def hub() -> Hub:
    parts = {f"Q8/M-Q8_0-0000{n}-of-00002.gguf": gguf(f"part {n}") for n in (1, 2)}
    return Hub(files={"README.md": b"hello", "M-Q4_0.gguf": gguf("small"), "mmproj-F16.gguf": gguf("eyes"), **parts})


@pytest.fixture
async def endpoint(hub: Hub) -> AsyncIterator[str]:
    front, back = web.Application(), web.Application()
    front.router.add_get("/api/models/{org}/{repo}/tree/main", hub.tree)
    front.router.add_get("/{org}/{repo}/resolve/main/{path:.+}", hub.resolve)
    back.router.add_get("/blob/{path:.+}", hub.blob)
    async with TestServer(back, host="127.0.0.1") as store, TestServer(front, host="127.0.0.1") as running:
        hub.store = str(store.make_url("")).rstrip("/")
        yield str(running.make_url("")).rstrip("/")


@dataclass
class User:
    folder: Path
    environ: dict[str, str]
    seen: list[Progress] = field(default_factory=list)

    async def fetch(self, name: str) -> Path:
        return await fetch_hub(
            HttpDownloads(silent_after_s=5), name, folder=self.folder, environ=self.environ, report=self.seen.append,
            pause_s=0.01,
        )  # fmt: skip

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def user(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    return User(folder=tmp_path / "models", environ={"HF_ENDPOINT": endpoint})


async def test_all_parts_and_the_projector_arrive_and_their_hashes_are_known(user: User, hub: Hub) -> None:
    path = await user.fetch("hf:org/M-GGUF:Q8_0")
    assert user.files() == ["M-GGUF.mmproj-F16.gguf", "M-Q8_0-00001-of-00002.gguf", "M-Q8_0-00002-of-00002.gguf"]
    assert path == user.folder / "M-Q8_0-00001-of-00002.gguf"
    assert path.read_bytes() == hub.files["Q8/M-Q8_0-00001-of-00002.gguf"]
    read: list[Progress] = []
    assert await sha256_of(path, report=read.append) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read == []
    assert {p.what for p in user.seen} == {"M-Q8_0-00001-of-00002.gguf", "M-Q8_0-00002-of-00002.gguf",
                                           "M-GGUF.mmproj-F16.gguf"}  # fmt: skip


async def test_a_second_fetch_takes_nothing_again(user: User, hub: Hub) -> None:
    await user.fetch("hf:org/M-GGUF:Q4_0")
    hub.stored.clear()
    await user.fetch("hf:org/M-GGUF:Q4_0")
    assert hub.stored == []


async def test_the_token_goes_to_the_endpoint_and_to_nobody_else(user: User, hub: Hub) -> None:
    user.environ["HF_TOKEN"] = SECRET
    hub.private = True
    await user.fetch("hf:org/M-GGUF:Q4_0")
    assert {token for _, token in hub.asked} == {f"Bearer {SECRET}"}
    assert len(hub.asked) == 3
    assert [token for _, token, _ in hub.stored] == [None, None]


async def test_a_line_end_behind_the_token_is_no_part_of_it(user: User, hub: Hub) -> None:
    user.environ["HF_TOKEN"] = f"{SECRET}\n"
    await user.fetch("hf:org/M-GGUF:Q4_0")
    assert {token for _, token in hub.asked} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("token", ["hf_a\nhf_b", "two words", "hf_ü"])
async def test_what_is_no_token_is_one_line_that_names_the_variable_and_not_the_token(user: User, token: str) -> None:
    user.environ["HF_TOKEN"] = token
    with pytest.raises(ConfigurationError, match=r"^HF_TOKEN: not a token$"):
        await user.fetch("hf:org/M-GGUF:Q4_0")


async def test_without_a_token_a_private_repository_is_one_line_that_names_the_variable(user: User, hub: Hub) -> None:
    hub.private = True
    with pytest.raises(ModelMissing, match=r"hf:org/M-GGUF: http://.* shows no such repository \(HTTP 401\)") as caught:
        await user.fetch("hf:org/M-GGUF:Q4_0")
    assert caught.value.hint == "check the name; a private or gated one needs HF_TOKEN"
    user.environ["HF_TOKEN"] = "hf_wrong"
    with pytest.raises(ModelMissing) as caught:
        await user.fetch("hf:org/M-GGUF:Q4_0")
    assert "HF_TOKEN does not open it" in (caught.value.hint or "")
    assert "hf_wrong" not in str(caught.value) + str(caught.value.hint)


async def test_a_listing_of_several_pages_is_read_to_its_end(user: User, hub: Hub) -> None:
    hub.per_page = 1
    assert (await user.fetch("hf:org/M-GGUF:Q8_0")).is_file()
    assert len([path for path, _ in hub.asked if path.startswith("/api/")]) == 5


async def test_a_listing_that_goes_on_at_another_server_is_not_followed_with_the_token(user: User, hub: Hub) -> None:
    user.environ["HF_TOKEN"] = SECRET
    hub.per_page, hub.elsewhere = 1, f"{hub.store}/blob/README.md"
    with pytest.raises(FetchFailed, match="the listing goes on at another server"):
        await user.fetch("hf:org/M-GGUF:Q8_0")
    assert hub.stored == []


async def test_an_interrupted_fetch_goes_on_where_it_stopped(user: User, hub: Hub) -> None:
    hub.files["M-Q4_0.gguf"] = gguf("large", size=3 << 20)
    hub.stop_after = 2 << 20
    running = asyncio.ensure_future(user.fetch("hf:org/M-GGUF:Q4_0"))
    while not any(p.done >= 2 << 20 for p in user.seen):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    hub.stop_after = None
    assert (await user.fetch("hf:org/M-GGUF:Q4_0")).read_bytes() == hub.files["M-Q4_0.gguf"]
    assert [asked for path, _, asked in hub.stored if path == "M-Q4_0.gguf"] == [None, f"bytes={(2 << 20) - 1}-"]


async def test_a_file_with_another_hash_than_the_hubs_does_not_land(user: User, hub: Hub) -> None:
    hub.wrong_hash = True
    with pytest.raises(FetchFailed, match=f"not {'00' * 32}"):
        await user.fetch("hf:org/M-GGUF:Q4_0")
    assert user.files() == []


async def test_another_file_of_the_same_name_is_not_overwritten(user: User) -> None:
    user.folder.mkdir()
    (user.folder / "M-Q4_0.gguf").write_bytes(b"mine")
    with pytest.raises(FetchFailed, match="is there with sha256"):
        await user.fetch("hf:org/M-GGUF:Q4_0")
    assert (user.folder / "M-Q4_0.gguf").read_bytes() == b"mine"


async def test_what_is_no_gguf_is_refused(user: User, hub: Hub) -> None:
    hub.files["M-Q4_0.gguf"] = b"<html>"
    with pytest.raises(BadHeader, match="a web page, not a GGUF"):
        await user.fetch("hf:org/M-GGUF:Q4_0")


async def test_names_that_are_none_are_told_how_to_be_written(user: User) -> None:
    with pytest.raises(ConfigurationError, match="hf:M-GGUF: not a name on the Hub"):
        await user.fetch("hf:M-GGUF")
    with pytest.raises(ModelMissing, match="shows no such repository"):
        await user.fetch("hf:org/other:Q4_0")
