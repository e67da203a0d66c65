"""Engines built elsewhere: an official release, or this machine's own carried to another. It compiles nothing."""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from evener.engine import smoke
from evener.engine.capability import capability, worker_banner
from evener.engine.host import HostFacts, look
from evener.engine.install import COMMAND, installed, prover
from evener.engine.landing import carry, engine_files, landing
from evener.engine.lock import installing
from evener.engine.release import Release, demand_fit, read_name, unpack
from evener.engine.resolve import built_in
from evener.errors import EngineError, EngineUnfit
from evener.fetching import fetch_file, file_sha256, is_url
from evener.ports import Downloads, Report, Shell
from evener.records.capability import ANY_CPU, Backend, Built, FoundEngine, Installed
from evener.records.events import Progress

_GLIBC = re.compile(rb"GLIBC_2\.(\d+)\b")
_BACKENDS: dict[str, Backend] = {"CUDA": "cuda", "ROCm": "rocm", "Vulkan": "vulkan", "Metal": "metal", "MTL": "metal"}


# ---- a release


async def install_release(
    shell: Shell,
    *,
    sources: Sequence[str],
    engines: str,
    downloads: Downloads,
    kept: Path,
    lock: Path,
    report: Report,
    sha256: str | None = None,
) -> Installed:
    """Leave an official release in the cache of the shell's host. `sources` are URLs or files here, the engine first.

    What is downloaded stays in `kept`. `sha256` is demanded of the first; every other is noted as unvouched for.
    Raises EngineError, EngineBuildFailed, FetchFailed, HostBusy.
    """
    began = time.monotonic()
    facts = await look(shell)
    release, backend = _named(sources[0], facts)  # before half a gigabyte is fetched in vain
    archives = [
        await _archive(source, downloads, kept, report, sha256 if source == sources[0] else None) for source in sources
    ]
    hashes = [await asyncio.to_thread(file_sha256, archive) for archive in archives]
    mark = _release_mark(release, backend, hashes[0])
    notes = unvouched([archive.name for archive in archives], hashes, demanded=sha256 is not None)
    engine = f"{engines}/{mark.key}"
    already = able = await built_in(shell, engine)
    if able is None:
        async with installing(shell, engines, lock=lock):
            already = able = await built_in(shell, engine)
            if able is None:
                able = await _unpacked(shell, archives, mark, engines=engines, kept=kept, facts=facts, report=report)
    return await installed(shell, engine, able, facts=facts, already=already is not None, began=began, notes=notes)


def unvouched(names: Sequence[str], hashes: Sequence[str], *, demanded: bool) -> tuple[str, ...]:
    """A note on every archive whose hash nobody demanded; `demanded` is about the first."""
    unknown = [f"{name} has sha256 {found}" for name, found in zip(names, hashes, strict=True)][int(demanded) :]
    if not unknown:
        return ()
    hint = "" if demanded else " (--sha256 demands one)"
    return (f"nobody has vouched for this: {', '.join(unknown)}{hint}",)


async def _unpacked(
    shell: Shell,
    archives: Sequence[Path],
    mark: Built,
    *,
    engines: str,
    kept: Path,
    facts: HostFacts,
    report: Report,
) -> Built:
    with tempfile.TemporaryDirectory(prefix=".release-", dir=kept) as own:
        for archive in archives:
            report(Progress(what="unpack", detail=archive.name))
            await asyncio.to_thread(unpack, archive, Path(own))
        return await _land(shell, Path(own), mark, engines=engines, facts=facts, report=report)


def _named(source: str, facts: HostFacts) -> tuple[Release, Backend]:
    """What an archive's name says it is for. Raises EngineError when that is not this host."""
    name = _file_name(source)
    release = read_name(name)
    if release is None:
        raise EngineError(
            f"{name}: not the name of an official release",
            hint="such as llama-b11434-bin-ubuntu-vulkan-x64.tar.gz; it says what the archive is for",
        )
    return release, demand_fit(release, name=name, system=facts.system, machine=facts.machine)


def _file_name(source: str) -> str:
    return re.sub(r"[?#].*", "", source).rsplit("/", 1)[-1] if is_url(source) else Path(source).name


async def _archive(source: str, downloads: Downloads, kept: Path, report: Report, sha256: str | None) -> Path:
    """The file itself, or the download of a URL."""
    await asyncio.to_thread(kept.mkdir, parents=True, exist_ok=True)
    if is_url(source):
        return await fetch_file(downloads, source, kept / _file_name(source), report=report, sha256=sha256)
    path = Path(source)
    if sha256 and (found := await asyncio.to_thread(file_sha256, path)) != sha256.lower():
        raise EngineError(f"{path}: sha256 is {found}, not {sha256.lower()}", hint="the file or the hash is wrong")
    return path


def _release_mark(release: Release, backend: Backend, sha256: str) -> Built:
    return Built(
        key=f"b{release.build or 0}-{backend}-{sha256[:8]}",
        build=release.build,
        commit=None,
        backend=backend,
        flags=(),
        cpu=ANY_CPU,
        compiler=None,
        protocol=None,
        source_sha256=sha256,
        built_at=datetime.now(UTC),
    )


# ---- this host's engine, for another host


