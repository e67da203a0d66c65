"""Plans of what might be: one with changes, a sweep, a grid, every quantisation, every model. Starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.api import models, plans
from evener.api.rig import Rig
from evener.errors import ConfigurationError, ModelError, NameUnknown
from evener.models.skeletons import CatalogueEntry
from evener.plan import money, notes, what_if
from evener.plan.commands import Tools
from evener.plan.money import Prices
from evener.plan.points import best_of, faulty, point, ranked
from evener.plan.what_if import Asked, World
from evener.records.card import Scan
from evener.records.plan import Plan
from evener.records.rig import Money
from evener.records.weights import Weights
from evener.records.whatif import Cost, PlanAnswer, Point, Seats, WhatIf

# What a grid asks where nobody said what: teams, and the contexts that people ask for.
GRID = {"users": ("4", "8", "12", "15"), "context": ("8192", "16384", "32768", "65536"), "kv": ("f16", "q8_0")}
GRID_QUANTS = ("Q8_0", "Q4_K_M")
# Standard mixes a step of bits apart: twice the size of Q8_0 is not asked of anybody.
QUANTS = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K", "MXFP4")
ANY = "any"
WITH_DRAFTS = "-mtp"  # how the catalogue calls a model beside the same one without its MTP blocks
ORDER = "order: quick enough for every user, then one machine before several, then more parameters"
CHOICE = "of each model the largest quantisation up to Q8_0 that fits one machine, else several"
QUALITY = "nothing here says how good the answers are, and more parameters are no promise: evener eval measures that"
ESTIMATE = "memory is an estimate here; evener plan has the engine confirm it, where there is one"
ESTIMATED = "memory of every row is an estimate; a plan of one row is confirmed by the engine, where there is one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What all points of one question share."""

    rig: Rig
    world: World
    tools: Tools
    prices: Prices

    def point(self, weights: Weights, asked: Asked, changes: Mapping[str, str]) -> Point:
        """One row. What cannot be answered is a row with its reason."""
        workload, seats = asked.workload()
        world = asked.changed(self.world)
        try:
            plan = plans.planned_for(world, weights, workload, self.tools, asked.layout, advice=False)
        except (ModelError, NameUnknown) as error:  # no closed form for its cache; no such layout with these changes
            return faulty(weights, workload, changes, error)
        return self.in_short(plan, world.scan, weights, asked, changes, seats)

    def in_short(
        self,
        plan: Plan,
        scan: Scan,
        weights: Weights,
        asked: Asked,
        changes: Mapping[str, str],
        seats: Seats | None,
    ) -> Point:
        return point(
            plan,
            rig=self.world.rig,
            scan=scan,
            prices=self.prices,
            layout=asked.layout,
            changes=changes,
            seats=seats,
            estimate=weights.estimate,
        )


def opened_rig(path: str | None, *, kwh_price: float | None = None) -> Rig:
    """The rig, with another price of energy where one was given."""
    rig = Rig.open(path)
    if kwh_price is None:
        return rig
    return Rig(replace(rig.record, money=replace(rig.record.money or Money(), kwh_price=kwh_price)))


