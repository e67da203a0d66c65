"""`evener bench context`: four ceilings of a running server, and on request the third one by really loading."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evener import __version__
from evener.api import borrowing, measure, models
from evener.api.bench_eyes import EYES, Eyes, Watching, as_conditions, into
from evener.bench import ceilings
from evener.bench.client import base_url
from evener.bench.context import Asked, ContextBench, stated
from evener.bench.probe import Server, probe
from evener.edges.run_folder import RunFolder
from evener.errors import EvenerError, ModelError
from evener.journeys.reload import load_once
from evener.launch.bring_up import Up
from evener.plan.room import at_context, longest_held
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.context_limits import Ceiling, ContextResult, Reload
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.plan import Workload
from evener.records.run import Stage, Summary
from evener.records.telemetry import Telemetry
from evener.records.weights import Weights

__all__ = ["Asked", "Eyes", "Measured", "context", "require_ours"]

OPTION = "--reload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer, what it holds for, and the run folder (None when nothing was to be saved)."""

    result: ContextResult
    conditions: Conditions
    path: Path | None
    telemetry: Telemetry | None = None  # of the hosts, while it was measured through the server


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ours:
    """A deployment of ours, and what its plan was made from. `predicted` is the longest context that its cards hold."""

    deployment: Deployment
    weights: Weights
    workload: Workload
    predicted: Ceiling


def require_ours(named: str | None) -> Deployment:
    """The deployment that would be stopped and loaded again. Raises ConfigurationError where there is none."""
    return borrowing.require_ours(measure.target(named).ours, OPTION)


async def context(
    named: str | None,
    asked: Asked,
    *,
    reload: bool = False,
    api_key_env: str | None = None,
    save: bool = True,
    eyes: Eyes = EYES,
    report: Report,
    base: Path | None = None,
) -> Measured:
    """Measure `named` (a URL or a deployment) into a new run folder under `base`.

    With `reload` the deployment leaves its machines afterwards, longer contexts are loaded there one after the other,
    from the predicted one on, and it comes back as it was, whatever happens. When the caller is cancelled (Ctrl-C),
    what was measured is saved and returned, with `result.partial` = "interrupted". Raises what `bench.probe` raises,
    ConfigurationError for lengths that do not fit, and HostError when the folder cannot be written.
    """
    target = measure.target(named, api_key_env=api_key_env)
    deployment = borrowing.require_ours(target.ours, OPTION) if reload else target.ours
    report(Progress(what="asking the server"))
    server = await probe(target.url, asked.load(), api_key=target.api_key)
    ceilings.ladder(asked.lengths, limit=server.context, room=asked.room)
    async with server.line() as line:
        said = await stated(line, server)
    ours = await _known(deployment) if deployment else None
    report(Progress(what="asking the server", done=1, of=1))
    conditions = replace(measure.as_known(_conditions(server, asked), target), ambient_c=eyes.ambient_c)
    watching = Watching(target, eyes, report=report)
    await watching.check_client(1)
    folder = measure.new_folder("context", conditions, base=base) if save else None
    layout = target.ours.candidate.name if target.ours else str(target.url)
    measure.begin_layout(folder, layout)

    def answered(answer: dict[str, Any]) -> None:
        if folder is not None:
            folder.fact("answer", answer)
            measure.so_far(folder, layout, context=bench.result(measure.CUT_OFF))

    bench = ContextBench(
        server,
        asked,
        allocation=_allocation(ours, server),
        ceilings=(*said.ceilings(), ours.predicted if ours else _UNKNOWN),
        keep=lambda request: folder.requests([request]) if folder else None,
        on_answer=answered,
        report=report,
    )
    async with watching.watching(into(folder)):
        result = watching.checked(await _or_partial(bench.run(), bench))
        told = watching.told()
    if ours is not None:
        result = replace(result, label=ours.deployment.candidate.name)
        if reload and result.partial is None:
            result = await _reloaded(result, ours, target.api_key, folder, report)
    if folder is not None:
        stage = Stage(layout=layout, context=result, telemetry=told)
        folder.finish(Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=result.partial))
    return Measured(
        result=result,
        conditions=as_conditions(conditions, told),
        path=folder.path if folder else None,
        telemetry=told,
    )


_UNKNOWN = Ceiling(name="memory", tokens=None, why="not our deployment: nobody here knows its memory")


async def _or_partial(work: Awaitable[ContextResult], bench: ContextBench) -> ContextResult:
    try:
        return await work
    except asyncio.CancelledError:
        measure.not_cancelled()
        return bench.result(measure.INTERRUPTED)


