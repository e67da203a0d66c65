"""The errand of `evener engine install`, on any host: choose, fetch, compile, prove, land. Idempotent and resumable."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from evener import files
from evener.engine import smoke
from evener.engine.build import NEEDED_BYTES, Recipe, Workshop, compile_engine, deliver, fitting_jobs
from evener.engine.capability import demand
from evener.engine.choice import choose, demand_tools
from evener.engine.host import HERE, HostFacts, look
from evener.engine.landing import Prove, copy_programs, landing
from evener.engine.lock import installing
from evener.engine.resolve import built_in, size_bytes
from evener.engine.source import PIN, Pin, fetch
from evener.errors import EngineError, EngineUnfit
from evener.ports import Report, Shell
from evener.records.capability import Backend, Built, Capability, Installed
from evener.records.events import Progress

COMMAND = "evener engine install"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where an install works: on its host `engines` and `workshops`, below evener's cache there; here the rest."""

    engines: str
    workshops: str
    sources: Path
    logs: Path
    lock: Path


@contextmanager
def speaking_of(host: str) -> Iterator[None]:
    """What goes wrong with the engine of another host names it, and its hints are commands for it."""
    try:
        yield
    except EngineError as error:
        if host == HERE:
            raise
        message = error.message if error.message.startswith(f"{host}: ") else f"{host}: {error.message}"
        hint = error.hint.replace(COMMAND, f"{COMMAND} --host {host}") if error.hint else None
        raise type(error)(message, hint=hint) from error


async def install(
    shell: Shell,
    *,
    here: Shell,
    folders: Folders,
    environ: Mapping[str, str],
    report: Report,
    asked: Backend | None = None,
    jobs: int | None = None,
    given: Path | None = None,
    architectures: frozenset[str] = frozenset(),
    pin: Pin = PIN,
) -> Installed:
    """Leave a proven engine for the shell's host in its cache. `given` is a source archive the user has.

    `here` fetches the source, `environ` says where this host's compilers are, `architectures` are the compute
    capabilities of the rig's other GPUs, for which the same build shall serve.
    Raises EngineError where the choice is the user's or a tool is missing, EngineBuildFailed, EngineUnfit, HostBusy.
    """
    began = time.monotonic()
    facts = await look(shell)
    choice = choose(facts, asked=asked, architectures=architectures)
    recipe = Recipe(pin=pin, choice=choice, cpu=facts.cpu)
    engine = f"{folders.engines}/{recipe.key}"
    built = await built_in(shell, engine)
    already = built is not None
    if built is None:
        demand_tools(facts)
        async with installing(shell, folders.engines, lock=folders.lock):
            built = await built_in(shell, engine)
            if built is None:
                workshop = Workshop(folder=f"{folders.workshops}/{recipe.key}", log=folders.logs / f"{recipe.key}.log")
                await _supply(
                    shell, recipe, here=here, workshop=workshop, sources=folders.sources, environ=environ,
                    report=report, given=given,
                )  # fmt: skip
                await compile_engine(
                    shell, recipe, facts=facts, workshop=workshop, environ=environ, report=report,
                    jobs=jobs or fitting_jobs(cores=facts.cores or 1, memory_bytes=facts.memory_bytes),
                )  # fmt: skip
                built = await _land(shell, recipe, facts=facts, workshop=workshop, folders=folders, report=report)
    return await installed(shell, engine, built, facts=facts, already=already, began=began, notes=choice.notes)


async def _supply(
    shell: Shell,
    recipe: Recipe,
    *,
    here: Shell,
    workshop: Workshop,
    sources: Path,
    environ: Mapping[str, str],
    report: Report,
    given: Path | None,
) -> None:
    """Room and source in the workshop."""
    if workshop.build not in await files.entries(shell, [workshop.build]):  # resumed, it has its disk already
        needed = NEEDED_BYTES[recipe.choice.backend]
        await files.demand_room(shell, workshop.folder, needed_bytes=needed, what="building")
    archive = await fetch(here, pin=recipe.pin, folder=sources, environ=environ, report=report, given=given)
    await deliver(shell, recipe.pin, archive, workshop, report=report)


async def _land(
    shell: Shell, recipe: Recipe, *, facts: HostFacts, workshop: Workshop, folders: Folders, report: Report
) -> Built:
    mark = Built(
        key=recipe.key,
        build=recipe.pin.build,
        commit=recipe.pin.commit,
        backend=recipe.choice.backend,
        flags=recipe.flags,
        cpu=recipe.cpu,
        compiler=None,
        protocol=None,
        source_sha256=recipe.pin.sha256,
        built_at=datetime.now(UTC),
    )
    async with landing(shell, folders.engines, mark, prover(shell, facts, report)) as folder:
        await copy_programs(shell, workshop.programs, folder)
    await files.remove(shell, workshop.folder)
    workshop.log.unlink(missing_ok=True)
    return await built_in(shell, f"{folders.engines}/{recipe.key}") or mark


def prover(shell: Shell, facts: HostFacts, report: Report) -> Prove:
    """A smoke test that the engine must pass before it lands."""

    async def prove(folder: str) -> Capability:
        report(Progress(what="prove"))
        return demand((await smoke.check(shell, PurePosixPath(folder), gpus=facts.gpus)).capability)

    return prove


async def installed(
    shell: Shell,
    engine: str,
    built: Built,
    *,
    facts: HostFacts,
    already: bool,
    began: float,
    notes: tuple[str, ...] = (),
) -> Installed:
    """What is there now, proved once more."""
    try:
        check = await smoke.check(shell, PurePosixPath(engine), gpus=facts.gpus)
    except EngineUnfit as error:  # it has worked here once, or it would not have landed
        raise EngineUnfit(error.message, hint=f"rm -r {engine}, then {COMMAND} builds it anew") from None
    return Installed(
        folder=engine,
        built=built,
        already=already,
        bytes=await size_bytes(shell, engine),
        took_s=time.monotonic() - began,
        check=check,
        notes=notes,
    )