async def plan(
    rig: Rig, model: str, asked: Asked, *, changes: Mapping[str, str], prices: Sequence[str] = (), every: bool = False
) -> PlanAnswer:
    """One plan with everything that was asked. `changes` are the options that were given, to be shown."""
    workload, seats = asked.workload()
    named = _named(model, asked.quant)
    worlds: list[World] = []

    def change(world: World) -> World:
        worlds.append(asked.changed(world))
        return worlds[-1]

    beside = await models.beside(asked.mmproj, asked.draft)
    planned = await plans.plan(rig, named, workload, layout=asked.layout, every=every, change=change, beside=beside)
    world = World(rig=worlds[-1].rig, scan=planned.scan)
    return _answer(planned.plan, world, rig, seats, changes=changes, prices=_prices(rig, prices))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A rig as it was looked at once, for many questions: a slider asks faster than any host answers."""

    rig: Rig
    scan: Scan
    tools: Tools
    _known: dict[str, Weights] = field(default_factory=dict)

    async def weights(self, name: str) -> Weights:
        """Of a model, its header read once."""
        if name not in self._known:
            self._known[name] = await models.weights(name)
        return self._known[name]


async def look(rig: Rig, scan: Scan) -> Look:
    return Look(rig=rig, scan=scan, tools=await plans.tools_of(rig, scan))


async def estimated(
    at: Look, model: str, asked: Asked, *, changes: Mapping[str, str], prices: Sequence[str] = (), advice: bool = True
) -> PlanAnswer:
    """What `plan` answers, without the engine's dry run and without another look at the rig.

    Without `advice` it says neither what a second machine buys nor ways out: in half the time.
    """
    workload, seats = asked.workload()
    beside = await models.beside(asked.mmproj, asked.draft)
    weights = beside.of(await at.weights(_named(model, asked.quant)))
    world = asked.changed(World(rig=at.rig.record, scan=at.scan))
    made = await asyncio.to_thread(
        lambda: plans.planned_for(world, weights, workload, at.tools, asked.layout, advice=advice)
    )
    said = (*made.verdict.reasons, *([weights.estimate] if weights.estimate else []), ESTIMATE)
    made = replace(made, verdict=replace(made.verdict, reasons=said))
    return _answer(made, world, at.rig, seats, changes=changes, prices=_prices(at.rig, prices))


def _answer(
    made: Plan, world: World, rig: Rig, seats: Seats | None, *, changes: Mapping[str, str], prices: Prices
) -> PlanAnswer:
    costs = _costs(made, rig, prices, seats)
    said = notes.about(made, world.rig, world.scan)
    lines = [*said, *_about(seats), *(next(iter(costs.values())).assumptions if costs else ())]
    return PlanAnswer(
        model=made.model,
        workload=made.workload,
        verdict=made.verdict,
        candidates=made.candidates,
        changes=dict(changes),
        seats=seats,
        costs=costs,
        notes=tuple(lines),
    )


async def sweep(
    rig: Rig,
    model: str,
    asked: Asked,
    axes: Mapping[str, Sequence[str]],
    *,
    prices: Sequence[str] = (),
    grid: bool = False,
    exact: bool = False,
) -> WhatIf:
    """A row for every combination of the axes' values; a grid has axes of its own where none are given."""
    if grid:
        axes = _grid_axes(model, asked, axes)
    elif asked.quant == ANY:
        axes = {**axes, "quant": await _quantisations(model)}
    wanted = [(changes, what_if.varied(asked, changes)) for changes in what_if.combinations_of(axes)]
    study = await _study(rig, prices)
    beside = await models.beside(asked.mmproj, asked.draft)
    names = dict.fromkeys(_named(model, one.quant) for _, one in wanted)
    known = {name: beside.of(await models.weights(name)) for name in names}
    points = []
    for changes, one in wanted:
        name = _named(model, one.quant)
        if exact:
            workload, seats = one.workload()
            planned = await plans.plan(rig, name, workload, layout=one.layout, change=one.changed, beside=beside)
            points.append(study.in_short(planned.plan, planned.scan, planned.weights, one, changes, seats))
        else:
            points.append(study.point(known[name], one, changes))
            await asyncio.sleep(0)  # Ctrl-C is heard between two rows
    said = () if exact else (ESTIMATED,)
    return WhatIf(
        kind="grid" if grid else "quantisations" if asked.quant == ANY else "sweep",
        rig=rig.record.path,
        axes={key: tuple(values) for key, values in axes.items()},
        points=tuple(points),
        notes=_notes(points, (*said, *_cables(study.world, (one for _, one in wanted))), money=not grid),
    )


async def suited(rig: Rig, asked: Asked, *, prices: Sequence[str] = ()) -> WhatIf:
    """Which models of the catalogue fit, each in one quantisation, ordered by place and speed."""
    if asked.mmproj or asked.draft:
        raise ConfigurationError("--mmproj and --draft belong to a model: which?", hint="name it first")
    study = await _study(rig, prices)
    wanted = [asked.quant.upper()] if asked.quant not in (None, ANY) else list(QUANTS)
    entries = await models.catalogue()
    rows = []
    for entry in (entry for entry in entries if not entry.name.lower().endswith(WITH_DRAFTS)):
        tried: list[Point] = []
        for quant in (quant for quant in wanted if quant in entry.sizes):
            weights = await models.weights(f"{entry.name}:{quant}")
            tried.append(study.point(weights, asked, {"model": f"{entry.name.lower()}:{quant}"}))
            if tried[-1].answer == "one machine":
                break
        if tried:
            rows.append(best_of(tried) or tried[-1])
    if not rows:
        raise ConfigurationError(
            f"--quant {asked.quant}: no model of the catalogue has it", hint="evener models catalogue lists them"
        )
    return WhatIf(
        kind="models",
        rig=rig.record.path,
        axes={"model": tuple(row.changes["model"] for row in ranked(rows))},
        points=ranked(rows),
        notes=_notes(
            rows,
            (CHOICE, ORDER, QUALITY, ESTIMATED, *_left_out(entries, wanted), *_cables(study.world, [asked])),
            money=False,
        ),
    )


