"""Carry a model to another host: by rsync where both have it, else through the Shell. Resumable, checked there.

What an interrupted push leaves is a `.part` file, whose name carries the content's hash: pieces of two files never mix.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from evener import files
from evener.errors import HostError
from evener.models.hashes import sha256_of
from evener.ports import Child, Report, Shell
from evener.records.events import Progress
from evener.together import background

SPARE_BYTES = 1 << 30  # a host with a full disk is no help to anybody
LOOK_EVERY_S = 1.0
OLDEST_RSYNC = (3, 1)  # openrsync calls itself 2.6.9, and knows few options
AGAIN = "the same command goes on where it stopped"
STILL_FOR_S = 60  # how long nothing may arrive


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How rsync reaches a host: "me@beta:" and the ssh command for it, in `env`; all empty for this machine."""

    to: str = ""
    ssh: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What `evener models push` left behind. `by` is "rsync", "stream", or "nothing" when all was there already."""

    host: str
    paths: tuple[str, ...]
    bytes: int
    by: str
    took_s: float
    unchecked: tuple[str, ...] = ()  # where the host has no tool to compute a hash: size alone was compared


async def push(
    here: Shell, there: Shell, paths: Sequence[Path], *, folder: str, rsync: Way | None, report: Report
) -> Pushed:
    """Every part in `folder` on the host of `there`. `rsync` is None when rsync cannot reach it; where it fails before
    the first byte, the Shell carries all.

    Raises HostError: no room, no connection, a damaged arrival, another file of the same name.
    """
    began = time.monotonic()
    sizes = {path: path.stat().st_size for path in paths}
    targets = {path: f"{folder}/{path.name}" for path in paths}
    lacking = await _lacking(there, sizes, targets, report)
    hashes = {path: await sha256_of(path, report=report) for path in lacking}
    parts = {path: f"{targets[path]}.{hashes[path][:12]}.part" for path in lacking}
    begun = sum(entry.bytes for entry in (await files.entries(there, list(parts.values()))).values())
    if lacking:
        needed = sum(sizes[path] for path in lacking) - begun + SPARE_BYTES
        await files.demand_room(there, folder, needed_bytes=needed, what=paths[0].name)
        await files.make_folder(there, folder)
    way = rsync if rsync and lacking and await _both_have_rsync(here, there) else None
    unchecked = []
    for path in lacking:
        if way and not await _by_rsync(here, there, path, parts[path], way=way, report=report):
            way = None
        if way is None:
            await files.send(there, path, parts[path], what=path.name, report=report)
        if not await _arrived_whole(there, parts[path], sha256=hashes[path], size=sizes[path], report=report):
            unchecked.append(targets[path])
        await files.rename(there, parts[path], targets[path])
    return Pushed(
        host=there.host,
        paths=tuple(targets.values()),
        bytes=sum(sizes.values()),
        by=("rsync" if way else "stream") if lacking else "nothing",
        took_s=time.monotonic() - began,
        unchecked=tuple(unchecked),
    )


async def _lacking(there: Shell, sizes: dict[Path, int], targets: dict[Path, str], report: Report) -> list[Path]:
    """What the host does not have. Raises HostError when it has another file under one of the names."""
    held = await files.entries(there, list(targets.values()))
    lacking = []
    for path, target in targets.items():
        if target not in held:
            lacking.append(path)
            continue
        same = held[target].bytes == sizes[path]
        if same and (found := await files.sha256(there, target, bytes=sizes[path])) is not None:
            same = found == await sha256_of(path, report=report)
        if not same:
            raise HostError(
                f"{there.host}: {target} is there and is another file ({held[target].bytes} bytes, ours {sizes[path]})",
                hint="another model of the same name? move or delete the one there",
            )
    return lacking


async def _arrived_whole(there: Shell, part: str, *, sha256: str, size: int, report: Report) -> bool:
    """False where nobody can compute a hash. Raises HostError for a damaged file, which goes."""
    report(Progress(what="check", detail=f"{part.rsplit('/', 1)[-1]} on {there.host}"))
    arrived = await files.size_bytes(there, part)
    found = await files.sha256(there, part, bytes=size)
    if arrived != size or found not in (None, sha256):
        await files.remove(there, part)
        raise HostError(f"{there.host}: {part} arrived damaged", hint="run the same command again")
    return found is not None


async def _both_have_rsync(here: Shell, there: Shell) -> bool:
    return all([await _rsync_version(shell) >= OLDEST_RSYNC for shell in (here, there)])


async def _rsync_version(shell: Shell) -> tuple[int, int]:
    try:
        said = await shell.run(["rsync", "--version"], within_s=files.WITHIN_S)
    except HostError:
        return (0, 0)
    found = re.match(r"rsync +version v?(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


async def _by_rsync(here: Shell, there: Shell, source: Path, part: str, *, way: Way, report: Report) -> bool:
    """False when rsync failed and nothing arrived. The size that grows at the other end is the progress.

    Raises HostError when it broke off, the disk is full, or nothing more arrives.
    """
    before = await files.size_bytes(there, part) or 0
    remote = ["-e", way.ssh] if way.to else []
    argv = ["rsync", "--append", "--partial", "--protect-args", f"--timeout={STILL_FOR_S}", *remote, "--"]
    child = await here.start([*argv, str(source), f"{way.to}{part}"], env=way.env)
    said: list[str] = []
    still = asyncio.Event()
    try:
        async with background(_watch(child, there, part, source, report, still)):
            async for line in child.lines():
                said.append(line)
            code = await child.wait()
    finally:
        await child.stop()
    if code == 0:
        return True
    if still.is_set():
        raise HostError(f"{there.host}: {part}: nothing has arrived for {STILL_FOR_S:g} s", hint=AGAIN)
    full = any("No space left" in line or "Disk quota exceeded" in line for line in said)
    if not full and (await files.size_bytes(there, part) or 0) == before:
        return False
    why = "the disk is full" if full else next((line for line in said if line.strip()), f"rsync ended with {code}")
    raise HostError(f"{there.host}: cannot write {part}: {why}", hint=AGAIN)


async def _watch(child: Child, there: Shell, part: str, source: Path, report: Report, still: asyncio.Event) -> None:
    """Tell how much has arrived. Sets `still` and ends rsync when that stands still below the whole."""
    now, size = asyncio.get_running_loop().time, source.stat().st_size
    arrived, since = -1, now()
    while True:
        with suppress(HostError):  # rsync itself says what is wrong
            done = await files.size_bytes(there, part) or 0
            report(Progress(what=source.name, done=done, of=size))
            arrived, since = (arrived, since) if arrived == done < size else (done, now())
        if now() - since > STILL_FOR_S:
            still.set()
            await child.stop()
            return
        await asyncio.sleep(LOOK_EVERY_S)
