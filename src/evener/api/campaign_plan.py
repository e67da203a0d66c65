"""`evener compare --dry-run`: a campaign file read, and every step of it planned. Fetches, loads and writes nothing.

Plans are made without the engine's own dry run, so that a laptop can make them; each load is confirmed by it before it
begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evener import config, profiles
from evener.api import campaign_models, eval_plans, evals, models, plans, quantising
from evener.api.campaign_models import ModelKnown
from evener.api.campaign_placing import placement
from evener.api.campaign_units import CANARY, CANARY_TOKENS
from evener.api.deployments import checked
from evener.api.rig import Rig
from evener.campaign.eliminate import fits_budget
from evener.campaign.first_campaign import first_campaign
from evener.campaign.placement import Placement, Wish
from evener.campaign.predict import Suites
from evener.campaign.schedule import schedule, speeds_prove, wishes
from evener.config.campaign import Known, campaign_schema, load_campaign, parse_campaign
from evener.edges.writing import write_whole
from evener.errors import (
    BadHeader,
    CampaignFileError,
    ConfigurationError,
    HostUnreachable,
    ModelError,
    ModelMissing,
)
from evener.evals.suites import SHIPPED
from evener.models.caches import ENCODERS
from evener.models.shelf import Held
from evener.plan.commands import Tools
from evener.plan.what_if import Asked, World
from evener.ports import Report
from evener.records.campaign import AnswersAsked, Campaign, Contestant, Fetch, Schedule
from evener.records.card import Scan
from evener.records.evaluation import EvalAsked
from evener.records.events import Progress
from evener.records.plan import Plan, Workload
from evener.records.weights import Weights

__all__ = ["Prepared", "prepare", "read", "require_real", "schema", "write_first"]

CLUSTER, REPLICAS = "cluster", "replicas"
NO_REPLICAS = "a copy does not fit on each of several machines"
NO_SUCH_LAYOUT = "the plan has no such layout for it"
SERVERS_OF_SEVERAL = (CLUSTER, REPLICAS)  # layouts that a rig of one machine does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A campaign that could begin: what its file says, word for word, and everything that will be done."""

    campaign: Campaign
    text: str
    rig: Rig
    scan: Scan
    schedule: Schedule


def schema() -> dict[str, Any]:
    """JSON Schema of campaign.toml."""
    return campaign_schema()


def read(file: Path, *, rig: str | None = None, budget_s: float | None = None) -> Campaign:
    """The campaign of a file, with `rig` and `budget_s` in place of its own. Raises CampaignFileError with every
    fault."""
    known = Known(suites=SHIPPED, profiles={name: _exchange(name) for name in profiles.PROFILES})
    campaign = load_campaign(config.or_shipped(file.expanduser()), known)
    return replace(campaign, rig=rig or campaign.rig, budget_s=budget_s or campaign.budget_s)


def require_real(prepared: Prepared) -> None:
    """What can be planned, and begun as well. Raises ConfigurationError for a rig with hosts that need not exist,
    HostUnreachable for one that does not answer, ModelMissing for models that nobody could fetch."""
    stated = [host.name for host in prepared.rig.record.hosts if host.connection == "stated"]
    if stated:
        raise ConfigurationError(
            f"{prepared.rig.record.path}: {', '.join(stated)}: stated, so that nothing can be measured there",
            hint="--dry-run plans it; a rig file without such hosts can begin",
        )
    if away := list(_away(prepared)):
        raise HostUnreachable(
            "; ".join(away), hint="the same command begins when it is back; layouts that are other hosts do without it"
        )
    nowhere = [
        one.model
        for one in prepared.schedule.fetches
        if one.how == "fetch" and not campaign_models.can_be_fetched(one.model)
    ]
    if nowhere:
        raise ModelMissing(
            f"known by their headers alone: {', '.join(nowhere)}",
            hint="evener models fetch hf:ORG/REPO:QUANT brings one here; then name its file",
        )


