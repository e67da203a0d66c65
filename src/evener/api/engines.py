"""llama.cpp on this machine: found, installed, checked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evener import state
from evener.edges.local_shell import LocalShell
from evener.engine import capability as capabilities
from evener.engine import resolve, smoke
from evener.engine.host import cpu_digest, look
from evener.engine.install import Folders
from evener.engine.install import install as _install
from evener.errors import EngineError, EngineMissing
from evener.ports import Report
from evener.records.capability import Backend, Capability, EngineCheck, FoundEngine, Installed

HERE = "this machine"


class Engine(NamedTuple):
    """The engine to use: the folder of its programs, and what it can do."""

    folder: Path
    capability: Capability


async def find(engine: str | None = None) -> Engine:
    """The engine to use here and what it can do. `engine` is a folder that the user or the rig file names.

    Raises EngineMissing (with the price of an install in its hint) or EngineUnfit.
    """
    shell = LocalShell(HERE)
    folder = Path(resolve.demand(await _candidates(shell, engine)).folder)
    able = await capabilities.remembered(shell, folder, memory=_memory())
    return Engine(folder, capabilities.demand(able))


async def found(engine: str | None = None) -> tuple[FoundEngine, ...]:
    """Every engine in sight, best first, each with what it can do, or with the reason why it cannot be asked."""
    shell = LocalShell(HERE)
    return tuple([await _described(shell, one) for one in await _candidates(shell, engine)])


async def install(
    *, report: Report, backend: Backend | None = None, jobs: int | None = None, given: Path | None = None
) -> Installed:
    """Leave an engine for this machine in the cache; does nothing when it is there."""
    cache = state.cache_folder()
    folders = Folders(engines=state.engines_folder(), sources=cache / "sources", workshops=cache / "workshops")
    return await _install(
        LocalShell(HERE), folders=folders, environ=os.environ, report=report, asked=backend, jobs=jobs, given=given
    )


async def check(engine: str | None = None, *, model: Path | None = None) -> EngineCheck:
    """Prove that the engine in use works here: one token, and every GPU of the driver seen."""
    shell = LocalShell(HERE)
    chosen = resolve.demand(await _candidates(shell, engine))
    return await smoke.check(shell, Path(chosen.folder), gpus=(await look(shell)).gpus, model=model)


async def _candidates(shell: LocalShell, engine: str | None) -> tuple[FoundEngine, ...]:
    return await resolve.found(
        shell, asked=engine, environ=os.environ, engines=state.engines_folder(), cpu=await cpu_digest(shell)
    )


async def _described(shell: LocalShell, engine: FoundEngine) -> FoundEngine:
    try:
        able = await capabilities.remembered(shell, Path(engine.folder), memory=_memory())
    except EngineMissing:
        return engine  # its `why` says so already
    except EngineError as error:
        return replace(engine, why=f"{engine.why}; {error.message}")
    return replace(engine, capability=able)


def _memory() -> Path:
    return state.cache_folder() / "capabilities"