def _conditions(server: Server, asked: Asked) -> Conditions:
    """What is known about a server from outside. A deployment of ours knows more."""
    seen = measure.users_conditions(server, asked.load())
    left_out = ("max_tokens", "max_completion_tokens", "ignore_eos")
    return replace(
        seen,
        users=1,
        sampling={name: value for name, value in seen.sampling.items() if name not in left_out},
        client=f"evener {__version__}, one question at a time",
    )


async def _known(deployment: Deployment) -> _Ours:
    """What memory ought to hold of a deployment's own layout. Raises HostError when its run is gone."""
    plan = borrowing.run_of(deployment).plan
    beside = await models.beside(deployment.projector, deployment.draft)
    weights = beside.of(await models.weights(deployment.model_path))
    workload = plan.workload if plan else Workload(context=deployment.context, users=deployment.users)
    return _Ours(
        deployment=deployment, weights=weights, workload=workload, predicted=_predicted(deployment, weights, workload)
    )


def _predicted(deployment: Deployment, weights: Weights, workload: Workload) -> Ceiling:
    try:
        tokens = longest_held(deployment.candidate, weights, workload)
    except ModelError as error:
        return Ceiling(name="memory", tokens=None, why=error.message)
    if tokens is None:
        return Ceiling(
            name="memory", tokens=None, why="not predicted: what its devices offer or its cache is not known"
        )
    whole = weights.context_train is not None and tokens + 256 > weights.context_train
    why = "predicted: its cards hold the whole trained window" if whole else "predicted by the plan's own arithmetic"
    return Ceiling(name="memory", tokens=tokens, at_least=whole, why=why)


def _allocation(ours: _Ours | None, server: Server) -> str:
    """What all of it holds for, in words."""
    if ours is None:
        slots = f" ({server.slots} slots)" if server.slots else ""
        return f"the allocation of this server{slots}"
    work, candidate = ours.workload, ours.deployment.candidate
    layers = ", ".join(f"{d.host}/{d.card_name} {d.layers}" for d in candidate.devices)
    users = "1 user" if work.users == 1 else f"{work.users} users"
    kv = work.kv_type_k if work.kv_type_k == work.kv_type_v else f"{work.kv_type_k}/{work.kv_type_v}"
    return f"this allocation ({candidate.name}: {layers} layers; {users}, {kv} cache)"


# ---- really loading


async def _reloaded(
    result: ContextResult, ours: _Ours, api_key: str | None, folder: RunFolder | None, report: Report
) -> ContextResult:
    """The answer with what loads have shown; what stopped them is in `partial`."""
    loads: list[Reload] = []
    partial: str | None = None
    try:
        await _search(ours, api_key, folder, report, loads)
    except asyncio.CancelledError:
        measure.not_cancelled()
        partial = measure.INTERRUPTED
    except EvenerError as error:
        partial = f"{OPTION}: {error.message}"
    found = ceilings.memory_of(ours.predicted, loads, running=ours.workload.context, trained=ours.weights.context_train)
    return replace(ceilings.with_memory(result, found, tuple(loads)), partial=partial)


async def _search(
    ours: _Ours, api_key: str | None, folder: RunFolder | None, report: Report, loads: list[Reload]
) -> None:
    """Load one context after the other, into `loads`. The deployment is back when this returns or raises."""
    deployment = ours.deployment
    world = borrowing.world_beside(deployment, folder=folder, report=report)
    extra = borrowing.extra_flags(deployment)

    async def prove(up: Up) -> None:
        await probe(base_url(up.url), Asked().load(), api_key=api_key)

    async with borrowing.borrowed(deployment, report=report):
        while (tokens := _next(ours, loads)) is not None:
            report(Progress(what=f"loading {tokens} tokens per user", done=0, of=1))
            candidate = at_context(deployment.candidate, ours.weights, ours.workload, tokens)
            size = ours.weights.file_bytes
            one = await load_once(candidate, world, context=tokens, model_bytes=size, extra=extra, prove=prove)
            loads.append(one)
            if folder:
                folder.fact("reloaded", {"context": tokens, "held": one.held, "load_s": one.load_s, "why": one.why})
            report(Progress(what=f"loading {tokens} tokens per user", done=1, of=1))


def _next(ours: _Ours, loads: list[Reload]) -> int | None:
    return ceilings.next_context(
        loads, running=ours.workload.context, predicted=ours.predicted.tokens, trained=ours.weights.context_train
    )
