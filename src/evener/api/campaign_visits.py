"""One visit of a campaign: cards clean, cool, planned, up, verified, measured unit by unit, down, freed.

What goes wrong with a contestant is its result. What goes wrong with the world - cards that somebody holds, a host that
is gone, a disk that is full - stops the campaign, which goes on where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evener.api import campaign_cards, campaign_files, campaign_regime, campaign_units
from evener.api.bench_eyes import EYES, Eyes
from evener.api.campaign_cards import Cards
from evener.api.campaign_evidence import differing, evidence_of, still_held
from evener.api.campaign_folder import LOAD, Journal
from evener.api.campaign_units import Measuring
from evener.api.deployments import checked
from evener.api.plans import Planned
from evener.api.rig import Rig
from evener.api.session import OnMessage, Session, ports_free, supervise
from evener.codec import to_data
from evener.errors import (
    CannotRun,
    ConfigurationError,
    DeviceMissing,
    DoesNotFit,
    EndpointError,
    EngineMissing,
    EngineUnfit,
    EvenerError,
    HostBusy,
    HostError,
    HostUnreachable,
    Interrupted,
    LaunchError,
    PortTaken,
)
from evener.launch.bring_up import Up
from evener.plan.what_if import World, linked
from evener.records.campaign import Campaign, Contestant, Unit, UnitEnd, Visit, VisitEnd, VisitState
from evener.records.card import Scan
from evener.records.events import Progress
from evener.records.plan import Candidate
from evener.together import until

WORLD = (HostBusy, HostUnreachable, PortTaken, EngineMissing, EngineUnfit, Interrupted)
ATTEMPTS = 2  # what dies once may have been killed; what dies twice is a result
BACK_WITHIN_S = 600.0  # how long a host may be away, e.g. while it starts again
LOOK_EVERY_S = 5.0
DEATH_IS_KNOWN_WITHIN_S = 5.0
THE_LOAD = "the load"  # what a visit died at, where it was no unit
_NOTHING = Scan(taken_at=datetime.min.replace(tzinfo=UTC), hosts=(), devices=())


class OverBudget(Exception):
    """The time is used up: what there is is the result."""


@dataclass(kw_only=True)
class Sitting:
    """One session of a campaign: the world it measures in, and who hears of it."""

    journal: Journal
    campaign: Campaign
    rig: Rig
    say: OnMessage
    wait_for_cards: bool = False
    eyes: Eyes = EYES
    require_time: Callable[[Unit | Visit], None] = lambda _next: None  # raises OverBudget
    over: dict[str, Rig] = field(default_factory=dict)  # cable -> the rig with that one alone

    @property
    def deployment(self) -> str:
        """What its deployments are called: in every session the same, so that an evaluation finds its server again."""
        return f"compare-{self.journal.id.rpartition('-')[2]}"

    def report(self, progress: Progress) -> None:
        self.say({"progress": to_data(progress)})

    def contestant(self, name: str) -> Contestant:
        return next(one for one in self.campaign.contestants if one.name == name)

    def rig_over(self, cable: str | None) -> Rig:
        """The rig, with this one of its cables alone between its two hosts."""
        if cable is None:
            return self.rig
        if cable not in self.over:
            nothing_seen = World(rig=self.rig.record, scan=_NOTHING)
            self.over[cable] = Rig(linked(nothing_seen, cable).rig)
        return self.over[cable]

    def todo(self, visit: Visit) -> tuple[Unit, ...]:
        ends = self.journal.state.ends
        return tuple(unit for unit in visit.units if unit.id not in ends)


async def made(visit: Visit, sitting: Sitting) -> None:
    """Make one visit, or what is left of it; its end is in the journal when this returns.

    Raises OverBudget, Interrupted, CardsHeld or another HostBusy, HostUnreachable for a host that stays away, and
    HostError for a full disk: then it has no end, and is gone on with.
    """
    journal = sitting.journal
    if visit.why_not is not None:
        journal.visit_ended(VisitEnd(visit=visit.id, state="does not fit", why=visit.why_not))
        return
    sitting.require_time(visit)
    journal.add("visit begun", {"visit": visit.id})
    begun = time.monotonic()
    contestant = sitting.contestant(visit.contestant)
    try:
        how = _loaded if contestant.is_ours else _as_it_is
        end = await how(visit, contestant, sitting)
    except DoesNotFit as error:
        end = VisitEnd(visit=visit.id, state="does not fit", why=error.message)
    except (CannotRun, ConfigurationError, Interrupted) as error:
        if what_stops(error):
            raise
        end = VisitEnd(visit=visit.id, state="failed", why=campaign_units.told(error))
    journal.visit_ended(replace(end, seconds=round(time.monotonic() - begun, 1)))


def what_stops(error: EvenerError) -> bool:
    """Whether it is no fault of what is measured: it would be the same for the next one."""
    return isinstance(error, WORLD) or error.message.startswith("cannot write")


async def _as_it_is(visit: Visit, contestant: Contestant, sitting: Sitting) -> VisitEnd:
    """A server that runs already."""
    assert contestant.url is not None
    for unit in sitting.todo(visit):
        sitting.require_time(unit)
        sitting.journal.unit_ended(await campaign_units.measured(unit, _where(visit, sitting, contestant.url)))
    ends = sitting.journal.state.ends
    fates = [ends[unit.id] for unit in visit.units]
    if fates and all(end.state == "failed" for end in fates):
        return VisitEnd(visit=visit.id, state="failed", why=fates[0].why)
    return VisitEnd(visit=visit.id, state="done")


def _where(visit: Visit, sitting: Sitting, target: str) -> Measuring:
    return Measuring(
        journal=sitting.journal,
        campaign=sitting.campaign,
        contestant=sitting.contestant(visit.contestant),
        visit=visit,
        target=target,
        eyes=sitting.eyes,
        report=lambda progress: sitting.report(progress),
    )


# ---- what we load ourselves


@dataclass(kw_only=True)
class _Load:
    """One load of a visit as it goes: what is up, which unit is being measured."""

    session: Session | None = None
    unit: Unit | None = None
    was_up: bool = False
    whole: bool = False  # everything that was to be measured has an end
    stop: BaseException | None = None  # what ended it that is no fault of the load

    @property
    def run(self) -> Path | None:
        return self.session.folder.path if self.session else None


async def _loaded(visit: Visit, contestant: Contestant, sitting: Sitting) -> VisitEnd:
    rig = sitting.rig_over(visit.cable)
    died: Counter[str] = Counter()
    while True:
        scan = await campaign_cards.clean(rig, wait=sitting.wait_for_cards, report=sitting.report)
        cards = Cards()
        if sitting.campaign.cool:
            cards = await campaign_cards.cool(rig, scan, sitting.journal, sitting.report)
        candidate: Candidate | None = None
        load = _Load()
        try:
            planned, candidate = await campaign_files.planned(
                rig, sitting.campaign, contestant, visit, report=sitting.report
            )
            conditions = await campaign_regime.of(planned, candidate, cards.temperatures_c, report=sitting.report)
            campaign_regime.told(visit, conditions, sitting.journal)
            await _up(load, planned, candidate, visit, contestant, sitting)
        except (LaunchError, HostError, EndpointError) as error:
            if what_stops(error) and not isinstance(error, HostUnreachable):
                raise
            await _require_hosts(rig, candidate, sitting)
            at = load.unit.id if load.unit else THE_LOAD
            died[at] += 1
            if (end := _died(load, error, visit, sitting, last=died[at] >= ATTEMPTS)) is not None:
                return end
            continue
        return _ended(load, visit, cards.still_warm)


def _died(load: _Load, error: EvenerError, visit: Visit, sitting: Sitting, *, last: bool) -> VisitEnd | None:
    """A part of it has died: None to load it again. The unit that it died at twice has failed, and the others go on."""
    evidence = tuple(evidence_of(load.run)) if load.run else ()
    if load.unit is None and (last or is_too_large(error) or isinstance(error, DeviceMissing)):
        state: VisitState = "does not fit" if is_too_large(error) else "failed"
        end = _ended(load, visit, ())
        return replace(end, state=state, why=campaign_units.told(error), evidence=evidence)
    if load.unit is not None and last:
        ended = UnitEnd(
            unit=load.unit.id,
            visit=visit.id,
            state="failed",
            why=f"what served it died, {ATTEMPTS} times: {error.message}",
            evidence=evidence,
        )
        sitting.journal.unit_ended(ended)
    if load.run is not None:
        sitting.journal.set_aside(load.run)
    sitting.report(Progress(what="loading again", detail=error.message))
    return None


def is_too_large(error: EvenerError) -> bool:
    """Whether the engine gave up for want of memory: then what was planned to fit does not."""
    return isinstance(error, LaunchError) and any(word in error.message.lower() for word in ("allocate", "out of mem"))


async def _require_hosts(rig: Rig, candidate: Candidate | None, sitting: Sitting) -> None:
    """Wait until every host that a visit needs answers. Raises HostUnreachable for one that stays away."""
    away: list[str] = []

    async def back() -> bool | None:
        scan = await rig.scan()
        away[:] = [
            f"{seen.name}: {seen.fault or 'it does not answer'}"
            for seen in scan.hosts
            if seen.connection in ("local", "ssh")
            and seen.machine_id is None
            and (candidate is None or seen.name in candidate.hosts)
        ]
        if away:
            sitting.report(Progress(what="waiting for a host", detail="; ".join(away)))
        return None if away else True

    if await until(back, within_s=BACK_WITHIN_S, every_s=LOOK_EVERY_S) is None:
        raise HostUnreachable("; ".join(away), hint="the campaign goes on when it is back")


async def _up(
    load: _Load, planned: Planned, candidate: Candidate, visit: Visit, contestant: Contestant, sitting: Sitting
) -> None:
    """Bring it up, measure what is left of the visit, take it down. What has died is raised."""

    async def work(up: Up) -> None:
        assert load.session is not None
        assert load.session.life is not None
        load.was_up = True
        load.session.life.enter("ready")
        try:
            await _units(load, up, visit, sitting)
        except OverBudget as over:
            load.stop = over
        load.whole = load.stop is None

    async def live(session: Session) -> None:
        load.session = session
        await session.layout(candidate, work)

    await ports_free(candidate, planned.rig.shells())
    await supervise(
        planned,
        [candidate],
        live,
        what=LOAD,
        model=contestant.model or contestant.name,
        name=sitting.deployment,
        extra=checked(contestant.flags),
        on_message=sitting.say,
        base=sitting.journal.runs,
    )
    if load.stop is not None:
        raise load.stop
    if not load.whole:  # a supervisor that is asked to end while it serves ends well, and here that is a break
        raise Interrupted("interrupted; everything that was started has been stopped")


async def _units(load: _Load, up: Up, visit: Visit, sitting: Sitting) -> None:
    for unit in sitting.todo(visit):
        sitting.require_time(unit)
        load.unit = unit
        end = await campaign_units.measured(unit, _where(visit, sitting, sitting.deployment))
        if end.state != "done":
            await _require_alive(up)
        if end.state == "failed" and load.run is not None:
            end = replace(end, evidence=tuple(evidence_of(load.run)))
        sitting.journal.unit_ended(end)
        load.unit = None


async def _require_alive(up: Up) -> None:
    """A client may hear of a death before its supervisor does. Raises ChildDied."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DEATH_IS_KNOWN_WITHIN_S):
            raise await up.fault()


def _ended(load: _Load, visit: Visit, warm: Sequence[str]) -> VisitEnd:
    stage = load.session.stages[-1] if load.session and load.session.stages else None
    checks, freed = (stage.checks, stage.freed) if stage else ((), ())
    notes = [*differing(checks), *still_held(freed), *(f"began on a warm card: {card}" for card in warm)]
    return VisitEnd(
        visit=visit.id,
        state="done",
        run=load.run.name if load.run else None,
        why="; ".join(notes) or None,
        load_s=stage.load_s if stage else None,
        checks=checks,
        freed=freed,
    )