async def push(
    here: Shell, there: Shell, *, engine: FoundEngine, engines: str, lock: Path, report: Report
) -> Installed:
    """Carry `engine`, of this machine, to `engines` on another host, where it must prove itself before it lands.

    Raises EngineUnfit with the reason when system, processor, C library, libraries or cards do not allow it,
    HostError when there is no room, HostBusy while another session installs there.
    """
    began = time.monotonic()
    ours, theirs = await look(here), await look(there)
    source = Path(engine.folder)
    mark = await _mark(here, engine, cpu=ours.cpu)
    needs = Needs(
        system=ours.system,
        machine=ours.machine,
        instructions=frozenset() if mark.cpu == ANY_CPU else ours.instructions,
        glibc=await asyncio.to_thread(glibc_needed, source) if ours.system == "Linux" else None,
    )
    if why := misfit(needs, mark.backend, theirs):
        raise EngineUnfit(f"this machine's engine does not fit there: {why}", hint=f"{COMMAND} makes one that does")
    folder = f"{engines}/{mark.key}"
    already = able = await built_in(there, folder)
    if able is None:
        async with installing(there, engines, lock=lock):
            already = able = await built_in(there, folder)
            if able is None:
                proved_on = replace(mark, cpu=mark.cpu if mark.cpu == ANY_CPU else theirs.cpu)
                able = await _carried(there, source, proved_on, engines=engines, facts=theirs, report=report)
    return await installed(there, folder, able, facts=theirs, already=already is not None, began=began)


async def _carried(there: Shell, source: Path, mark: Built, *, engines: str, facts: HostFacts, report: Report) -> Built:
    try:
        return await _land(there, source, mark, engines=engines, facts=facts, report=report)
    except EngineUnfit as error:
        raise EngineUnfit(
            f"this machine's engine does not run there: {error.message}", hint=f"{COMMAND} makes one that does"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a compiled engine asks of a host. `instructions` is empty for a build that asks the processor itself."""

    system: str
    machine: str | None
    instructions: frozenset[str]
    glibc: tuple[int, int] | None


def misfit(needs: Needs, backend: Backend, there: HostFacts) -> str | None:
    """Why an engine cannot or should not run on a host; None when nothing speaks against trying."""
    if (needs.system, needs.machine) != (there.system, there.machine):
        return f"built for {needs.system} {needs.machine}, the host is {there.system} {there.machine}"
    if missing := sorted(needs.instructions - there.instructions) if there.instructions else []:
        return f"its processor lacks {', '.join(missing)}, and the build uses all that ours has"
    if needs.glibc and there.glibc is None:
        return f"built for glibc {_dotted(needs.glibc)}, the host has another C library"
    if needs.glibc and there.glibc and there.glibc < needs.glibc:
        return f"built for glibc {_dotted(needs.glibc)}, the host has {_dotted(there.glibc)}"
    gpus = [gpu.name for gpu in there.gpus if gpu.driver and gpu.vendor != "intel"]
    if backend == "cpu" and gpus:
        return f"built for the CPU, and {', '.join(gpus)} would stay idle"
    return None


def glibc_needed(folder: Path) -> tuple[int, int] | None:
    """The newest version of glibc's symbols that the engine's files name; None when they name none."""
    found = [0]
    for name in engine_files(folder)[0]:
        if not (folder / name).stat().st_size:
            continue  # nothing to map
        with (folder / name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found += [int(symbol[1]) for symbol in _GLIBC.finditer(content)]
    return (2, max(found)) if max(found) else None


async def _mark(here: Shell, engine: FoundEngine, *, cpu: str) -> Built:
    """What is known of an engine. A mark is believed in our own cache, under its own name, and nowhere else."""
    folder = Path(engine.folder)
    if engine.source == "cache" and engine.built and engine.built.key == folder.name:
        return engine.built
    return await _own_mark(here, folder, cpu=cpu)


async def _own_mark(here: Shell, folder: Path, *, cpu: str) -> Built:
    """A mark for an engine that the user brought: nobody wrote down how it was built."""
    able = await capability(here, folder)
    token = await smoke.generate_one(here, folder)
    backend: Backend = next((_BACKENDS[name] for name in token.backends if name in _BACKENDS), "cpu")
    identity = hashlib.sha256((await asyncio.to_thread(_digest, folder)).encode()).hexdigest()[:8]
    return Built(
        key=f"b{able.build or 0}-{backend}-{identity}",
        build=able.build,
        commit=able.commit,
        backend=backend,
        flags=(),
        cpu=cpu,
        compiler=able.compiler,
        protocol=able.protocol,
        source_sha256=None,
        built_at=datetime.now(UTC),
    )


def _digest(folder: Path) -> str:
    names, _ = engine_files(folder)
    return " ".join(f"{name} {file_sha256(folder / name)}" for name in names)


async def _land(shell: Shell, source: Path, mark: Built, *, engines: str, facts: HostFacts, report: Report) -> Built:
    """Send, prove, name; the mark as it then stands there."""
    async with landing(shell, engines, mark, prover(shell, facts, report)) as folder:

        async def look_at_worker() -> None:
            banner = await worker_banner(shell, PurePosixPath(folder))
            if banner.protocol is None:
                raise EngineUnfit(f"{folder}: its worker names no RPC protocol", hint=COMMAND)

        await carry(shell, source, folder, report=report, look=look_at_worker)
    return await built_in(shell, f"{engines}/{mark.key}") or mark


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