def _away(prepared: Prepared) -> Iterator[str]:
    """Hosts that do not answer and that a layout may need: it would be missing in all of the campaign."""
    hosts = {host.name for host in prepared.rig.record.hosts}
    layouts = prepared.campaign.layouts if any(one.is_ours for one in prepared.campaign.contestants) else ()
    for seen in prepared.scan.hosts:
        is_needed = any(layout == seen.name or layout not in hosts for layout in layouts)
        if is_needed and seen.connection == "ssh" and seen.machine_id is None:
            yield f"{seen.name}: {seen.fault or 'it does not answer'}"


def _exchange(profile: str) -> int:
    who = profiles.find(profile)
    return who.prompt_tokens + who.output_tokens


async def prepare(campaign: Campaign, *, report: Report, rig: Rig | None = None) -> Prepared:
    """Everything that will be done, in order, on `rig` where no file says another one.

    Raises CampaignFileError for names that nobody knows, all at once, and whatever looking at the rig or at far models
    raises."""
    assert campaign.path is not None
    rig = rig or Rig.open(campaign.rig)
    report(Progress(what="looking at the rig"))
    scan = await rig.scan()
    work = _Planning(campaign=campaign, rig=rig, scan=scan, tools=await plans.tools_of(rig, scan), report=report)
    await work.read()
    answered = {wish: placed async for wish, placed in work.answers()}
    work.require_sound()
    made = schedule(
        work.campaign,
        answered,
        suites=work.suites,
        fetches=tuple(work.fetches()),
        proves=work.proves,
        notes=tuple(dict.fromkeys((*work.notes, *work.about_files()))),
    )
    if work.campaign.budget_s is not None:
        made = fits_budget(made, work.campaign.budget_s)
    if any(visit.units for visit in made.visits):
        made = replace(made, proves=(*made.proves, speeds_prove(made.visits)))
    text = await asyncio.to_thread(Path(campaign.path).read_text, encoding="utf-8")
    found = rig.record.path and str(Path(rig.record.path).resolve())  # so that it is found again from elsewhere
    return Prepared(campaign=replace(work.campaign, rig=found), text=text, rig=rig, scan=scan, schedule=made)


