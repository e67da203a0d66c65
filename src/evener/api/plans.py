"""Plan a model on a rig: look, read the header, decide. Starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from evener.api import exact, models
from evener.api.models import Beside
from evener.api.rig import Rig
from evener.errors import DoesNotFit, HostError, ModelMissing, NameUnknown
from evener.plan.candidates import Question, judged, make_plan
from evener.plan.commands import Tools
from evener.plan.figures import CLUSTER
from evener.plan.memory import drafting
from evener.plan.reach import beside_files
from evener.plan.stated import ram_speeds
from evener.plan.verdict import best_alone
from evener.plan.what_if import World
from evener.records.card import Scan
from evener.records.plan import Candidate, Plan, Verdict, Workload
from evener.records.weights import Weights
from evener.together import together

NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with what it was made from."""

    rig: Rig
    scan: Scan
    weights: Weights
    plan: Plan

    def chosen(self) -> Candidate:
        """The candidate of the verdict. Raises DoesNotFit when there is none."""
        verdict = self.plan.verdict
        found = self.plan.candidate(verdict.choice) if verdict.choice else None
        if found is None:
            raise DoesNotFit(verdict.sentence, hint="; or ".join(verdict.ways_out[:3]) or None)
        return found

    def require_file(self) -> None:
        """Raise ModelMissing for a model that is known by its header alone: it can be planned, not run."""
        if self.weights.origin != "file":
            where = "behind its URL" if self.weights.origin == "remote" else "in the catalogue"
            raise ModelMissing(
                f"{self.weights.name}: only its header is known, {where}",
                hint="evener models fetch brings the model here",
            )
        for what, path in beside_files(self.weights).items():
            if not Path(path).is_file():
                raise ModelMissing(
                    f"{self.rig.record.head.name} has no file {path}: the {what} is known by its header alone",
                    hint="evener models fetch brings it here",
                )

    def alone(self) -> Candidate | None:
        """The single machine that would do best, None when the model needs several."""
        return best_alone(self.plan.candidates, self.plan.workload.aim)


Change = Callable[[World], World]


async def plan(
    rig: Rig,
    model: str,
    workload: Workload,
    *,
    layout: str = "auto",
    every: bool = False,
    change: Change | None = None,
    one_server: bool = False,
    beside: Beside = NOTHING_BESIDE,
) -> Planned:
    """Look at the rig now and plan `model` (a path, "demo", a URL, or a name of `models list` or the catalogue).

    With an engine on this machine its own dry run confirms the candidate that is chosen, or `every` one.
    `change` is what would be different; a plan with one is not for bringing up. `one_server` takes no layout that
    needs several servers, and raises ConfigurationError where one is asked for. `beside` is what stands beside the
    model.
    """
    opened, scan = await asyncio.gather(models.opened(model), rig.scan())
    weights = beside.of(await asyncio.to_thread(opened.weights))
    tools = await tools_of(rig, scan, model, beside_files(weights).values())
    world = World(rig=rig.record, scan=scan)
    world = change(world) if change else world
    others = await models.alternatives(weights)

    def asked(weights: Weights) -> Question:
        return replace(_question(world, weights, workload, tools), others=others, one_server=one_server)

    found = await exact.program(scan)
    if found is None:
        made = await asyncio.to_thread(_made, asked(weights), layout)
        return Planned(rig=rig, scan=world.scan, weights=weights, plan=_with_notes(made, weights, world.scan))
    async with AsyncExitStack() as files:
        ask = await files.enter_async_context(exact.asking(found, opened, weights, workload))
        draft = None
        if beside.draft is not None and weights.draft is not None:
            asked_of = exact.asking(found, beside.draft, weights.draft, drafting(workload))
            draft = await files.enter_async_context(asked_of)
        weights = await exact.with_caches(await exact.with_projector(weights, ask), workload, ask)
        made = await asyncio.to_thread(_made, asked(weights), layout)

        def judge(candidates: Sequence[Candidate]) -> Verdict:
            return judged(asked(weights), candidates, layout=layout)

        made = await exact.confirmed(made, weights, ask, scan=world.scan, judge=judge, every=every, draft=draft)
    return Planned(rig=rig, scan=world.scan, weights=weights, plan=_with_notes(made, weights, world.scan))


