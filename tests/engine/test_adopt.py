"""Engines built elsewhere: releases from a local server, and this machine's engine on a second home of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evener import files
from evener.edges.download import HttpDownloads
from evener.edges.local_shell import LocalShell
from evener.engine import adopt
from evener.engine.adopt import Needs, glibc_needed, install_release, misfit, push
from evener.engine.host import HERE, Gpu, HostFacts, look
from evener.engine.landing import engine_files, landing
from evener.engine.lock import LOCK, install_lock, installing
from evener.engine.resolve import built_in, cached
from evener.errors import EngineError, EngineUnfit, FetchFailed, HostBusy, HostError
from evener.records.capability import ANY_CPU, Capability, FoundEngine, Installed
from evener.records.events import Progress
from tests.elsewhere import Elsewhere

from .test_release import tar_archive
from .test_resolve import build_in_cache
from .toys import script, toy_engine

LOCAL = LocalShell(HERE)
VULKAN = "llama-b11434-bin-ubuntu-vulkan-x64.tar.gz"


def held(engines: Path) -> list[str]:
    """What lies in a cache of engines, but for its lock."""
    return sorted(path.name for path in engines.iterdir() if path.name != LOCK)


def release_of(folder: Path, path: Path) -> Path:
    """An archive of a toy engine, laid out as the real ones, with a library behind a link."""
    programs = {f"llama-b11434/{file.name}": file.read_bytes() for file in folder.iterdir()}
    return tar_archive(
        path, programs | {"llama-b11434/libggml.so.0.9": b"lib"}, {"llama-b11434/libggml.so": "libggml.so.0.9"}
    )


# ---- releases


class Shop:
    def __init__(self, at: Path) -> None:
        self.folder = at / "shop"
        self.folder.mkdir()
        self.archive = release_of(toy_engine(at / "product"), self.folder / VULKAN)
        self.cache = at / "cache"
        self.asked = 0
        self.url = ""

    async def install(self, *sources: str, sha256: str | None = None) -> Installed:
        return await install_release(
            LOCAL, sources=sources or (f"{self.url}/{VULKAN}",), engines=str(self.cache / "engines"),
            downloads=HttpDownloads(), kept=self.cache / "sources", report=lambda p: None, sha256=sha256,
            lock=self.cache / "engines" / LOCK,
        )  # fmt: skip

    async def give(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        return web.FileResponse(self.folder / request.match_info["name"])


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    app = web.Application()
    app.router.add_get("/releases/{name}", shop.give)
    async with TestServer(app, host="127.0.0.1") as running:
        shop.url = str(running.make_url("/releases"))
        yield shop


async def test_a_release_is_fetched_proved_and_named_after_its_backend(shop: Shop) -> None:
    done = await shop.install()
    digest = hashlib.sha256(shop.archive.read_bytes()).hexdigest()
    folder = Path(done.folder)
    assert folder == shop.cache / "engines" / f"b11434-vulkan-{digest[:8]}"
    assert (folder / "libggml.so").readlink() == Path("libggml.so.0.9")
    assert (done.built.backend, done.built.cpu, done.built.protocol) == ("vulkan", ANY_CPU, "7.0.0")
    assert (done.built.build, done.built.commit) == (11434, "b0a2feb")
    assert done.notes == (f"nobody has vouched for this: {VULKAN} has sha256 {digest} (--sha256 demands one)",)
    assert [path.name for path in (shop.cache / "sources").iterdir()] == [VULKAN]
    (found,) = await cached(LOCAL, str(shop.cache / "engines"), cpu="of any processor")
    assert (found.used, found.why) == (True, "official release for vulkan")


async def test_a_hash_that_the_user_gives_is_demanded(shop: Shop) -> None:
    with pytest.raises(FetchFailed, match="sha256 is"):
        await shop.install(sha256="00" * 32)
    with pytest.raises(EngineError, match="sha256 is"):
        await shop.install(str(shop.archive), sha256="00" * 32)
    assert not (shop.cache / "engines").exists()
    digest = hashlib.sha256(shop.archive.read_bytes()).hexdigest()
    assert (await shop.install(sha256=digest)).notes == ()


async def test_a_file_that_the_user_has_is_not_fetched_and_a_second_install_does_nothing(shop: Shop) -> None:
    assert not (await shop.install(str(shop.archive))).already
    assert (await shop.install(str(shop.archive))).already
    assert shop.asked == 0


async def test_libraries_that_come_in_a_second_archive_lie_beside_the_engine(shop: Shop) -> None:
    cuda = release_of(toy_engine(shop.folder / "x"), shop.folder / "llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz")
    beside = tar_archive(shop.folder / f"cudart-{cuda.name}", {"cudart-x/libcudart.so.12": b"runtime"})
    done = await shop.install(f"{shop.url}/{cuda.name}", f"{shop.url}/{beside.name}")
    assert done.built.backend == "cuda"
    assert (Path(done.folder) / "libcudart.so.12").read_bytes() == b"runtime"


async def test_the_hash_of_one_archive_does_not_vouch_for_the_other(shop: Shop) -> None:
    beside = tar_archive(shop.folder / f"cudart-{VULKAN}", {"cudart-x/libcudart.so.12": b"runtime"})
    digest = hashlib.sha256(shop.archive.read_bytes()).hexdigest()
    unknown = hashlib.sha256(beside.read_bytes()).hexdigest()
    note = f"nobody has vouched for this: {beside.name} has sha256 {unknown}"
    first = await shop.install(str(shop.archive), str(beside), sha256=digest)
    again = await shop.install(str(shop.archive), str(beside), sha256=digest)
    assert (first.notes, again.notes, again.already) == ((note,), (note,), True)


async def test_a_release_waits_for_nobody_who_installs_here(shop: Shop) -> None:
    with install_lock(shop.cache / "engines" / LOCK), pytest.raises(HostBusy, match=rf"pid {os.getpid()}\)"):
        await shop.install(str(shop.archive))
    assert held(shop.cache / "engines") == []


async def test_a_name_that_says_nothing_is_refused_before_anything_is_unpacked(shop: Shop) -> None:
    odd = shop.archive.rename(shop.folder / "llama.tar.gz")
    with pytest.raises(EngineError, match=r"llama\.tar\.gz: not the name of an official release"):
        await shop.install(str(odd))
    with pytest.raises(EngineError, match="is for Windows x64"):
        await shop.install(f"{shop.url}/llama-b11434-bin-win-cuda-12.4-x64.zip?download=1")
    assert shop.asked == 0


async def test_a_release_that_does_not_run_here_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    release_of(toy_engine(tmp_path / "bad", token="kill -ILL $$"), shop.archive)
    with pytest.raises(EngineUnfit, match="built for another CPU"):
        await shop.install()
    assert held(shop.cache / "engines") == []


# ---- does it fit?


THERE = HostFacts(
    system="Linux", machine="x86_64", cpu="22222222", gpus=(), tools={}, glibc=(2, 36),
    instructions=frozenset({"sse4_2", "avx2"}),
)  # fmt: skip
OURS = Needs(system="Linux", machine="x86_64", instructions=frozenset({"avx2"}), glibc=(2, 34))


def test_a_host_that_has_all_that_a_build_needs_may_try_it() -> None:
    assert misfit(OURS, "cpu", THERE) is None
    assert misfit(OURS, "cpu", replace(THERE, instructions=frozenset())) is None  # nobody said: the proof decides


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (replace(THERE, machine="aarch64"), "built for Linux x86_64, the host is Linux aarch64"),
        (replace(THERE, system="Darwin"), "built for Linux x86_64, the host is Darwin x86_64"),
        (replace(THERE, glibc=(2, 31)), "built for glibc 2.34, the host has 2.31"),
        (replace(THERE, glibc=None), "built for glibc 2.34, the host has another C library"),
        (
            replace(THERE, instructions=frozenset({"sse4_2"})),
            "its processor lacks avx2, and the build uses all that ours has",
        ),
        (
            replace(THERE, gpus=(Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 5080"),)),
            "built for the CPU, and NVIDIA GeForce RTX 5080 would stay idle",
        ),
    ],
)
def test_what_speaks_against_a_host_is_said(there: HostFacts, why: str) -> None:
    assert misfit(OURS, "cpu", there) == why


def test_the_c_library_that_files_ask_for_is_read_from_them(tmp_path: Path) -> None:
    toy_engine(tmp_path)
    assert glibc_needed(tmp_path) is None
    (tmp_path / "libggml.so").write_bytes(b"\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.34\0GLIBCXX_3.4.32\0")
    assert glibc_needed(tmp_path) == (2, 34)


# ---- to another host


class Beta(Elsewhere):
    """A second home of this machine, with an engine of the head to come."""

    def __init__(self, at: Path) -> None:
        super().__init__("beta", at / "beta")
        self.engines = at / "beta/.cache/evener/engines"
        self.lock = at / "install-beta.lock"
        self.seen: list[Progress] = []

    async def pushed(self, engine: FoundEngine) -> Installed:
        return await push(
            LOCAL, self, engine=engine, engines=str(self.engines), lock=self.lock, report=self.seen.append
        )


@pytest.fixture
def beta(tmp_path: Path) -> Beta:
    return Beta(tmp_path)


@pytest.fixture
async def ours(tmp_path: Path) -> FoundEngine:
    build_in_cache(tmp_path / "ours", "b11434-cpu-0a1b2c3d", cpu=(await look(LOCAL)).cpu)
    (found,) = await cached(LOCAL, str(tmp_path / "ours"), cpu=(await look(LOCAL)).cpu)
    return found


async def test_an_engine_lands_under_its_own_key_proved_on_the_other_processor(beta: Beta, ours: FoundEngine) -> None:
    done = await beta.pushed(ours)
    folder = beta.engines / "b11434-cpu-0a1b2c3d"
    assert (done.folder, done.already, done.check.ok) == (str(folder), False, True)
    for name in ("llama-server", "ggml-rpc-server", "llama-bench", "llama-fit-params", "llama-quantize"):
        assert (folder / name).read_bytes() == (Path(ours.folder) / name).read_bytes()
    mark = await built_in(beta, str(folder))
    assert mark is not None
    assert (mark.key, mark.cpu, mark.protocol) == ("b11434-cpu-0a1b2c3d", (await look(beta)).cpu, "7.0.0")
    assert held(beta.engines) == [folder.name]
    sent = [p for p in beta.seen if p.what == "send"]
    assert (sent[-1].done, sent[-1].of) == (ours.bytes, ours.bytes)
    assert (await beta.pushed(ours)).already


async def test_a_folder_of_that_name_that_is_no_engine_gives_way(beta: Beta, ours: FoundEngine) -> None:
    spoilt = beta.engines / "b11434-cpu-0a1b2c3d"
    spoilt.mkdir(parents=True)
    (spoilt / "engine.json").write_text('{"key": ')
    assert not (await beta.pushed(ours)).already
    assert (await beta.pushed(ours)).already


async def test_a_folder_of_that_name_that_never_was_an_engine_stays(beta: Beta, ours: FoundEngine) -> None:
    precious = beta.engines / "b11434-cpu-0a1b2c3d" / "model.gguf"
    precious.parent.mkdir(parents=True)
    precious.write_bytes(b"precious")
    with pytest.raises(EngineError, match=r"is there and is no engine of evener's"):
        await beta.pushed(ours)
    assert precious.read_bytes() == b"precious"
    assert beta.seen == []
    assert held(beta.engines) == [precious.parent.name]


@pytest.mark.parametrize("key", ["../models", "", ".", "..", "/etc", "a/b", ".hidden", "-rf", "a b", "a\n"])
async def test_a_key_that_is_no_plain_name_is_never_taken(beta: Beta, ours: FoundEngine, key: str) -> None:
    models = beta.engines.parent / "models" / "m.gguf"
    models.parent.mkdir(parents=True)
    models.write_bytes(b"weights")
    mark = Path(ours.folder) / "engine.json"
    mark.write_text(mark.read_text().replace('"b11434-cpu-0a1b2c3d"', json.dumps(key)))
    assert await built_in(LOCAL, ours.folder) is None
    assert await cached(LOCAL, str(Path(ours.folder).parent), cpu="any") == []
    assert ours.built is not None
    with pytest.raises(EngineError, match="not a name for an engine"):
        async with landing(beta, str(beta.engines), replace(ours.built, key=key), nobody_proves):
            raise AssertionError
    done = await beta.pushed(replace(ours, source="EVENER_ENGINE", built=await built_in(LOCAL, ours.folder)))
    assert done.built.key.startswith("b11434-cpu-")
    assert models.read_bytes() == b"weights"


async def nobody_proves(folder: str) -> Capability:
    raise AssertionError(folder)


@pytest.mark.parametrize("change", [{"source": "EVENER_ENGINE"}, {"source": "PATH"}, {"folder": "another"}])
async def test_a_mark_is_believed_in_our_own_cache_alone(beta: Beta, ours: FoundEngine, change: dict[str, str]) -> None:
    foreign = replace(ours, source=change.get("source", "cache"))
    if "folder" in change:
        foreign = replace(foreign, folder=str(Path(ours.folder).rename(Path(ours.folder).with_name("another"))))
    done = await beta.pushed(foreign)
    assert done.built.key not in ("b11434-cpu-0a1b2c3d", "another")
    assert (done.built.source_sha256, done.built.flags) == (None, ())


# ---- links


async def test_an_engine_made_of_links_arrives_as_files(beta: Beta, tmp_path: Path) -> None:
    real, linked = toy_engine(tmp_path / "opt"), tmp_path / "bin"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libggml.so.0").write_bytes(b"library")
    linked.mkdir()
    for path in real.iterdir():
        (linked / path.name).symlink_to(path)
    (linked / "libggml.so.0").symlink_to("../lib/libggml.so.0")
    (linked / "libggml.so").symlink_to("libggml.so.0")
    (linked / "libgone.so").symlink_to("nowhere")
    done = await beta.pushed(FoundEngine(folder=str(linked), source="PATH", used=True, why=""))
    landed = Path(done.folder)
    assert not any((landed / path.name).is_symlink() for path in real.iterdir())
    assert (landed / "llama-server").read_bytes() == (real / "llama-server").read_bytes()
    assert (landed / "libggml.so.0").read_bytes() == b"library"
    assert (landed / "libggml.so").readlink() == Path("libggml.so.0")
    assert not (landed / "libgone.so").exists()


def test_a_folder_without_a_worker_is_no_engine(tmp_path: Path) -> None:
    (tmp_path / "ggml-rpc-server").symlink_to("nowhere")
    with pytest.raises(EngineUnfit, match="no ggml-rpc-server in it"):
        engine_files(tmp_path)


# ---- several at once


async def test_of_two_pushes_at_once_one_lands_and_the_other_says_who_is_before_it(
    beta: Beta, ours: FoundEngine, tmp_path: Path
) -> None:
    """The second comes from another machine: its own lock file is another."""
    other = Beta(tmp_path)
    other.lock = tmp_path / "of-another-machine.lock"
    answers = await asyncio.gather(beta.pushed(ours), other.pushed(ours), return_exceptions=True)
    landed = [one for one in answers if isinstance(one, Installed)]
    (refused,) = [one for one in answers if isinstance(one, HostBusy)]
    assert len(landed) == 1
    assert refused.message.startswith(f"beta: another evener (pid {os.getpid()} on ")
    assert held(beta.engines) == ["b11434-cpu-0a1b2c3d"]
    assert (await other.pushed(ours)).already


def without_flock(tmp_path: Path) -> str:
    """A PATH of a host that lacks this one tool."""
    bare = tmp_path / "bare"
    bare.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if tool.name != "flock":
            (bare / tool.name).symlink_to(tool)
    return str(bare)


async def test_where_nothing_can_be_locked_each_lands_in_a_folder_of_its_own(
    beta: Beta, ours: FoundEngine, tmp_path: Path
) -> None:
    other = Beta(tmp_path)
    other.lock = tmp_path / "of-another-machine.lock"
    beta.own["PATH"] = other.own["PATH"] = without_flock(tmp_path)
    answers = await asyncio.gather(beta.pushed(ours), other.pushed(ours))
    assert [one.check.ok for one in answers] == [True, True]
    assert held(beta.engines) == ["b11434-cpu-0a1b2c3d"]


async def test_the_lock_goes_with_its_owner(beta: Beta) -> None:
    for _ in range(2):
        async with installing(beta, str(beta.engines), lock=beta.lock):
            with pytest.raises(HostBusy):
                async with installing(beta, str(beta.engines), lock=beta.lock.with_name("another")):
                    raise AssertionError


async def test_what_a_killed_session_left_goes_with_the_next_install_of_any_engine(
    beta: Beta, ours: FoundEngine
) -> None:
    left = beta.engines / ".landing-b9000-cuda-ffffffff-4711-0a0b0c0d"
    left.mkdir(parents=True)
    (left / "llama-server").write_bytes(b"half")
    await beta.pushed(ours)
    assert held(beta.engines) == ["b11434-cpu-0a1b2c3d"]


async def test_where_nothing_can_be_locked_only_what_is_a_day_old_goes(beta: Beta, tmp_path: Path) -> None:
    beta.own["PATH"] = without_flock(tmp_path)
    old, fresh = beta.engines / ".landing-old", beta.engines / ".landing-fresh"
    old.mkdir(parents=True)
    fresh.mkdir()
    os.utime(old, (0, 0))
    async with installing(beta, str(beta.engines), lock=beta.lock):
        assert held(beta.engines) == [".landing-fresh"]


async def test_an_engine_that_nobody_described_is_pushed_under_a_key_made_from_its_content(
    beta: Beta, tmp_path: Path
) -> None:
    folder = toy_engine(tmp_path / "mine")
    found = FoundEngine(folder=str(folder), source="EVENER_ENGINE", used=True, why="")
    done = await beta.pushed(found)
    assert done.built.key.startswith("b11434-cpu-")
    assert (done.built.source_sha256, done.built.commit) == (None, "b0a2feb")
    (folder / "llama-quantize").write_text("#!/bin/sh\nexit 0\n")
    assert (await beta.pushed(found)).built.key != done.built.key


async def test_a_library_that_the_other_host_lacks_is_named_before_the_large_programs_are_sent(
    beta: Beta, ours: FoundEngine
) -> None:
    said = "ggml-rpc-server: error while loading shared libraries: libgomp.so.1: cannot open shared object file"
    script(
        Path(ours.folder) / "ggml-rpc-server", f'[ "$HOME" = {beta.own["HOME"]} ] && {{ echo "{said}" >&2; exit 127; }}'
    )
    with pytest.raises(EngineUnfit, match=r"does not run there: .*libgomp\.so\.1: cannot open") as caught:
        await beta.pushed(ours)
    assert caught.value.hint == "evener engine install makes one that does"
    assert held(beta.engines) == []
    assert {p.detail for p in beta.seen if p.what == "send"} == {"ggml-rpc-server"}


async def test_a_c_library_that_is_too_old_is_read_from_the_loaders_own_words(beta: Beta, ours: FoundEngine) -> None:
    said = "./w: /lib/libstdc++.so.6: version 'GLIBCXX_3.4.32' not found (required by ./w)"
    script(Path(ours.folder) / "ggml-rpc-server", f'echo "{said}" >&2; exit 1')
    with pytest.raises(EngineUnfit, match=r"version 'GLIBCXX_3\.4\.32' not found"):
        await beta.pushed(ours)


async def test_an_illegal_instruction_there_lands_nothing(beta: Beta, ours: FoundEngine) -> None:
    script(Path(ours.folder) / "llama-bench", "kill -ILL $$")
    with pytest.raises(EngineUnfit, match=r"does not run there: .* built for another CPU"):
        await beta.pushed(ours)
    assert held(beta.engines) == []


async def test_no_room_is_told_before_anything_is_sent(
    beta: Beta, ours: FoundEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.engine.landing.SPARE_BYTES", 1 << 50)
    with pytest.raises(HostError, match=r"^beta: .* free, the engine takes 1048576\.0 GiB"):
        await beta.pushed(ours)
    assert beta.seen == []
    assert held(beta.engines) == []


async def test_a_disk_that_fills_up_meanwhile_leaves_nothing_half_written(
    beta: Beta, ours: FoundEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        beta.engines.parent / "full/cat", "head -c 100; echo 'cat: write error: No space left on device' >&2; exit 1"
    )
    beta.own["PATH"] = f"{beta.engines.parent}/full:/usr/bin:/bin"
    with pytest.raises(HostError, match=r"^beta: cannot write .*: the disk is full$"):
        await beta.pushed(ours)
    assert held(beta.engines) == []


@pytest.mark.engine
async def test_the_real_engine_runs_on_the_other_host(beta: Beta, engine: Path) -> None:
    found = FoundEngine(folder=str(engine), source="cache", used=True, why="", built=await built_in(LOCAL, str(engine)))
    done = await beta.pushed(found)
    assert done.check.ok
    assert Path(done.folder).parent == beta.engines
    assert await files.size_bytes(beta, f"{done.folder}/llama-server") == (engine / "llama-server").stat().st_size
    assert glibc_needed(engine) is not None
    assert adopt.glibc_needed(Path(done.folder)) == glibc_needed(engine)