@dataclass(kw_only=True)
class _Planning:
    """One campaign being planned. `faults` gathers what the file says and nobody knows."""

    campaign: Campaign
    rig: Rig
    scan: Scan
    tools: Tools
    report: Report
    models: dict[str, ModelKnown] = field(default_factory=dict)  # contestant -> its model
    faults: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suites: Suites = field(default_factory=Suites)
    proves: tuple[str, ...] = ()
    _plans: dict[tuple[str, int, str | None], Plan] = field(default_factory=dict)

    # ---- what the file names

    async def read(self) -> None:
        """Every model's header, the questions, the flags."""
        for one in self.campaign.contestants:
            if one.is_ours:
                await self._read(one)
        try:
            self._read_suites()
        except ConfigurationError as error:
            self.faults.append(("answers", error.message))
        self._without_what_one_machine_has_not()

    async def _read(self, one: Contestant) -> None:
        self.report(Progress(what="reading models", detail=one.name))
        try:
            checked(one.flags)
            self.models[one.name] = await campaign_models.known(one)
        except (ConfigurationError, ModelMissing, BadHeader) as error:
            self.faults.append((one.name, error.message + (f" ({error.hint})" if error.hint else "")))

    def _read_suites(self) -> None:
        canary = evals.chosen(EvalAsked(candidate="", suites=(CANARY,), sha256=()))[0]
        known = Suites(canary_tokens=float(len(canary.questions) * CANARY_TOKENS))
        if self.campaign.answers is not None:
            asked, count = _asked(self.campaign.answers), len(self.campaign.contestants)
            one = eval_plans.plan(asked, models=1, tokens_per_s=1.0)  # at one a second its seconds are its tokens
            known = replace(known, answers=one.answers, answer_tokens=60 * (one.minutes or 0.0))
            proved = eval_plans.plan(asked, models=count).suites
            self.proves = tuple(f"{row.suite}, {row.questions} questions: {row.sentence}" for row in proved)
        self.suites = known

    def _without_what_one_machine_has_not(self) -> None:
        gone = [one for one in self.campaign.layouts if one in SERVERS_OF_SEVERAL]
        left = tuple(one for one in self.campaign.layouts if one not in gone)
        if gone and len(self.rig.record.hosts) == 1:
            self.notes.append(f"the rig is one machine: no {' and no '.join(gone)}")
            self.campaign = replace(self.campaign, layouts=left or ("auto",))

    def require_sound(self) -> None:
        self._require_layouts()
        if self.faults:
            told = tuple(dict.fromkeys(self.faults))
            raise CampaignFileError(str(self.campaign.path), told, hint="evener plan MODEL shows what a rig can hold")

    # ---- what the plan answers

    async def answers(self) -> AsyncIterator[tuple[Wish, Placement]]:
        """Every wish and what it is held against, each with its placement."""
        for wish in wishes(self.campaign):
            if wish.contestant not in self.models:
                continue
            placed = await self._placed(wish)
            if placed is None:
                continue
            yield wish, placed
            for layout in (*placed.copies, *([placed.baseline] if placed.baseline else [])):
                against = replace(wish, layout=layout, cable=None)
                plan = await self._plan(wish.contestant, wish.context, None)
                if plan is not None and (candidate := plan.candidate(layout)) is not None:
                    yield against, placement(candidate, plan)

    async def _placed(self, wish: Wish) -> Placement | None:
        plan = await self._plan(wish.contestant, wish.context, wish.cable)
        if plan is None:
            return None
        if wish.layout == "auto":
            chosen = plan.candidate(plan.verdict.choice) if plan.verdict.choice else None
            if chosen is None:
                return Placement(candidate=None, why_not=plan.verdict.sentence)
            return placement(chosen, plan)
        candidate = plan.candidate(wish.layout)
        if candidate is None:
            return Placement(candidate=None, why_not=NO_REPLICAS if wish.layout == REPLICAS else NO_SUCH_LAYOUT)
        return placement(candidate, plan)

    def _require_layouts(self) -> None:
        """A layout that the plan has for no model is a slip of the pen; one that it has for others is a result."""
        known = dict.fromkeys(one.name for plan in self._plans.values() for one in plan.candidates)
        for layout in self.campaign.layouts:
            if self._plans and layout not in (*known, "auto", *SERVERS_OF_SEVERAL):
                names = ", ".join(["auto", *known])
                self.faults.append(("layouts", f'"{layout}" is no layout of this rig: one of {names}'))

    async def _plan(self, contestant: str, context: int, cable: str | None) -> Plan | None:
        key = (self._same(contestant), context, cable)
        if key not in self._plans:
            self.report(Progress(what="planning", detail=f"{contestant}, {context} tokens"))
            try:
                self._plans[key] = await self._planned(contestant, context, cable)
            except ConfigurationError as error:  # no such cable
                self.faults.append(("cables" if cable else contestant, error.message))
                return None
        return self._plans[key]

    def _same(self, contestant: str) -> str:
        """The first contestant that runs the same files: thinking changes no plan."""
        mine = self._contestant(contestant)
        return next(
            one.name
            for one in self.campaign.contestants
            if (one.model, one.quantise, one.mmproj, one.draft) == (mine.model, mine.quantise, mine.mmproj, mine.draft)
        )

    def _contestant(self, name: str) -> Contestant:
        return next(one for one in self.campaign.contestants if one.name == name)

    async def _planned(self, contestant: str, context: int, cable: str | None) -> Plan:
        one, known = self._contestant(contestant), self.models[contestant]
        asked = Asked(users=self.campaign.parallel, context=context, kv=self.campaign.kv, draft=one.draft, link=cable)
        workload, _ = asked.workload()
        world = asked.changed(World(rig=self.rig.record, scan=self.scan))
        try:
            return await asyncio.to_thread(self._quickly, world, known.weights, workload)
        except ModelError:  # a cache that only the engine can measure
            if known.how == "quantise" or one.model is None:
                raise
            planned = await plans.plan(
                self.rig, one.model, workload, change=asked.changed, one_server=True, beside=known.beside
            )
            return planned.plan

    def _quickly(self, world: World, weights: Weights, workload: Workload) -> Plan:
        return plans.planned_for(world, weights, workload, self.tools, "auto", advice=False, one_server=True)

    # ---- what has to be here

    def about_files(self) -> Iterator[str]:
        """What is an estimate, and what evener cannot fetch by itself."""
        yield from (known.weights.estimate for known in self.models.values() if known.weights.estimate)
        for one in self.campaign.contestants:
            source = self.models[one.name].source if one.name in self.models else None
            if source is not None and source.quantisation not in quantising.LOSSLESS:
                yield f"{one.name} is made of {source.quantisation}: what that has lost stays lost"
        alone = [(one.model, self.models.get(one.name)) for one in self.campaign.contestants]
        names = [model for model, known in alone if model and known and campaign_models.is_nowhere(model, known)]
        if names:
            yield (
                f"known by their headers alone: {', '.join(dict.fromkeys(names))}: before it begins, "
                "evener models fetch hf:ORG/REPO:QUANT brings them here"
            )

    def fetches(self) -> Iterator[Fetch]:
        """Each file once, for the first contestant that needs it; what is made here after what it is made of."""
        told: set[tuple[str, str | None]] = set()
        for one in self.campaign.contestants:
            known = self.models.get(one.name)
            if known is None or one.model is None or (one.model, one.quantise) in told:
                continue
            if known.source is not None and (one.model, None) not in told:
                told.add((one.model, None))
                yield campaign_models.fetch_of(one.name, one.model, known.source)
            told.add((one.model, one.quantise))
            if one.quantise is None:
                yield campaign_models.fetch_of(one.name, one.model, known.weights)
            else:
                here = known.how == "here"
                size = 0 if here else known.weights.file_bytes
                name = f"{one.model} as {one.quantise}"
                yield Fetch(contestant=one.name, model=name, bytes=size, how="here" if here else "quantise")


