"""Plans confirmed by the engine of this machine: wires its dry run with stand-in workers and header-only files."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from evener.api import engines
from evener.dialects import llama_flags as flags
from evener.edges.local_shell import LocalShell
from evener.edges.stand_in import StandIns
from evener.errors import EngineError, HostError
from evener.models.parts import Opened
from evener.models.sparse import write_sparse
from evener.plan import dry_run, dry_run_beside, ram
from evener.plan.dry_run import Asking
from evener.records.card import Scan
from evener.records.plan import Candidate, Plan, Verdict, Workload
from evener.records.weights import Weights
from evener.together import together

HERE = "this machine"

Judge = Callable[[Sequence[Candidate]], Verdict]


async def program(scan: Scan) -> str | None:
    """llama-fit-params of the engine that the scan found on this machine, or of any other here; None without one."""
    folders = [Path(h.engine.folder) for h in scan.hosts if h.engine and h.connection == "local"]
    try:
        folder = folders[0] if folders else (await engines.find()).folder
    except (EngineError, HostError):
        return None
    path = folder / flags.DRY_RUN
    return str(path) if await asyncio.to_thread(path.is_file) else None


@asynccontextmanager
async def asking(found: str, opened: Opened, weights: Weights, workload: Workload) -> AsyncIterator[Asking]:
    """What dry runs of this model are made with; its files are gone with the block."""
    with tempfile.TemporaryDirectory(prefix="evener-") as folder:
        files = await asyncio.to_thread(
            write_sparse,
            opened,
            Path(folder),
            vocabulary=weights.vocabulary,
            short_rows=dry_run.short_rows(weights, workload),
        )
        yield Asking(
            shell=LocalShell(HERE), stand_ins=StandIns(), program=found, full=str(files.full), short=str(files.short)
        )


async def with_projector(weights: Weights, ask: Asking) -> Weights:
    """The weights with what the engine says of their projector; the estimate stands where it says nothing."""
    projector, server = weights.projector, Path(ask.program).with_name(flags.SERVER)
    if projector is None or not await asyncio.to_thread(lambda: server.is_file() and Path(projector.path).is_file()):
        return weights
    try:
        seeing = await dry_run_beside.measured_projector(projector, ask, server=str(server))
    except (EngineError, HostError) as error:
        return replace(weights, estimate="; ".join(filter(None, (weights.estimate, error.message))))
    return replace(weights, projector=seeing)


async def with_caches(weights: Weights, workload: Workload, ask: Asking) -> Weights:
    """The weights with their caches measured, where these have no closed form."""
    if weights.attention is not None:
        return weights
    return replace(weights, slot_cache_bytes=await dry_run.measured_caches(weights, workload, ask))


async def confirmed(
    plan: Plan,
    weights: Weights,
    ask: Asking,
    *,
    scan: Scan,
    judge: Judge,
    every: bool = False,
    draft: Asking | None = None,
) -> Plan:
    """The plan with the engine's figures for the chosen candidate, or for `every` one; `draft` asks of a draft model.

    The verdict is given anew with them; when it falls on another candidate, that one is confirmed too. Where the
    engine's dry run fails the estimate stands, and the verdict's reasons say so. Raises EngineError for `every`.
    """
    room = asyncio.Semaphore(os.cpu_count() or 1)  # a rig of many cards has many candidates
    done: set[str | None] = {None}
    while plan.verdict.choice not in done:
        asked = {c.name for c in plan.candidates if every or c.name == plan.verdict.choice} - done
        done |= {*asked, plan.verdict.choice}
        confirming = (
            _confirmed(c, weights, plan.workload, ask, scan, room, draft) if c.name in asked else _as_it_is(c)
            for c in plan.candidates
        )
        try:
            candidates = tuple(await together(confirming))
        except (EngineError, HostError) as error:
            if every:
                raise
            reasons = (*plan.verdict.reasons, f"memory is an estimate: {error.message}")
            return replace(plan, verdict=replace(plan.verdict, reasons=reasons))
        plan = replace(plan, candidates=candidates, verdict=judge(candidates))
    return plan


async def _as_it_is(candidate: Candidate) -> Candidate:
    return candidate


async def _confirmed(
    candidate: Candidate,
    weights: Weights,
    workload: Workload,
    ask: Asking,
    scan: Scan,
    room: asyncio.Semaphore,
    draft: Asking | None,
) -> Candidate:
    kinds = {card.id: card.kind for host in scan.hosts for card in host.cards}
    async with room:
        done = await dry_run.confirm(candidate, weights, workload, ask, kinds=kinds)
        if draft is not None and weights.draft is not None:
            done = await dry_run_beside.with_draft(done, weights.draft, workload, draft, kinds=kinds)
    return ram.within_ram(done, scan)
