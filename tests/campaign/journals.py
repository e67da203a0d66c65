"""A small campaign by hand, and facts of it a minute apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from evener.codec import to_data
from evener.records.campaign import (
    Campaign,
    Contestant,
    Measure,
    Schedule,
    Unit,
    UnitEnd,
    UnitState,
    Visit,
    VisitEnd,
    VisitState,
)
from evener.records.events import Fact

BEGUN = datetime(2026, 12, 1, 20, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return BEGUN + timedelta(minutes=minutes)


def visit(id_: str, *, load: float | None = 2.0, units: tuple[Unit, ...] = (), why_not: str | None = None) -> Visit:
    contestant, layout, block = id_.split("/")
    return Visit(
        id=id_,
        contestant=contestant,
        block=int(block),
        role="asked",
        layout=layout,
        candidate=None if why_not else layout,
        cable=None,
        context=4096,
        units=units,
        load_minutes=load,
        why_not=why_not,
    )


def unit(visit_id: str, measure: Measure, minutes: float | None) -> Unit:
    return Unit(id=f"{visit_id}:{measure}", measure=measure, name=measure, minutes=minutes)


def pair_of_units(visit_id: str) -> tuple[Unit, ...]:
    return unit(visit_id, "canary", 1.0), unit(visit_id, "speed", 4.0)


CAMPAIGN = Campaign(
    name="ours", contestants=(Contestant(name="a", model="a.gguf"), Contestant(name="b", model="b.gguf"))
)
SCHEDULE = Schedule(
    visits=(
        visit("a/alpha/1", units=pair_of_units("a/alpha/1")),
        visit("b/alpha/1", units=pair_of_units("b/alpha/1")),
        visit("b/cluster/1", load=None, why_not="needs 90 GiB"),
        visit("a/alpha/2", units=pair_of_units("a/alpha/2")),
        visit("b/alpha/2", units=pair_of_units("b/alpha/2")),
    ),
    fetches=(),
    minutes=28.0,
    disk_bytes=None,
)


class Journal:
    """Facts as a session writes them; `minutes` is when."""

    def __init__(self, campaign: Campaign = CAMPAIGN, schedule: Schedule = SCHEDULE) -> None:
        self.facts: list[Fact] = []
        self.say(-5, "campaign", campaign=to_data(campaign))
        self.say(0, "schedule", schedule=to_data(schedule))

    def say(self, minutes: float, kind: str, **data: Any) -> None:
        self.facts.append(Fact(sequence=len(self.facts) + 1, at=at(minutes), kind=kind, data=data))

    def unit(self, begun: float, ended: float, id_: str, state: UnitState = "done", **more: Any) -> None:
        self.say(begun, "unit begun", unit=id_)
        end = UnitEnd(unit=id_, visit=id_.rpartition(":")[0], state=state, seconds=(ended - begun) * 60, **more)
        self.say(ended, "unit ended", end=to_data(end))

    def visit(self, minutes: float, id_: str) -> None:
        self.say(minutes, "visit begun", visit=id_)

    def visit_end(self, minutes: float, id_: str, state: VisitState = "done", **more: Any) -> None:
        self.say(minutes, "visit ended", end=to_data(VisitEnd(visit=id_, state=state, **more)))
