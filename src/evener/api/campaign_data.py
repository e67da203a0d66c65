"""A campaign's folder, read: its journal, its runs, what its answers prove, and what its cards cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evener.api import campaign_canary, eval_stories
from evener.api.campaign_folder import RUNS, WHAT
from evener.api.verdicts import verdicts
from evener.campaign import journal
from evener.edges import run_folder
from evener.edges.run_folder import RunData
from evener.errors import ConfigurationError, EvenerError, RunUnreadable
from evener.evals import canary
from evener.evals.canary import Compared
from evener.plan import money
from evener.records.answers import Answer
from evener.records.campaign import CampaignData, CampaignRun, Visit
from evener.records.plan import DevicePlan
from evener.records.rig import Money, Rig
from evener.records.verdicts import CanaryVerdict, Verdicts
from evener.report.campaign.parts import Hardware, Known, Prices
from evener.report.evals_parts import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A campaign, and what is known beside it."""

    data: CampaignData
    known: Known


def is_campaign(data: RunData) -> bool:
    return data.run.what == WHAT


def read(folder: RunData | Path, *, prices: Mapping[str, float] | None = None, kwh_price: float | None = None) -> Read:
    """Whatever a campaign has left so far, finished or not. A run of it that cannot be read is named and left out.

    `prices` are of cards, by name; those of rig.toml count where none is given, and so does its price of a kWh.
    Raises RunUnreadable for a folder that holds no campaign, or one that was never planned.
    """
    opened = folder if isinstance(folder, RunData) else run_folder.open_run(folder)
    if not is_campaign(opened):
        raise RunUnreadable(f"{opened.path} is a run of {opened.run.what} and no campaign", hint="evener report RUN")
    state = journal.state_of(opened.facts)
    notes: list[str] = []
    units = _runs(opened.path, {end.unit: end.run for end in state.ends.values()}, notes)
    loads = _runs(opened.path, {end.visit: end.run for end in state.visit_ends.values()}, notes)
    data = CampaignData(
        id=opened.run.id,
        state=state,
        started_at=opened.run.started_at,
        ended_at=opened.summary.ended_at if opened.summary else None,
        partial=opened.summary.partial if opened.summary else None,
        conditions=opened.run.conditions,
        units=units,
        loads=loads,
    )
    found, candidates = _verdicts(opened.path, data, notes)
    known = Known(
        verdicts=found,
        candidates=candidates,
        canaries=_canaries(opened.path, data, notes),
        judged=_judged(opened.path, data, notes),
        prices=_prices(data, opened.run.rig, prices or {}, kwh_price),
        notes=tuple(dict.fromkeys(notes)),
    )
    return Read(data=data, known=known)


# ---- runs


def _runs(base: Path, wanted: Mapping[str, str | None], notes: list[str]) -> dict[str, CampaignRun]:
    """Each id's run, as far as it can be read."""
    found = {}
    for id_, run_id in wanted.items():
        if run_id is None:
            continue
        path = base / RUNS / run_id
        try:
            run, summary = run_folder.open_head(path)
        except RunUnreadable as error:
            notes.append(f"{id_}: {error.message}")
            continue
        files = tuple(sorted(one.name for one in path.iterdir() if one.is_file()))
        found[id_] = CampaignRun(unit=id_, run=run, summary=summary, files=files)
    return found


# ---- answers


def _verdicts(base: Path, data: CampaignData, notes: list[str]) -> tuple[Verdicts | None, dict[str, str]]:
    """What the answers prove; and each candidate's contestant, by its run."""
    owners = dict(_answers_of(data))
    if not owners:
        return None, {}
    try:
        found = verdicts([base / RUNS / run_id for run_id in owners])
    except ConfigurationError as error:  # a single candidate, or other questions for each
        if len(owners) > 1:
            notes.append(error.message)
        return None, {}
    except EvenerError as error:
        notes.append(error.message)
        return None, {}
    return found, {name: owners[run_id] for name, run_id in found.runs.items() if run_id in owners}


