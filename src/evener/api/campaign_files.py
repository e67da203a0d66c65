"""The files of a visit: fetched or made here, carried to the hosts that read them. Plans what it carries for."""

from __future__ import annotations

from evener.api import models, plans, quantising, rig_models
from evener.api.plans import Planned
from evener.api.rig import Rig
from evener.dialects import hf_hub
from evener.errors import DoesNotFit, ModelMissing
from evener.fetching import is_url
from evener.models.shelf import DEMO_NAME
from evener.plan.reach import wanted_copy
from evener.plan.what_if import Asked
from evener.ports import Report
from evener.records.campaign import Campaign, Contestant, Visit
from evener.records.plan import Candidate, Workload

MOST_COPIES = 8  # model, projector and draft model, on a few hosts


async def here(name: str, *, report: Report) -> str:
    """The path of a model on this machine, fetched where it is not here. Raises ModelMissing, FetchFailed."""
    if is_url(name) or hf_hub.is_name(name):
        return await models.fetch(name, report=report)
    if name.lower() == DEMO_NAME:
        try:
            return await models.locate(name)
        except ModelMissing:
            return await models.fetch(name, report=report)
    return await models.locate(name)


async def model_of(contestant: Contestant, *, report: Report) -> str:
    """The path of what the contestant runs, made here where its file says so."""
    assert contestant.model is not None
    path = await here(contestant.model, report=report)
    if contestant.quantise is None:
        return path
    return (await quantising.quantise(path, contestant.quantise, report=report)).path


def workload_of(campaign: Campaign, contestant: Contestant, visit: Visit) -> Workload:
    asked = Asked(users=campaign.parallel, context=visit.context, kv=campaign.kv, draft=contestant.draft)
    return asked.workload()[0]


async def planned(
    rig: Rig, campaign: Campaign, contestant: Contestant, visit: Visit, *, report: Report
) -> tuple[Planned, Candidate]:
    """The visit's plan and its candidate, with every file where it is read.

    Raises DoesNotFit with the reason, and what fetching, carrying and planning raise.
    """
    model = await model_of(contestant, report=report)
    beside = await models.beside(
        await here(contestant.mmproj, report=report) if contestant.mmproj else None,
        await here(contestant.draft, report=report) if contestant.draft else None,
    )
    assert visit.candidate is not None
    for _ in range(MOST_COPIES):
        made = await plans.plan(
            rig,
            model,
            workload_of(campaign, contestant, visit),
            layout=visit.candidate,
            one_server=True,
            beside=beside,
        )
        made.require_file()
        candidate = made.plan.candidate(visit.candidate)
        why = "the rig has no such layout any more" if candidate is None else candidate.why_not
        if candidate is not None and candidate.fits:
            return made, candidate
        lacking = wanted_copy(why or "")
        if lacking is None:
            break
        path, host = lacking
        await models.push(path, *rig_models.door(rig, host), report=report)
    raise DoesNotFit(f"{visit.candidate}: {why}")
