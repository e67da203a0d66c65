"""Give an engine its name in a host's cache: all of it under another name first, proved there, then one rename."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from evener import files
from evener.codec import to_json
from evener.dialects.llama_build import PROGRAMS, WORKER
from evener.engine.lock import LANDING
from evener.engine.resolve import KEY, built_in
from evener.errors import EngineBuildFailed, EngineError, EngineUnfit, HostError
from evener.ports import Report, Shell
from evener.records.capability import Built, Capability
from evener.together import to_the_end

SPARE_BYTES = 64 << 20  # left free beside what lands
CLEAN_WITHIN_S = 30.0
_COPY = """cd -- "$1" || exit 1; into=$2; shift 2
for f; do [ -f "$f" ] || { echo "left no $f" >&2; exit 3; }; done
cp -p -- "$@" "$into"/"""
NOTHING_THERE = 3

Prove = Callable[[str], Awaitable[Capability]]


@asynccontextmanager
async def landing(shell: Shell, engines: str, built: Built, prove: Prove) -> AsyncIterator[str]:
    """A folder to fill. When the block ends well it is proved, marked and named `engines`/KEY; else it is removed.

    A crash leaves a folder whose name starts with a dot: nobody takes it for an engine, `lock.installing` removes it.
    What has the name already and was never an engine stays. Raises EngineError.
    """
    if not KEY.fullmatch(built.key):
        raise EngineError(f"{built.key!r}: not a name for an engine")
    named = f"{engines}/{built.key}"
    folder = f"{engines}/{LANDING}{built.key}-{os.getpid()}-{secrets.token_hex(4)}"
    await _demand_ours(shell, named)
    try:
        await files.make_folder(shell, folder)
        yield folder
        able = await prove(folder)
        mark = replace(
            built,
            build=built.build or able.build,
            commit=built.commit or able.commit,
            compiler=able.compiler,
            protocol=able.protocol,
        )
        await files.write(shell, f"{folder}/engine.json", (to_json(mark, indent=2) + "\n").encode())
        await _name(shell, folder, named)
    except BaseException:
        await to_the_end(_removed(shell, folder))
        raise


async def _name(shell: Shell, folder: str, named: str) -> None:
    """Give it its name, in the place of a spoilt engine. A good one there is of another session, where nothing could be
    locked, and stays: ours is not needed."""
    if await _demand_ours(shell, named) and await built_in(shell, named) is None:
        await files.remove(shell, named)
    try:
        await files.rename(shell, folder, named)
    except HostError:
        if await built_in(shell, named) is None:
            raise
        await files.remove(shell, folder)


async def _demand_ours(shell: Shell, named: str) -> bool:
    """Whether something has the name. What landed here has had an engine.json ever since, and be it spoilt."""
    there = await files.entries(shell, [named, f"{named}/engine.json"])
    if list(there) == [named]:
        raise EngineError(
            f"{shell.host}: {named} is there and is no engine of evener's", hint="move it away, or delete it"
        )
    return bool(there)


async def _removed(shell: Shell, folder: str) -> None:
    """Best effort: a host that cannot be reached any more keeps a folder that the next install removes."""
    with suppress(HostError, TimeoutError):
        async with asyncio.timeout(CLEAN_WITHIN_S):
            await files.remove(shell, folder)


async def copy_programs(shell: Shell, built_in: str, folder: str) -> None:
    """Copy a build's programs, on its own host. Raises EngineBuildFailed when one is missing."""
    done = await files.sh(shell, _COPY, built_in, folder, *PROGRAMS, within_s=300)
    if done.code == NOTHING_THERE:
        raise EngineBuildFailed(f"the build ended well and {done.stderr.strip()}", hint="evener engine install, again")
    if done.code != 0:
        raise EngineBuildFailed(f"{shell.host}: cannot copy the programs to {folder}: {done.stderr.strip()}")


async def carry(
    shell: Shell, source: Path, folder: str, *, report: Report, look: Callable[[], Awaitable[object]]
) -> None:
    """Send the files of `source`, a folder here, to `folder` on the shell's host.

    Libraries first, then the worker, small and soon there; `look` may then refuse before the large rest is sent.
    """
    names, links = engine_files(source)
    whole = sum((source / name).stat().st_size for name in names)
    await files.demand_room(shell, folder, needed_bytes=whole + SPARE_BYTES, what="the engine")
    sent = 0
    for name in names:
        await files.send(shell, source / name, f"{folder}/{name}", what="send", report=report, before=sent, of=whole)
        await files.must(shell, 'chmod 755 "$1"', f"{folder}/{name}", what=f"make {name} a program")
        sent += (source / name).stat().st_size
        if name == WORKER:
            for link, target in links:
                await files.must(shell, 'ln -sf -- "$2" "$1"', f"{folder}/{link}", target, what=f"link {link}")
            await look()


def engine_files(folder: Path) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What makes up an engine: files in the order of sending, and links (name, target), all of one folder.

    A library's link to its neighbour stays a link; any other is the file that it leads to. Raises EngineUnfit when no
    worker is among them.
    """
    wanted = [path for path in folder.iterdir() if path.name in PROGRAMS or is_library(path.name)]
    found = {path.name: path for path in wanted if path.is_file()}
    links = {name: target for name, path in found.items() if (target := _neighbour(path)) in found}
    plain = [name for name in found if name not in links]
    if WORKER not in plain:
        raise EngineUnfit(f"{folder}: no {WORKER} in it", hint="name the folder that llama.cpp's programs are in")
    order = sorted(plain, key=lambda name: (not is_library(name), name != WORKER, name))
    return tuple(order), tuple(links.items())


def _neighbour(path: Path) -> str:
    """The name that a library's link leads to in its own folder; empty for all else."""
    if not (path.is_symlink() and is_library(path.name)):
        return ""
    target = path.parent / path.readlink()
    return target.name if target.parent.resolve() == path.parent.resolve() else ""


def is_library(name: str) -> bool:
    """libllama.so, libggml-cpu-haswell.so.0.9, libggml.dylib; and Metal's shaders, which lie beside them."""
    return name.endswith((".so", ".dylib", ".metal", ".metallib")) or ".so." in name