async def launchable(
    rig: Rig, model: str, workload: Workload, *, layout: str, mmproj: str | None = None, draft: str | None = None
) -> Planned:
    """The plan that `up` takes: one server, and beside the model what is named. Raises ModelMissing for what is not."""
    beside = await models.beside(mmproj, draft)
    return await plan(rig, model, workload, layout=layout, one_server=True, beside=beside)


async def tools_of(rig: Rig, scan: Scan, model: str | None = None, beside: Collection[str] = ()) -> Tools:
    """What command lines need beside a plan. `model`, and files `beside` it, are looked for on far hosts."""
    found = [(file, await _copies(rig, scan, file)) for file in beside]
    return Tools(
        engines={h.name: h.engine.folder for h in scan.hosts if h.engine},
        ports=await rig.free_ports(),
        models=await _copies(rig, scan, model) if model else {},
        beside={(host, file): path for file, copies in found for host, path in copies.items()},
        near_ports=await rig.tunnel_ports(),
    )


def _with_notes(plan: Plan, weights: Weights, scan: Scan) -> Plan:
    """The plan, which says what stands beside the model, what is an estimate, and which hosts nobody has looked at."""
    beside = [f"projector {weights.projector.name}"] if weights.projector else []
    beside += [f"draft model {weights.draft.name}"] if weights.draft else []
    also = [f"beside the model: {' and '.join(beside)}"] if beside else []
    stated = [f"{h.name}: {h.fault}" for h in scan.hosts if h.connection == "stated" and h.fault]
    estimate = [weights.estimate] if weights.estimate else []
    reasons = (*plan.verdict.reasons, *also, *estimate, *stated, *_measured_when(scan))
    return replace(plan, verdict=replace(plan.verdict, reasons=reasons))


def _measured_when(scan: Scan) -> list[str]:
    """How old the measurements are that the speeds rest on, the oldest of each kind."""
    kinds = {
        "cards": [card.speed.taken_at for card in scan.speeds if card.speed.taken_at],
        "links": [link.taken_at for link in scan.links],
    }
    return [
        f"{kind} as measured on {min(times):%Y-%m-%d at %H:%M} UTC; --fresh measures again"
        for kind, times in kinds.items()
        if times
    ]


async def _copies(rig: Rig, scan: Scan, model: str) -> dict[str, str | None]:
    """Where each far host that answered has the model: at the same path, in its folder, or nowhere."""
    shells = rig.shells()
    far = [h for h in rig.record.hosts if h.connection == "ssh" and (seen := scan.host(h.name)) and seen.machine_id]
    try:
        found = await together(models.where(model, host, shells[host.name]) for host in far)
    except (ModelMissing, HostError):  # not even here yet; or a host that has gone meanwhile
        return {}
    return {host.name: where for host, where in zip(far, found, strict=True)}


def planned_for(
    world: World,
    weights: Weights,
    workload: Workload,
    tools: Tools,
    layout: str,
    *,
    advice: bool = True,
    one_server: bool = False,
) -> Plan:
    """The plan without any dry run. Raises NameUnknown for a layout that is none, HostError for one out of reach."""
    question = replace(_question(world, weights, workload, tools), one_server=one_server)
    return _made(question, layout, advice=advice)


def _question(world: World, weights: Weights, workload: Workload, tools: Tools) -> Question:
    return Question(
        rig=world.rig,
        scan=world.scan,
        weights=weights,
        workload=workload,
        tools=tools,
        measured=ram_speeds(world.rig) | {(card.host, card.card): card.speed for card in world.scan.speeds},
    )


def _made(question: Question, layout: str, *, advice: bool = True) -> Plan:
    try:
        return make_plan(question, layout=layout, advice=advice)
    except NameUnknown:
        _require_in_reach(question.scan, layout)
        raise


def _require_in_reach(scan: Scan, layout: str) -> None:
    """Raises HostError when `layout` would exist if a host answered."""
    for seen in scan.hosts:
        needs = layout == seen.name or layout.startswith(CLUSTER)
        if seen.connection == "ssh" and seen.machine_id is None and needs:
            raise HostError(f"--layout {layout}: {seen.name}: {seen.fault}", hint="evener scan shows the whole rig")
