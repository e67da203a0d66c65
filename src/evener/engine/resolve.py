"""Which engine is used on a host, and why: what the user names, then our cache, then PATH. It builds nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from evener import files
from evener.codec import from_json
from evener.dialects.llama_build import PROGRAMS, SERVER
from evener.errors import EngineMissing, RunUnreadable
from evener.ports import Shell
from evener.records.capability import ANY_CPU, Built, EngineSource, FoundEngine

_MARKS = (
    """for f in "$1"/*/engine.json; do [ -f "$f" ] && { echo "mark=${f%/engine.json}"; cat "$f"; echo; }; done; :"""
)

# A key names a folder that may be replaced: it must not be able to name anything else.
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_FOLDER = 'if [ -f "$1" ]; then cd -- "$(dirname -- "$1")"; else cd -- "$1"; fi 2>/dev/null && pwd; :'

INSTALL_HINT = "evener engine install (a CPU build takes 3 to 11 minutes on 2 cores and 1 GB of disk while it builds)"


async def found(
    shell: Shell, *, asked: str | None, environ: Mapping[str, str], engines: str, cpu: str
) -> tuple[FoundEngine, ...]:
    """Every engine in sight, in the order of preference, the one to use marked. `cpu` is this host's digest.

    `engines` is the cache's folder on that host, `environ` what its user has set. An engine that the user named and
    that is not there stays in the list, unused, and hides those after it: a wish that cannot be met is never replaced
    by something else.
    """
    candidates: list[FoundEngine] = []
    if asked:
        candidates.append(await _named(shell, asked, "argument"))
    if wish := environ.get("EVENER_ENGINE"):
        candidates.append(await _named(shell, wish, "EVENER_ENGINE"))
    candidates += await cached(shell, engines, cpu=cpu)
    if server := await shell.which(SERVER):
        candidates.append(await _engine(shell, str(PurePosixPath(server).parent), "PATH", usable=True, why="on PATH"))
    return mark_used(tuple(candidates))


def mark_used(candidates: tuple[FoundEngine, ...]) -> tuple[FoundEngine, ...]:
    """Leave `used` on one: the first usable, unless the user's own wish before it cannot be met."""
    chosen: int | None = None
    for position, engine in enumerate(candidates):
        if engine.used or engine.source in ("argument", "EVENER_ENGINE"):
            chosen = position if engine.used else None
            break
    return tuple(replace(engine, used=position == chosen) for position, engine in enumerate(candidates))


def demand(candidates: tuple[FoundEngine, ...]) -> FoundEngine:
    """The one to use. Raises EngineMissing with the reason why there is none."""
    for engine in candidates:
        if engine.used:
            return engine
        if engine.source in ("argument", "EVENER_ENGINE"):
            raise EngineMissing(f"{engine.folder} ({engine.source}): {engine.why}", hint=INSTALL_HINT)
    unfit = "; ".join(f"{PurePosixPath(engine.folder).name}: {engine.why}" for engine in candidates)
    raise EngineMissing(f"no llama.cpp engine for this machine{f' ({unfit})' if unfit else ''}", hint=INSTALL_HINT)


async def cached(shell: Shell, engines: str, *, cpu: str) -> list[FoundEngine]:
    """Engines of our cache, those for this CPU first, newest first. A folder without a good engine.json is none."""
    said = (await files.sh(shell, _MARKS, engines)).stdout
    marks = re.findall(r"^mark=(.+)\n((?:(?!mark=).*\n)*)", said, re.MULTILINE)
    builds = [(folder, built) for folder, text in marks if (built := read_built(text, folder)) is not None]
    builds.sort(key=lambda pair: (runs_on(pair[1], cpu), pair[1].built_at), reverse=True)
    return [
        await _engine(
            shell,
            folder,
            "cache",
            usable=runs_on(built, cpu),
            why=_origin(built) if runs_on(built, cpu) else "built for another CPU",
            built=built,
        )
        for folder, built in builds
    ]


def runs_on(built: Built, cpu: str) -> bool:
    """Whether a build was proved on a processor of this digest, or asks for none."""
    return built.cpu in (cpu, ANY_CPU)


async def built_in(shell: Shell, folder: str) -> Built | None:
    """The engine.json of a folder; None when there is none that can be read."""
    text = await shell.read(f"{folder}/engine.json")
    return None if text is None else read_built(text, folder)


def read_built(text: str | bytes, folder: str) -> Built | None:
    """None for what is no mark, or has a key that we would not write."""
    try:
        built = from_json(Built, text, source=f"{folder}/engine.json")
    except RunUnreadable:
        return None
    return built if KEY.fullmatch(built.key) else None


async def size_bytes(shell: Shell, folder: str) -> int | None:
    """What llama.cpp's programs in a folder take on disk; None when there are none."""
    there = await files.entries(shell, [f"{folder}/{name}" for name in PROGRAMS])
    return sum(entry.bytes for entry in there.values()) or None


def _origin(built: Built) -> str:
    return f"official release for {built.backend}" if built.cpu == ANY_CPU else f"built for {built.backend}"


async def _named(shell: Shell, wish: str, source: EngineSource) -> FoundEngine:
    """The user may name the folder or a program in it."""
    path = await files.expanded(shell, wish)
    said = await files.must(shell, _FOLDER, path, what=f"look at {path}")
    folder = said.strip() or path
    there = f"{folder}/{SERVER}" in await files.entries(shell, [f"{folder}/{SERVER}"])
    return await _engine(
        shell, folder, source, usable=there, why=f"named by {source}" if there else f"no {SERVER} in it"
    )


async def _engine(
    shell: Shell, folder: str, source: EngineSource, *, usable: bool, why: str, built: Built | None = None
) -> FoundEngine:
    return FoundEngine(
        folder=folder,
        source=source,
        used=usable,
        why=why,
        bytes=await size_bytes(shell, folder),
        built=built or await built_in(shell, folder),
    )
