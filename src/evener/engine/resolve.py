"""Which engine is used on this machine, and why: what the user names, then our cache, then PATH. It builds nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evener.codec import from_json
from evener.dialects.llama_build import PROGRAMS, SERVER
from evener.engine.capability import present
from evener.errors import EngineMissing, RunUnreadable
from evener.ports import Shell
from evener.records.capability import Built, EngineSource, FoundEngine

INSTALL_HINT = "evener engine install (a CPU build takes 3 to 11 minutes on 2 cores and 1 GB of disk while it builds)"


async def found(
    shell: Shell, *, asked: str | None, environ: Mapping[str, str], engines: Path, cpu: str
) -> tuple[FoundEngine, ...]:
    """Every engine in sight, in the order of preference, the one to use marked. `cpu` is this host's digest.

    An engine that the user named and that is not there stays in the list, unused, and hides those after it: a wish
    that cannot be met is never replaced by something else.
    """
    candidates: list[FoundEngine] = []
    for source, wish in (("argument", asked), ("EVENER_ENGINE", environ.get("EVENER_ENGINE"))):
        if wish:
            candidates.append(await _named(shell, wish, "argument" if source == "argument" else "EVENER_ENGINE"))
    candidates += await asyncio.to_thread(cached, engines, cpu=cpu)
    if server := await shell.which(SERVER):
        candidates.append(_engine(Path(server).parent, "PATH", usable=True, why="on PATH"))
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
    unfit = "; ".join(f"{Path(engine.folder).name}: {engine.why}" for engine in candidates)
    raise EngineMissing(f"no llama.cpp engine for this machine{f' ({unfit})' if unfit else ''}", hint=INSTALL_HINT)


def cached(engines: Path, *, cpu: str) -> list[FoundEngine]:
    """Engines of our cache, those for this CPU first, newest first. Blocking; a folder without a good engine.json is
    no engine."""
    builds = [(folder, built) for folder in sorted(engines.glob("[!.]*")) if (built := read_built(folder)) is not None]
    builds.sort(key=lambda pair: (pair[1].cpu == cpu, pair[1].built_at), reverse=True)
    return [
        _engine(
            folder,
            "cache",
            usable=built.cpu == cpu,
            why=f"built here for {built.backend}" if built.cpu == cpu else "built for another CPU",
            built=built,
        )
        for folder, built in builds
    ]


def read_built(folder: Path) -> Built | None:
    """The engine.json of a folder; None when there is none that can be read."""
    mark = folder / "engine.json"
    try:
        return from_json(Built, mark.read_bytes(), source=str(mark))
    except (OSError, RunUnreadable):
        return None


def size_bytes(folder: Path) -> int | None:
    """What llama.cpp's programs in a folder take on disk; None when there are none."""
    return sum((folder / name).stat().st_size for name in PROGRAMS if (folder / name).is_file()) or None


async def _named(shell: Shell, wish: str, source: EngineSource) -> FoundEngine:
    folder = await asyncio.to_thread(_folder_meant, wish)
    there = SERVER in await present(shell, folder)
    return _engine(folder, source, usable=there, why=f"named by {source}" if there else f"no {SERVER} in it")


def _folder_meant(wish: str) -> Path:
    """The user may name the folder or a program in it."""
    path = Path(wish).expanduser().absolute()
    return path.parent if path.is_file() else path


def _engine(folder: Path, source: EngineSource, *, usable: bool, why: str, built: Built | None = None) -> FoundEngine:
    return FoundEngine(
        folder=str(folder),
        source=source,
        used=usable,
        why=why,
        bytes=size_bytes(folder),
        built=built or read_built(folder),
    )
