"""llama.cpp on one host, this machine unless a shell says otherwise: found, installed, carried there, checked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evener import files, state
from evener.edges.download import HttpDownloads
from evener.edges.local_shell import LocalShell
from evener.engine import adopt, resolve, smoke
from evener.engine import capability as capabilities
from evener.engine.host import HERE, cpu_digest, cuda_architectures, look
from evener.engine.install import Folders, speaking_of
from evener.engine.install import install as _install
from evener.engine.lock import LOCK
from evener.engine.release import is_engine, official
from evener.engine.source import PIN
from evener.errors import ConfigurationError, EngineError, EngineMissing
from evener.fetching import is_url
from evener.ports import Report, Shell
from evener.records.capability import Backend, Capability, EngineCheck, FoundEngine, Installed

OFFICIAL = "official"


class Engine(NamedTuple):
    """The engine to use: the folder of its programs on its host, and what it can do."""

    folder: Path
    capability: Capability


def here() -> LocalShell:
    return LocalShell(HERE)


async def find(engine: str | None = None, *, shell: Shell | None = None) -> Engine:
    """The engine to use and what it can do. `engine` is a folder that the user or the rig file names.

    Raises EngineMissing (with the price of an install in its hint) or EngineUnfit.
    """
    door = shell or here()
    with speaking_of(door.host):
        folder = Path(resolve.demand(await _candidates(door, engine)).folder)
        able = await capabilities.remembered(door, folder, memory=_memory())
        return Engine(folder, capabilities.demand(able))


async def found(engine: str | None = None) -> tuple[FoundEngine, ...]:
    """Every engine in sight, best first, each with what it can do, or with the reason why it cannot be asked."""
    shell = here()
    return tuple([await _described(shell, one) for one in await _candidates(shell, engine)])


async def install(
    *,
    report: Report,
    backend: Backend | None = None,
    jobs: int | None = None,
    given: str | None = None,
    sha256: str | None = None,
    shell: Shell | None = None,
    architectures: frozenset[str] = frozenset(),
) -> Installed:
    """Leave an engine for a host in its cache; does nothing when it is there.

    `given` is a file here or a URL: the source archive, or an official release, which "official" finds by itself.
    `architectures` are the compute capabilities of the rig's other cards. Raises EngineError, FetchFailed, HostError.
    """
    door = shell or here()
    engines = await _engines_folder(door)
    sources = state.cache_folder() / "sources"
    lock = _lock(door)
    with speaking_of(door.host):
        if releases := await _releases(door, given, backend):
            return await adopt.install_release(
                door, sources=releases, engines=engines, downloads=HttpDownloads(), kept=sources, lock=lock,
                report=report, sha256=sha256,
            )  # fmt: skip
        if sha256:
            raise ConfigurationError("--sha256 is for release archives: the source's hash is known")
        folders = Folders(
            engines=engines,
            workshops=f"{PurePosixPath(engines).parent}/workshops",
            sources=sources,
            logs=state.cache_folder() / "logs",
            lock=lock,
        )
        return await _install(
            door, here=here(), folders=folders, environ=os.environ if _is_here(door) else {}, report=report,
            asked=backend, jobs=jobs, given=Path(given) if given else None, architectures=architectures,
        )  # fmt: skip


async def push(to: Shell, *, report: Report, engine: str | None = None) -> Installed:
    """Carry this machine's engine to another host. Raises EngineUnfit with the reason why it cannot be used there."""
    shell = here()
    chosen = resolve.demand(await _candidates(shell, engine))
    with speaking_of(to.host):
        return await adopt.push(
            shell, to, engine=chosen, engines=await _engines_folder(to), lock=_lock(to), report=report
        )


async def check(engine: str | None = None, *, model: str | None = None, shell: Shell | None = None) -> EngineCheck:
    """Prove that the engine in use works: one token (of `model`, a path on that host), every GPU of the driver seen."""
    door = shell or here()
    with speaking_of(door.host):
        chosen = resolve.demand(await _candidates(door, engine))
        return await smoke.check(door, Path(chosen.folder), gpus=(await look(door)).gpus, model=model)


async def in_use(engine: str | None = None, *, shell: Shell | None = None) -> FoundEngine:
    """The engine that would be taken, with how it was built. Raises EngineMissing."""
    door = shell or here()
    with speaking_of(door.host):
        return resolve.demand(await _candidates(door, engine))


async def architectures_of(shell: Shell) -> frozenset[str]:
    """Compute capabilities of a host's NVIDIA cards."""
    return await cuda_architectures(shell)


async def _releases(shell: Shell, given: str | None, backend: Backend | None) -> tuple[str, ...]:
    """URLs or files of a release; empty when `given` is none, or the source."""
    if given is None:
        return ()
    if given == OFFICIAL:
        facts = await look(shell)
        if backend is None:
            raise ConfigurationError("--from official needs to know for what", hint="--backend vulkan, cuda, rocm, ...")
        return official(backend, system=facts.system, machine=facts.machine, build=PIN.build)
    if is_url(given):
        return (given,)
    return (given,) if is_engine(Path(given)) else ()


def _is_here(shell: Shell) -> bool:
    return isinstance(shell, LocalShell)


def _lock(shell: Shell) -> Path:
    """This machine's lock for installing on a host."""
    return state.engines_folder() / (LOCK if _is_here(shell) else f"install-{shell.host}.lock")


async def _engines_folder(shell: Shell) -> str:
    """Our cache of engines on a host. What is set in our own environment reaches no child, so it is said here."""
    return str(state.engines_folder()) if _is_here(shell) else f"{await files.cache_folder(shell)}/engines"


async def _candidates(shell: Shell, engine: str | None) -> tuple[FoundEngine, ...]:
    environ = os.environ if _is_here(shell) else {}
    return await resolve.found(
        shell, asked=engine, environ=environ, engines=await _engines_folder(shell), cpu=await cpu_digest(shell)
    )


async def _described(shell: Shell, engine: FoundEngine) -> FoundEngine:
    try:
        able = await capabilities.remembered(shell, Path(engine.folder), memory=_memory())
    except EngineMissing:
        return engine  # its `why` says so already
    except EngineError as error:
        return replace(engine, why=f"{engine.why}; {error.message}")
    return replace(engine, capability=able)


def _memory() -> Path:
    return state.cache_folder() / "capabilities"
