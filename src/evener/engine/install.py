"""The errand of `evener engine install`: choose, fetch, compile, prove, land. Idempotent and resumable."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evener.engine import smoke
from evener.engine.build import NEEDED_BYTES, Recipe, Workshop, compile_engine, demand_disk, fitting_jobs, land
from evener.engine.capability import demand
from evener.engine.choice import choose, demand_tools
from evener.engine.host import HostFacts, look
from evener.engine.lock import install_lock
from evener.engine.resolve import read_built, size_bytes
from evener.engine.source import PIN, Pin, fetch
from evener.errors import EngineUnfit
from evener.ports import Report, Shell
from evener.records.capability import Backend, Built, Capability, Installed
from evener.records.events import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where an install works. All of them are below evener's cache."""

    engines: Path
    sources: Path
    workshops: Path


async def install(
    shell: Shell,
    *,
    folders: Folders,
    environ: Mapping[str, str],
    report: Report,
    asked: Backend | None = None,
    jobs: int | None = None,
    given: Path | None = None,
    pin: Pin = PIN,
) -> Installed:
    """Leave a proven engine for this host in the cache. `given` is a source archive the user has.

    Raises EngineError where the choice is the user's or a tool is missing, EngineBuildFailed, EngineUnfit, HostBusy.
    """
    began = time.monotonic()
    facts = await look(shell)
    choice = choose(facts, asked=asked)
    recipe = Recipe(pin=pin, choice=choice, cpu=facts.cpu)
    engine = folders.engines / recipe.key
    built = read_built(engine)
    already = built is not None
    if built is None:
        with install_lock(folders.engines):
            built = read_built(engine) or await _build(
                shell, recipe, facts=facts, folders=folders, environ=environ, report=report, jobs=jobs, given=given
            )
    try:
        check = await smoke.check(shell, engine, gpus=facts.gpus)
    except EngineUnfit as error:  # it has worked here once, or it would not have landed
        raise EngineUnfit(error.message, hint=f"rm -r {engine}, then evener engine install builds it anew") from None
    return Installed(
        folder=str(engine),
        built=built,
        already=already,
        bytes=size_bytes(engine),
        took_s=time.monotonic() - began,
        check=check,
        notes=choice.notes,
    )


async def _build(
    shell: Shell,
    recipe: Recipe,
    *,
    facts: HostFacts,
    folders: Folders,
    environ: Mapping[str, str],
    report: Report,
    jobs: int | None,
    given: Path | None,
) -> Built:
    demand_tools(facts)
    workshop = Workshop(folder=folders.workshops / recipe.key)
    workshop.folder.mkdir(parents=True, exist_ok=True)
    if not workshop.build.exists():  # a build that is resumed has its disk already
        demand_disk(workshop.folder, needed_bytes=NEEDED_BYTES[recipe.choice.backend])
    archive = await fetch(shell, pin=recipe.pin, folder=folders.sources, environ=environ, report=report, given=given)
    compiled = await compile_engine(
        shell,
        recipe,
        facts=facts,
        archive=archive,
        workshop=workshop,
        jobs=jobs or fitting_jobs(cores=len(os.sched_getaffinity(0)), memory_bytes=facts.memory_bytes),
        environ=environ,
        report=report,
    )

    async def prove(folder: Path) -> Capability:
        report(Progress(what="prove"))
        return demand((await smoke.check(shell, folder, gpus=facts.gpus)).capability)

    built = await land(compiled, recipe=recipe, engines=folders.engines, prove=prove)
    await asyncio.to_thread(shutil.rmtree, workshop.folder, ignore_errors=True)
    return built
