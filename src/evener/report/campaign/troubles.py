"""What did not fit, failed, was skipped or must not be used, with the evidence that was kept. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from evener.records.campaign import CampaignData, UnitEnd, Visit, VisitEnd
from evener.report.campaign.parts import PlaceStory, Trouble
from evener.report.campaign.places import folder_of, stage_of
from evener.report.rows import results

Kind = Literal["does not fit", "failed", "skipped", "partial", "invalid", "cut"]


def troubles(data: CampaignData, places: Sequence[PlaceStory]) -> tuple[Trouble, ...]:
    """In the order of the schedule; a load that fits nowhere is told once, whatever the block."""
    by_visit = {visit: place for place in places for visit in place.visits}
    told: dict[tuple[str, str | None], Trouble] = {}
    for visit in data.state.schedule.visits:
        for one in _of_visit(data, visit, by_visit[visit.id]):
            key = (visit.key, one.why) if one.kind == "does not fit" else (visit.id, one.unit)
            told.setdefault(key, one)
    return tuple(told.values())


def _of_visit(data: CampaignData, visit: Visit, place: PlaceStory) -> Iterator[Trouble]:
    end = data.state.visit_ends.get(visit.id)
    if visit.why_not:
        yield _trouble("does not fit", visit, place, why=visit.why_not, end=end)
    elif end and end.state != "done":
        yield _trouble(end.state, visit, place, why=end.why, end=end)
    elif end is None and data.ended_at and any(unit.id in data.state.ends for unit in visit.units):
        yield _trouble("cut", visit, place, why=None, end=None)
    for unit in visit.units:
        if (ended := data.state.ends.get(unit.id)) is None:
            continue
        if ended.state != "done":
            yield _trouble(ended.state, visit, place, why=ended.why, end=ended, unit=unit.id)
        elif why := _invalid(data, unit.id):
            yield _trouble("invalid", visit, place, why=why, end=ended, unit=unit.id)


def _invalid(data: CampaignData, unit: str) -> str | None:
    """Why the unit's figures must not be used."""
    stage = stage_of(data.units.get(unit))
    if stage is None:
        return None
    said = [result.validity for result in results(stage)]
    said += [stage.evaluation.validity] if stage.evaluation else []
    return next((word for word in said if word != "valid"), None)


def _trouble(
    kind: Kind, visit: Visit, place: PlaceStory, *, why: str | None, end: VisitEnd | UnitEnd | None,
    unit: str | None = None,
) -> Trouble:  # fmt: skip
    return Trouble(
        kind=kind,
        contestant=visit.contestant,
        label=place.label,
        block=visit.block,
        unit=unit,
        why=why,
        evidence=end.evidence if end else (),
        folder=folder_of(end.run) if end else None,
    )
