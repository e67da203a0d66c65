"""Ask an engine build what it can do. Nothing here listens on a port or loads a model."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path, PurePath

from evener import files
from evener.codec import from_json, to_json
from evener.dialects import llama_build
from evener.dialects.llama_build import FIT, PROGRAMS, SERVER, WORKER
from evener.errors import EngineMissing, EngineUnfit, RunUnreadable
from evener.ports import Finished, Shell
from evener.records.capability import Capability, EngineDevice
from evener.together import together

WITHIN_S = 60.0  # the first start on a GPU may take many seconds
# No host has this address, so the worker prints its banner, fails to bind, and ends (with 0, as it does).
NOWHERE = "0.0.0.256"
ILLEGAL_INSTRUCTION = (-4, 132)
CANNOT_LOAD = 127
WRONG_LIBRARY = "' not found (required by"  # glibc's loader, of a C or C++ library that is too old; it exits with 1


async def capability(shell: Shell, folder: PurePath) -> Capability:
    """Read a build's capabilities from its binaries: five short commands, some 50 ms.

    Raises EngineMissing when there is no llama-server in `folder`, EngineUnfit when it cannot run on this host.
    """
    programs = await present(shell, folder)
    if SERVER not in programs:
        raise EngineMissing(f"{folder}: no {SERVER} in it", hint="evener engine install")
    said = await ask(shell, folder, SERVER, "--version")
    version = llama_build.version(said.stdout + said.stderr)
    if version is None:
        raise EngineUnfit(
            f"{folder}/{SERVER}: its --version says nothing that can be read", hint="evener engine install"
        )
    server, fit, worker = await together(_flags(shell, folder, name, programs) for name in (SERVER, FIT, WORKER))
    banner = await worker_banner(shell, folder) if WORKER in programs else None
    protocol = banner.protocol if banner else None
    return Capability(
        folder=str(folder),
        build=version.build,
        commit=version.commit,
        compiler=version.compiler,
        protocol=protocol,
        flags=tuple(sorted(server)),
        fit_flags=tuple(sorted(fit)),
        worker_flags=tuple(sorted(worker)),
        lacks=llama_build.lacks(programs=programs, server=server, fit=fit, worker=worker, protocol=protocol),
    )


async def remembered(shell: Shell, folder: PurePath, *, memory: Path) -> Capability:
    """`capability`, asked once per build: kept here, in `memory`, under host, path, inode, size and time of each
    binary."""
    kept = memory / f"{await _stamp(shell, folder)}.json"
    try:
        return from_json(Capability, await asyncio.to_thread(kept.read_bytes), source=str(kept))
    except (OSError, RunUnreadable):
        read = await capability(shell, folder)
    await asyncio.to_thread(_remember, kept, to_json(read))
    return read


def demand(capability: Capability) -> Capability:
    """The same capability. Raises EngineUnfit when the build lacks something that evener stands on."""
    if capability.lacks:
        raise EngineUnfit(
            f"{capability.folder}: {llama_build.engine_name(capability)} lacks {', '.join(capability.lacks)}",
            hint="evener engine install builds one that has it all",
        )
    return capability


async def devices(shell: Shell, folder: PurePath) -> tuple[EngineDevice, ...]:
    """The GPUs this engine sees, in its own order. The CPU is never among them."""
    return llama_build.devices((await ask(shell, folder, SERVER, "--list-devices")).stdout)


async def worker_banner(shell: Shell, folder: PurePath) -> llama_build.Banner:
    """RPC protocol and devices of a worker, without opening a port."""
    return llama_build.banner((await ask(shell, folder, WORKER, "-H", NOWHERE)).stdout)


async def present(shell: Shell, folder: PurePath) -> frozenset[str]:
    """Which of llama.cpp's programs are in `folder`."""
    there = await files.entries(shell, [f"{folder}/{name}" for name in PROGRAMS])
    return frozenset(name for name in PROGRAMS if f"{folder}/{name}" in there)


async def ask(shell: Shell, folder: PurePath, program: str, *arguments: str, within_s: float = WITHIN_S) -> Finished:
    """Run one program of the engine to its end. Raises EngineUnfit when this host cannot execute it."""
    done = await shell.run([f"{folder}/{program}", *arguments], within_s=within_s, env=private(folder))
    if done.code in ILLEGAL_INSTRUCTION:
        raise EngineUnfit(
            f"{folder}/{program}: built for another CPU (illegal instruction on {shell.host})",
            hint="evener engine install",
        )
    if done.code == CANNOT_LOAD or (done.code == 1 and WRONG_LIBRARY in done.stderr):
        raise EngineUnfit(f"{folder}/{program}: {_last_line(done.stderr)}", hint="evener engine install")
    return done


def private(folder: PurePath) -> dict[str, str]:
    """llama.cpp reads ~/.config/llama.cpp/config.ini, which changes any option; here it finds none."""
    return {"XDG_CONFIG_HOME": str(folder / "no-config")}


async def _flags(shell: Shell, folder: PurePath, program: str, programs: frozenset[str]) -> frozenset[str]:
    if program not in programs:
        return frozenset()
    said = await ask(shell, folder, program, "--help")
    return llama_build.flags(said.stdout + said.stderr)


def _remember(kept: Path, text: str) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_suffix(f".{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(kept)


async def _stamp(shell: Shell, folder: PurePath) -> str:
    """A digest of where the binaries are, how large and how old; a missing one counts as missing."""
    there = await files.entries(shell, [f"{folder}/{name}" for name in PROGRAMS])
    marks = [shell.host, str(folder), *(f"{e.path} {e.inode} {e.bytes} {e.modified_s}" for e in there.values())]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "cannot be loaded"