# ---- a first file


async def write_first(path: str | None = None, *, rig: str | None = None, force: bool = False) -> Path:
    """Write a campaign.toml for the rig and the models that are here to `path` (./campaign.toml); where it is.

    Raises ConfigurationError when the file exists, unless `force`; HostError when it cannot be written.
    """
    target = Path(path or "campaign.toml").expanduser()
    if target.exists() and not force:
        raise ConfigurationError(f"{target} exists and stays as it is", hint="--force replaces it")
    hosts = [host.name for host in Rig.open(rig).record.hosts]
    names = [one.name or one.file for one in await models.held() if _can_run(one)]
    text = first_campaign(list(dict.fromkeys(names)), hosts=hosts, file=str(target))
    parse_campaign(text, path=str(target))  # what is written can be read
    await asyncio.to_thread(write_whole, target, text)
    return target


def _can_run(one: Held) -> bool:
    """A whole model that generates text: no projector."""
    return one.problem is None and one.architecture not in (None, "clip", *ENCODERS)


def _asked(answers: AnswersAsked) -> EvalAsked:
    return EvalAsked(
        candidate="",
        suites=answers.suites,
        sha256=(),
        quick=answers.quick,
        arms=answers.arms,
        k=answers.k,
        epochs=answers.epochs,
        temperature=answers.temperature,
        most_tokens=answers.most_tokens,
    )
