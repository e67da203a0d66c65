"""Downloads against a real HTTP server on loopback, and what is left when they break."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evener import fetching
from evener.edges.download import HttpDownloads
from evener.errors import BadHeader, FetchFailed, ModelMissing
from evener.models.fetch import fetch_url, file_name, part_urls
from evener.records.events import Progress
from evener.testing.gguf_files import gguf_bytes

CONTENT = gguf_bytes({"general.architecture": "llama", "pad": ["x" * 1000] * 60}) + bytes(3 << 20)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Shop:
    """A server of one file that can be told to misbehave. `asked` holds each request's Range."""

    content: bytes = CONTENT
    etag: str = '"one"'
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)  # bytes of each answer in turn, then whole
    busy: int = 0
    asked: list[str | None] = field(default_factory=list)
    hold: asyncio.Event | None = None
    before_hold: int = 1 << 20  # bytes

    async def give(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.headers.get("Range"))
        if self.busy:
            self.busy -= 1
            return web.Response(status=503)
        start = request.http_range.start or 0 if self.ranges else 0
        body = self.content[start:]
        response = web.StreamResponse(status=206 if start else 200, headers={"ETag": self.etag})
        response.content_length = len(body)
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"
        await response.prepare(request)
        if self.break_after:
            await response.write(body[: self.break_after.pop(0)])
            await asyncio.sleep(0.05)
            assert request.transport is not None
            request.transport.abort()
            return response
        if self.hold:
            await response.write(body[: self.before_hold])
            await self.hold.wait()
            return response
        await response.write(body)
        return response


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
async def server(shop: Shop) -> AsyncIterator[TestServer]:
    async def around(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/around.gguf")

    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>a page about a model</html>")

    async def private(request: web.Request) -> web.StreamResponse:
        return web.Response(status=401)

    app = web.Application()
    app.router.add_get("/around.gguf", around)
    app.router.add_get("/page", page)
    app.router.add_get("/private.gguf", private)
    app.router.add_get("/{name:.*gguf}", shop.give)
    async with TestServer(app, host="127.0.0.1") as running:
        yield running


@dataclass
class Customer:
    server: TestServer
    folder: Path
    progress: list[Progress] = field(default_factory=list)
    first_mib: asyncio.Event = field(default_factory=asyncio.Event)

    def report(self, progress: Progress) -> None:
        self.progress.append(progress)
        if progress.done >= 1 << 20:
            self.first_mib.set()

    async def fetch(self, name: str = "m.gguf", *, sha256: str | None = None) -> Path:
        return await fetch_url(
            HttpDownloads(silent_after_s=2), str(self.server.make_url("/" + name)), folder=self.folder,
            report=self.report, sha256=sha256, pause_s=0.01,
        )  # fmt: skip

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def part(self) -> Path:
        (path,) = self.folder.glob("m.gguf.*.part")
        return path


@pytest.fixture
def customer(server: TestServer, tmp_path: Path) -> Customer:
    return Customer(server, tmp_path)


async def test_file_lands_whole_with_progress_and_nothing_beside_it(customer: Customer) -> None:
    path = await customer.fetch(sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert customer.files() == ["m.gguf"]
    last = customer.progress[-1]
    assert (last.what, last.done, last.of) == ("m.gguf", len(CONTENT), len(CONTENT))


async def test_broken_download_goes_on_by_itself_where_it_stopped(customer: Customer, shop: Shop) -> None:
    shop.break_after = [1 << 20, 100_000]
    path = await customer.fetch(sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert shop.asked[0] is None
    assert len(shop.asked) == 3
    assert all(asked and asked.startswith("bytes=") and asked != "bytes=0-" for asked in shop.asked[1:])


async def test_interrupted_fetch_leaves_one_part_that_the_next_fetch_resumes(customer: Customer, shop: Shop) -> None:
    shop.hold = asyncio.Event()
    running = asyncio.create_task(customer.fetch())
    await customer.first_mib.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    shop.hold.set()
    shop.hold = None
    assert customer.files() == [customer.part().name]
    had = customer.part().stat().st_size
    assert had == 1 << 20
    assert (await customer.fetch()).read_bytes() == CONTENT
    assert shop.asked[-1] == f"bytes={had - 1}-"
    assert customer.files() == ["m.gguf"]


async def test_part_that_is_already_complete_only_needs_its_name(customer: Customer, shop: Shop) -> None:
    shop.break_after = [1 << 20] + [0] * 4
    with pytest.raises(FetchFailed):
        await customer.fetch()
    customer.part().write_bytes(CONTENT)
    assert (await customer.fetch(sha256=SHA256)).read_bytes() == CONTENT
    assert shop.asked[-1] == f"bytes={len(CONTENT) - 1}-"


async def test_file_that_changed_meanwhile_is_fetched_anew(customer: Customer, shop: Shop) -> None:
    shop.break_after = [1 << 20] + [0] * 4
    with pytest.raises(FetchFailed):
        await customer.fetch()
    shop.etag, shop.content = '"two"', gguf_bytes({"other": 1}) + bytes(2 << 20)
    assert (await customer.fetch()).read_bytes() == shop.content
    assert customer.files() == ["m.gguf"]


async def test_server_without_ranges_sends_it_all_again(customer: Customer, shop: Shop) -> None:
    shop.ranges = False
    shop.break_after = [1 << 20]
    assert (await customer.fetch(sha256=SHA256)).read_bytes() == CONTENT


async def test_server_that_never_finishes_is_given_up_with_the_part_kept(customer: Customer, shop: Shop) -> None:
    shop.break_after = [1 << 20] + [0] * 20
    with pytest.raises(FetchFailed, match="the server broke off, after 1048575 bytes of") as caught:
        await customer.fetch()
    assert caught.value.hint == "the same command goes on where it stopped"
    assert customer.part().stat().st_size == 1 << 20
    assert len(shop.asked) == 5


async def test_busy_server_is_asked_again(customer: Customer, shop: Shop) -> None:
    shop.busy = 2
    assert (await customer.fetch()).is_file()


async def test_silent_server_is_given_up(customer: Customer, shop: Shop) -> None:
    shop.hold, shop.before_hold = asyncio.Event(), 0
    with pytest.raises(FetchFailed, match="the server fell silent"):
        await fetch_url(
            HttpDownloads(silent_after_s=0.1), str(customer.server.make_url("/m.gguf")), folder=customer.folder,
            report=customer.report, pause_s=0,
        )  # fmt: skip
    shop.hold.set()


async def test_file_that_is_there_is_not_fetched_again(customer: Customer) -> None:
    first = await customer.fetch()
    touched = first.stat().st_mtime_ns
    assert await customer.fetch() == first
    assert first.stat().st_mtime_ns == touched


async def test_other_file_of_the_same_name_is_not_overwritten(customer: Customer) -> None:
    (customer.folder / "m.gguf").write_bytes(b"mine")
    with pytest.raises(FetchFailed, match="is there with 4 bytes, and"):
        await customer.fetch()
    assert (customer.folder / "m.gguf").read_bytes() == b"mine"


async def test_wrong_hash_is_refused_and_nothing_lands(customer: Customer) -> None:
    with pytest.raises(FetchFailed, match=f"sha256 is {SHA256}, not {'0' * 64}"):
        await customer.fetch(sha256="0" * 64)
    assert customer.files() == []


async def test_wrong_hash_of_a_file_that_is_there_leaves_it_alone(customer: Customer) -> None:
    await customer.fetch()
    with pytest.raises(FetchFailed, match="sha256 is"):
        await customer.fetch(sha256="0" * 64)
    assert customer.files() == ["m.gguf"]


async def test_split_model_arrives_with_all_of_its_parts(customer: Customer) -> None:
    path = await customer.fetch("m-00002-of-00003.gguf")
    assert path.name == "m-00001-of-00003.gguf"
    assert customer.files() == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]


async def test_two_fetches_of_one_file_do_not_mix(customer: Customer, shop: Shop) -> None:
    shop.hold = asyncio.Event()
    first = asyncio.create_task(customer.fetch())
    await customer.first_mib.wait()
    with pytest.raises(FetchFailed, match="another evener is fetching it"):
        await customer.fetch()
    first.cancel()
    shop.hold.set()


async def test_a_second_fetch_while_the_first_is_checked_is_one_line_and_the_first_lands(
    customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking, go_on = asyncio.Event(), asyncio.Event()

    async def slow_check(path: Path, sha256: str) -> None:
        checking.set()
        await go_on.wait()

    monkeypatch.setattr(fetching, "_check_sha256", slow_check)
    first = asyncio.create_task(customer.fetch(sha256=SHA256))
    await checking.wait()
    with pytest.raises(FetchFailed, match=r"^m\.gguf\..*\.part: another evener is fetching it$"):
        await customer.fetch()
    go_on.set()
    assert (await first).read_bytes() == CONTENT
    assert customer.files() == ["m.gguf"]


async def test_what_lands_between_the_question_and_the_lock_is_left_as_it_is(
    customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = fetching._open_part

    def late(part: Path) -> BinaryIO:
        (customer.folder / "m.gguf").write_bytes(CONTENT)
        return opened(part)

    monkeypatch.setattr(fetching, "_open_part", late)
    await customer.fetch()
    assert customer.progress == []
    assert customer.files() == ["m.gguf"]


def test_a_part_that_has_got_its_name_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, target = tmp_path / "m.part", tmp_path / "m"

    def locked_too_late(file: BinaryIO, how: int) -> None:
        part.rename(target)

    monkeypatch.setattr("fcntl.flock", locked_too_late)
    with pytest.raises(FetchFailed, match="another evener is fetching it"):
        fetching._open_part(part)


async def test_a_part_of_another_version_that_somebody_fetches_stays(customer: Customer) -> None:
    other = customer.folder / "m.gguf.0123456789ab.part"
    other.write_bytes(b"half")
    with other.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(FetchFailed, match="another evener is fetching it"):
            await customer.fetch()
    assert customer.files() == [other.name]
    await customer.fetch()
    assert customer.files() == ["m.gguf"]


async def test_a_target_that_appears_before_the_part_lands_is_not_overwritten(tmp_path: Path) -> None:
    part, target = tmp_path / "m.part", tmp_path / "m"
    part.write_bytes(b"ours")
    target.write_bytes(b"theirs")
    with pytest.raises(FetchFailed, match="another fetch has landed there meanwhile"):
        await fetching._land(part, target, sha256=None, prove=None)
    assert target.read_bytes() == b"theirs"


async def test_disk_that_is_full_is_one_line_and_keeps_the_part(customer: Customer, shop: Shop) -> None:
    shop.break_after = [1 << 20] + [0] * 4
    with pytest.raises(FetchFailed):
        await customer.fetch()
    part = customer.part()
    part.unlink()
    part.symlink_to("/dev/full")
    with pytest.raises(FetchFailed, match=r"cannot write .*: the disk is full") as caught:
        await customer.fetch()
    assert "\n" not in caught.value.message


async def test_missing_file_is_missing(customer: Customer) -> None:
    with pytest.raises(ModelMissing, match=r"the server has no such file \(HTTP 404\)"):
        await customer.fetch("nothing")
    assert customer.files() == []


async def test_login_that_is_wanted_is_said(customer: Customer) -> None:
    with pytest.raises(FetchFailed, match="HTTP 401") as caught:
        await customer.fetch("private.gguf")
    assert caught.value.hint == "it wants a login: download the file by hand and give its path"


async def test_web_page_is_no_model_and_does_not_stay(customer: Customer) -> None:
    with pytest.raises(BadHeader, match="/page: a web page, not a GGUF"):
        await customer.fetch("page")
    assert customer.files() == []


async def test_redirects_without_end_are_one_line(customer: Customer) -> None:
    with pytest.raises(FetchFailed, match="the server redirects without end"):
        await customer.fetch("around.gguf")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1/m.gguf", "cannot connect: "),
        ("http://no-such-host.invalid/m.gguf", "no such host|cannot connect"),
        ("http://:99999999/m.gguf", "not a URL|Port out of range"),
        ("http:///m.gguf", "not a URL"),
        ("http://127.0.0.1:1/", "names no file"),
    ],
)
async def test_bad_urls_are_one_line_each(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=said) as caught:
        await fetch_url(HttpDownloads(connect_within_s=2), url, folder=tmp_path, report=lambda progress: None)
    assert "\n" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://h/a/m.gguf?download=true", "m.gguf"),
        ("https://h/a%20b/My%20Model.GGUF", "My Model.GGUF"),
        ("https://h/model", "model.gguf"),
        ("https://h/..%2f..%2fetc%2fm.gguf", "m.gguf"),
    ],
)
def test_file_name_is_the_last_piece_of_the_path(url: str, name: str) -> None:
    assert file_name(url) == name


@pytest.mark.parametrize("url", ["https://h/", "https://h/..", "https://h/.ssh", "https://h/%00"])
def test_urls_that_name_no_file_are_refused(url: str) -> None:
    with pytest.raises(FetchFailed, match="names no file"):
        file_name(url)


def test_parts_keep_the_rest_of_the_url() -> None:
    assert part_urls("https://h/a/m-00002-of-00002.gguf?download=true") == (
        "https://h/a/m-00001-of-00002.gguf?download=true",
        "https://h/a/m-00002-of-00002.gguf?download=true",
    )
