"""Under which conditions each visit is made, and what changed ones mean for what was measured before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evener.api import models
from evener.api.campaign_folder import Journal
from evener.api.plans import Planned
from evener.campaign.regime import Made, changes
from evener.codec import from_data, to_data
from evener.journeys.conditions import conditions_of
from evener.ports import Report
from evener.records.campaign import Changed, Visit
from evener.records.conditions import Conditions
from evener.records.plan import Candidate

CONDITIONS = "conditions"  # the fact that holds a visit's


async def of(planned: Planned, candidate: Candidate, temperatures_c: dict[str, float], *, report: Report) -> Conditions:
    """What could change a number, before the load. `temperatures_c` are the cards', by host/card."""
    paths = planned.weights.paths
    here = all(Path(path).is_file() for path in paths)
    known = conditions_of(
        planned.rig.record,
        planned.scan,
        planned.weights,
        planned.plan.workload,
        candidate,
        sha256=await models.sha256(paths, report=report) if here else None,
    )
    used = {f"{device.host}/{device.card_name}" for device in candidate.devices}
    return replace(known, temperatures_c={card: (c, c) for card, c in temperatures_c.items() if card in used})


def told(visit: Visit, conditions: Conditions, journal: Journal) -> tuple[Changed, ...]:
    """Write down a visit's conditions, and what of them is not as it was; the journal forgets what is made anew."""
    found = changes(Made(visit=visit, conditions=conditions), list(_made(visit, journal)), journal.state.changed)
    for change in found:
        journal.add("changed", {"changed": to_data(change)})
    journal.add(CONDITIONS, {"visit": visit.id, "conditions": to_data(conditions)})
    if any(change.again for change in found):
        journal.sweep()
    return found


def _made(now: Visit, journal: Journal) -> Iterator[Made]:
    """The visits that count, in the order in which they were begun; this one too, where it was cut."""
    state, latest = journal.state, dict[str, Conditions]()
    for fact in journal.facts:
        if fact.kind == CONDITIONS:
            id_ = fact.data["visit"]
            latest.pop(id_, None)  # made again, it comes last
            latest[id_] = from_data(Conditions, fact.data[CONDITIONS], source=str(journal.path))
        elif fact.kind == "changed":
            for id_ in fact.data["changed"]["again"]:
                latest.pop(id_, None)
    for id_, conditions in latest.items():
        visit = state.schedule.visit(id_)
        if visit is not None and (id_ in state.visit_ends or id_ == now.id):
            yield Made(visit=visit, conditions=conditions)
