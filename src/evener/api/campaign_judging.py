"""The judges of a campaign: after its candidates have answered. One that is loaded here comes after everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from evener.api import campaign_cards, campaign_files, campaign_units, judges, plans
from evener.api.campaign_folder import LOAD
from evener.api.campaign_visits import Sitting, what_stops
from evener.api.session import Session, supervise
from evener.errors import EvenerError, Interrupted
from evener.launch.bring_up import Up
from evener.plan.what_if import Asked
from evener.records.campaign import CampaignState, JudgeAsked

LOCAL = "local"
JUDGED = "judged"  # the fact: a unit whose answers one judge is done with
INTERRUPTED = "interrupted"
PROBES, MOST_TOKENS = 12, 1024  # as `evener judge` has them


def wanted(sitting: Sitting) -> tuple[JudgeAsked, ...]:
    """The campaign's judges, those that have to be loaded here last."""
    asked = sitting.campaign.answers
    return tuple(sorted(asked.judges, key=lambda one: one.api == LOCAL)) if asked else ()


async def judged(sitting: Sitting) -> None:
    """Every judge on every answer that it has not judged yet. What one cannot judge is said, and no reason to stop.

    Raises Interrupted, and what takes the campaign with it.
    """
    for judge in wanted(sitting):
        if not _left(sitting, judge):
            continue
        sitting.say({"judging": judge.name})
        try:
            await (_here(sitting, judge) if judge.api == LOCAL else _by(sitting, judge, str(judge.url)))
        except EvenerError as error:
            if what_stops(error):
                raise
            for unit in _left(sitting, judge):
                _done(sitting, judge, unit, why=campaign_units.told(error))


async def _here(sitting: Sitting, judge: JudgeAsked) -> None:
    """Load the judge where it does best, and let it judge there."""
    assert judge.model is not None
    await campaign_cards.clean(sitting.rig, wait=sitting.wait_for_cards, report=sitting.report)
    workload = Asked(users=2, context=8192).workload()[0]
    path = await campaign_files.here(judge.model, report=sitting.report)
    planned = await plans.plan(sitting.rig, path, workload, one_server=True)
    planned.require_file()
    candidate, whole = planned.chosen(), False

    async def work(session: Session, _up: Up) -> None:
        nonlocal whole
        assert session.life is not None
        session.life.enter("ready")
        await _by(sitting, judge, sitting.deployment)
        whole = True

    async def live(session: Session) -> None:
        await session.layout(candidate, lambda up: work(session, up))

    await supervise(
        planned,
        [candidate],
        live,
        what=LOAD,
        model=judge.model,
        name=sitting.deployment,
        on_message=sitting.say,
        base=sitting.journal.runs,
    )
    if not whole:
        raise Interrupted("interrupted; everything that was started has been stopped")


async def _by(sitting: Sitting, judge: JudgeAsked, door: str) -> None:
    asked = judges.JudgeAsked(
        by=door,
        model=None if judge.api == LOCAL else judge.model,
        api="anthropic" if judge.api == "anthropic" else "openai",
        api_key_env=judge.api_key_env,
        suites=judge.suites,
        probes=PROBES,
        most_tokens=MOST_TOKENS,
    )
    for unit in _left(sitting, judge):
        run = sitting.journal.state.ends[unit].run
        assert run is not None
        why = None
        try:
            found = await judges.judge(
                [str(sitting.journal.runs / run)], asked, agree=lambda _leaving: True, report=sitting.report
            )
            why = found.partial
        except EvenerError as error:
            if what_stops(error):
                raise
            why = campaign_units.told(error)
        if why == INTERRUPTED:
            raise asyncio.CancelledError
        _done(sitting, judge, unit, why=why)


def _done(sitting: Sitting, judge: JudgeAsked, unit: str, *, why: str | None) -> None:
    sitting.journal.add(JUDGED, {"judge": judge.name, "unit": unit, "why": why})


def _left(sitting: Sitting, judge: JudgeAsked) -> Sequence[str]:
    """Units whose answers this judge has still to see."""
    facts = (fact.data for fact in sitting.journal.facts if fact.kind == JUDGED)
    done = {data["unit"] for data in facts if data["judge"] == judge.name}
    return [unit for unit in answered(sitting.journal.state) if unit not in done]


def answered(state: CampaignState) -> Iterator[str]:
    """Units whose answers there are, in the order in which they were to be given."""
    for visit in state.schedule.visits:
        for unit in visit.units:
            end = state.ends.get(unit.id)
            if unit.measure == "answers" and end and end.run and end.state in ("done", "partial"):
                yield unit.id