def _cables(world: World, wanted: Iterable[Asked]) -> Iterator[str]:
    """Which hosts are in none of the rows, and what is assumed of links in any of them."""
    for asked in wanted:
        try:
            changed = asked.changed(world)
        except NameUnknown:
            continue  # its row says so
        yield from notes.left_out(changed.scan)
        yield from notes.cables(changed.rig, changed.scan)


def _left_out(entries: Iterable[CatalogueEntry], wanted: Sequence[str]) -> Iterator[str]:
    """Which models of the catalogue have no row, and why."""
    names = {entry.name.lower(): entry for entry in entries}
    drafting = [name for name in names if name.endswith(WITH_DRAFTS)]
    if drafting:
        yield f"left out: {', '.join(drafting)}: the same models, with blocks that only speculation loads"
    without = [n for n, entry in names.items() if n not in drafting and not set(wanted) & set(entry.sizes)]
    if without:
        yield f"left out: {', '.join(without)}: the catalogue has no {' or '.join(wanted)} of it"


async def _study(rig: Rig, prices: Sequence[str]) -> Study:
    scan = await rig.scan()
    tools = await plans.tools_of(rig, scan)
    return Study(rig=rig, world=World(rig=rig.record, scan=scan), tools=tools, prices=_prices(rig, prices))


def _prices(rig: Rig, texts: Sequence[str]) -> Prices:
    return money.stated_prices(rig.record) | money.read_prices(texts)


def _costs(plan: Plan, rig: Rig, prices: Prices, seats: Seats | None) -> dict[str, Cost]:
    if not prices:
        return {}
    people = seats.people if seats else plan.workload.users
    fitting = [candidate for candidate in plan.candidates if candidate.fits]
    return {c.name: money.cost(c, seats=people, prices=prices, money=rig.record.money) for c in fitting}


def _named(model: str, quant: str | None) -> str:
    """The model in another quantisation. Raises ConfigurationError where only the catalogue has others."""
    return model if quant in (None, ANY) else f"{_catalogue_name(model)}:{quant}"


def _catalogue_name(model: str) -> str:
    """Raises ConfigurationError for a model that is not of the catalogue."""
    name = model.partition(":")[0].lower()
    if name not in models.catalogue_names():
        raise ConfigurationError(
            f"--quant: {model} is what it is; other quantisations are known of the catalogue's models only",
            hint="evener models catalogue lists them",
        )
    return name


async def _quantisations(model: str) -> tuple[str, ...]:
    """Every quantisation of a model of the catalogue, the largest first."""
    name = _catalogue_name(model)
    return next(tuple(entry.sizes) for entry in await models.catalogue() if entry.name.lower() == name)


def _grid_axes(model: str, asked: Asked, axes: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """People x context x quantisation x KV, each as it was given, else as usual."""
    usual: dict[str, Sequence[str]] = dict(GRID)
    if asked.profile is not None or "people" in axes:
        usual = {"people" if key == "users" else key: values for key, values in usual.items()}
    name, _, quant = model.partition(":")
    if not quant and name.lower() in models.catalogue_names():
        usual["quant"] = GRID_QUANTS
    return {**usual, **axes}


def _about(seats: Seats | None) -> list[str]:
    if seats is None:
        return []
    profile = seats.profile
    return [
        f"profile {profile.name}, assumed: {profile.why}",
        f"{seats.people} people are {seats.users} users: an answer takes {seats.answer_s:.0f} s at the profile's "
        f"limits, then {profile.think_s:.0f} s pass, so {seats.mean:.1f} of them wait on average",
    ]


def _notes(points: Iterable[Point], more: Sequence[str], *, money: bool = True) -> tuple[str, ...]:
    about = [line for one in points for line in _about(one.seats)[:1]]
    costs = [one.cost for one in points if one.cost and one.cost.hardware is not None]
    return tuple(dict.fromkeys([*more, *about, *(costs[0].assumptions if costs and money else ())]))