def _answers_of(data: CampaignData) -> Iterable[tuple[str, str]]:
    """(run, contestant) of every evaluation that came to its end, in the order of the schedule."""
    for visit in data.state.schedule.visits:
        for unit in visit.units:
            run = data.units.get(unit.id)
            if unit.measure == "answers" and run and run.summary and any(s.evaluation for s in run.summary.stages):
                yield run.run.id, visit.contestant


def _canaries(base: Path, data: CampaignData, notes: list[str]) -> dict[str, tuple[CanaryVerdict, ...]]:
    """Of each contestant: every layout against the first, with what one of the two differs from itself."""
    asked: dict[str, dict[str, list[list[Answer]]]] = {}
    for visit in data.state.schedule.visits:
        for unit in visit.units:
            if unit.measure == "canary" and unit.id in data.units:
                try:
                    said = run_folder.read_answers(base / RUNS / data.units[unit.id].run.id)
                except RunUnreadable as error:
                    notes.append(f"{unit.id}: {error.message}")
                    continue
                asked.setdefault(visit.contestant, {}).setdefault(_layout(visit), []).append(list(said))
    return {name: found for name, layouts in asked.items() if (found := tuple(_compared(layouts)))}


def _layout(visit: Visit) -> str:
    parts = [visit.candidate or visit.layout or visit.contestant, visit.cable]
    return ", ".join(part for part in parts if part)


def _compared(layouts: Mapping[str, Sequence[Sequence[Answer]]]) -> Iterable[CanaryVerdict]:
    first, *others = layouts
    for other in others:
        itself = campaign_canary.itself(tuple(layouts[first][0])) or _again(layouts[first]) or _again(layouts[other])
        across = canary.compare(layouts[first][0], layouts[other][0])
        yield canary.canary_verdict(first, other, across, itself)


def _again(asked: Sequence[Sequence[Answer]]) -> Compared | None:
    """A layout against itself, in another block."""
    return canary.compare(asked[0], asked[1]) if len(asked) > 1 else None


def _judged(base: Path, data: CampaignData, notes: list[str]) -> dict[str, tuple[Judged, ...]]:
    """What judges said of each contestant's answers."""
    found: dict[str, tuple[Judged, ...]] = {}
    for run_id, contestant in _answers_of(data):
        try:
            told = eval_stories.read(run_folder.open_run(base / RUNS / run_id))
        except EvenerError as error:
            notes.append(error.message)
            continue
        if told and told.judged:
            found[contestant] = told.judged
    return found


# ---- money


def _prices(data: CampaignData, own: Rig | None, stated: Mapping[str, float], kwh_price: float | None) -> Prices | None:
    """None where nothing is known of money at all."""
    rigs = [rig for rig in (own, *(load.run.rig for load in data.loads.values())) if rig]
    known = {name: price for rig in rigs for name, price in money.stated_prices(rig).items()} | dict(stated)
    words = next((rig.money for rig in rigs if rig.money), None) or Money()
    per_kwh = kwh_price if kwh_price is not None else words.kwh_price
    if not known and per_kwh is None:
        return None
    hardware = {visit: _hardware(devices, known) for visit, devices in _devices(data)} if known else {}
    return Prices(
        currency=words.currency,
        kwh_price=per_kwh,
        hardware=hardware,
        years=money.LIFE_YEARS,
        hours_per_year=money.HOURS_PER_YEAR,
        load=money.LOAD,
    )


def _devices(data: CampaignData) -> Iterable[tuple[str, tuple[DevicePlan, ...]]]:
    """The cards of each load, a processor left out."""
    for visit in data.state.schedule.visits:
        load = data.loads.get(visit.id)
        candidate = load.run.plan.candidate(visit.candidate) if load and load.run.plan and visit.candidate else None
        if candidate:
            yield visit.id, tuple(device for device in candidate.devices if device.card != "cpu")


def _hardware(devices: Sequence[DevicePlan], prices: Mapping[str, float]) -> Hardware:
    found = [(device.card_name, money.price_of(device.card_name, prices)) for device in devices]
    missing = tuple(dict.fromkeys(name for name, price in found if price is None))
    total = sum(price for _, price in found if price is not None)
    return Hardware(price=None if missing or not found else total, missing=missing)
