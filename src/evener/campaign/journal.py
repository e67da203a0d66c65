"""Where a campaign stands, from the facts of its run folder. Pure: reads facts, writes none.

| fact | data |
| --- | --- |
| campaign | campaign: what campaign.toml says |
| schedule | schedule: all that will be done, in order |
| visit begun, unit begun | visit, unit: its id |
| unit ended, visit ended | end: how |
| dropped | dropped: a contestant that is not measured any further |
| changed | changed: a condition that is not what it was; the visits of its `again` count as not made |
| campaign resumed | nothing: the time since the last fact is nobody's |

Other kinds are passed over. A visit that was cut keeps the ends of its units: it is entered again at the one that has
none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Literal

from evener.codec import from_data
from evener.errors import RunUnreadable
from evener.records.campaign import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Changed,
    Dropped,
    Schedule,
    Unit,
    UnitEnd,
    UnitState,
    Visit,
    VisitEnd,
)
from evener.records.events import Fact

SOURCE = "events.jsonl"


@dataclass(kw_only=True)
class _Fold:
    """What the facts read so far come to."""

    campaign: Campaign | None = None
    schedule: Schedule | None = None
    ends: dict[str, UnitEnd] = field(default_factory=dict)
    visit_ends: dict[str, VisitEnd] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    resumed: list[datetime] = field(default_factory=list)

    def take(self, fact: Fact) -> None:
        data = fact.data
        match fact.kind:
            case "campaign":
                self.campaign = from_data(Campaign, data["campaign"], source=SOURCE)
            case "schedule":
                self.schedule = from_data(Schedule, data["schedule"], source=SOURCE)
            case "unit ended":
                end = from_data(UnitEnd, data["end"], source=SOURCE)
                self.ends[end.unit] = end
            case "visit ended":
                left = from_data(VisitEnd, data["end"], source=SOURCE)
                self.visit_ends[left.visit] = left
            case "dropped":
                self.dropped.append(from_data(Dropped, data["dropped"], source=SOURCE))
            case "changed":
                self.changed.append(from_data(Changed, data["changed"], source=SOURCE))
                self._forget(self.changed[-1].again)
            case "campaign resumed":
                self.resumed.append(fact.at)

    def _forget(self, visits: Iterable[str]) -> None:
        for visit in visits:
            self.visit_ends.pop(visit, None)
            for unit in [id_ for id_, end in self.ends.items() if end.visit == visit]:
                del self.ends[unit]


def state_of(facts: Sequence[Fact]) -> CampaignState:
    """What the facts say. Raises RunUnreadable where no campaign, or no schedule, is among them."""
    fold = _Fold()
    for fact in facts:
        fold.take(fact)
    if fold.campaign is None:
        raise RunUnreadable("no campaign was begun in this run folder", hint="evener runs --what compare lists them")
    if fold.schedule is None:
        raise RunUnreadable("this campaign was cut before it was planned: nothing is lost", hint="begin it anew")
    return CampaignState(
        campaign=fold.campaign,
        schedule=fold.schedule,
        ends=fold.ends,
        visit_ends=fold.visit_ends,
        dropped=tuple(fold.dropped),
        changed=tuple(fold.changed),
        resumed=tuple(fold.resumed),
        spent_s=_spent_s(facts),
    )


def _spent_s(facts: Sequence[Fact]) -> float:
    """From the schedule to the last fact, without the time before each resumption. A clock that was set back adds
    nothing."""
    begun = next(i for i, fact in enumerate(facts) if fact.kind == "schedule")
    steps = (
        (after.at - before.at).total_seconds()
        for before, after in pairwise(facts[begun:])
        if after.kind != "campaign resumed"
    )
    return sum(step for step in steps if step > 0)


# ---- where it stands


def status_of(
    state: CampaignState, facts: Sequence[Fact], *, id: str, now: datetime, is_running: bool
) -> CampaignStatus:
    """Where a campaign stands. `id` is its run folder's; `is_running` whether a session holds it."""
    fate = Counter(one for visit in state.schedule.visits for one in _fates(state, visit))
    visit, unit = _under_way(facts, "visit"), _under_way(facts, "unit")
    complete = not state.left and not is_running
    since = unit.at if unit and is_running else None
    return CampaignStatus(
        id=id,
        name=state.campaign.name,
        state="running" if is_running else "complete" if complete else "stopped",
        units=fate.total(),
        done=fate["done"] + fate["partial"],
        failed=fate["failed"],
        skipped=fate["skipped"],
        visit=None if complete or visit is None else visit.data["visit"],
        unit=None if complete or unit is None else unit.data["unit"],
        since=since,
        minutes_left=_minutes_left(state, unit.data["unit"] if unit else None, _seconds(since, now)),
        dropped=state.dropped,
        last=next((news for fact in reversed(facts) if (news := _news(fact))), None),
    )


def _fates(state: CampaignState, visit: Visit) -> Iterator[UnitState | Literal["left"]]:
    """How each unit of a visit ended. What was not reached, because its visit ended or its contestant was dropped, was
    skipped."""
    over = visit.id in state.visit_ends or any(one.contestant == visit.contestant for one in state.dropped)
    for unit in visit.units:
        end = state.ends.get(unit.id)
        yield end.state if end else "skipped" if over else "left"


def _under_way(facts: Sequence[Fact], what: Literal["visit", "unit"]) -> Fact | None:
    """The fact with which the last one began that has no end; also where it was cut."""
    for fact in reversed(facts):
        if fact.kind in ("visit ended", f"{what} ended"):
            return None
        if fact.kind == f"{what} begun":
            return fact
    return None


def _seconds(since: datetime | None, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds()) if since else 0.0


def _news(fact: Fact) -> str | None:
    data = fact.data
    match fact.kind:
        case "visit begun":
            return f"{data['visit']}: loading"
        case "unit begun":
            return f"{data['unit']}: measuring"
        case "unit ended":
            return _ended(data["end"]["unit"], data["end"])
        case "visit ended":
            return _ended(data["end"]["visit"], data["end"])
        case "dropped":
            return f"{data['dropped']['contestant']} is dropped: {data['dropped']['why']}"
        case "changed":
            one = data["changed"]
            return (
                f"{one['visit']}: {one['condition']} is {one['now'] or 'unknown'}, and was {one['before'] or 'unknown'}"
            )
        case "campaign resumed":
            return "resumed"
        case _:
            return None


def _ended(id_: str, end: dict[str, str | None]) -> str:
    return f"{id_}: {end['state']}" + (f": {end['why']}" if end.get("why") else "")


# ---- how long it still takes


def _minutes_left(state: CampaignState, unit: str | None, spent_on_it_s: float) -> float | None:
    """What the units and loads that are left will take: as long as the same one took in another block; else as
    predicted, times what those of its kind took of what was predicted of them; else the median of its kind. None where
    nobody can know."""
    rates = _Rates(state)
    total = 0.0
    for visit in state.left:
        load = rates.load(visit)
        if load is None:
            return None
        total += load
        for one in visit.units:
            if one.id in state.ends:
                continue
            minutes = rates.unit(visit, one)
            if minutes is None:
                return None
            total += max(0.0, minutes - spent_on_it_s / 60) if one.id == unit else minutes
    return total


class _Rates:
    """Minutes from what has been measured."""

    def __init__(self, state: CampaignState) -> None:
        self._same: dict[tuple[str, str], list[float]] = {}  # (visit's key, unit's name) -> minutes
        self._kinds: dict[str, list[tuple[float, float | None]]] = {}  # measure, or "load" -> (minutes, predicted)
        for visit in state.schedule.visits:
            self._learn(state, visit)

    def _learn(self, state: CampaignState, visit: Visit) -> None:
        own = 0.0
        for unit in visit.units:
            end = state.ends.get(unit.id)
            if end and end.seconds is not None and end.state == "done":
                own += end.seconds / 60
                self._add(visit.key, unit.name, unit.measure, end.seconds / 60, unit.minutes)
        left = state.visit_ends.get(visit.id)
        if left and left.state == "done" and left.seconds is not None:
            self._add(visit.key, "load", "load", max(0.0, left.seconds / 60 - own), visit.load_minutes)

    def _add(self, key: str, name: str, kind: str, minutes: float, predicted: float | None) -> None:
        self._same.setdefault((key, name), []).append(minutes)
        self._kinds.setdefault(kind, []).append((minutes, predicted))

    def load(self, visit: Visit) -> float | None:
        """All of a visit that is no unit: load, checks, stop. A visit that is not loaded takes nothing."""
        if visit.why_not is not None or visit.candidate is None:
            return 0.0
        return self._minutes(visit.key, "load", "load", visit.load_minutes)

    def unit(self, visit: Visit, unit: Unit) -> float | None:
        return self._minutes(visit.key, unit.name, unit.measure, unit.minutes)

    def _minutes(self, key: str, name: str, kind: str, predicted: float | None) -> float | None:
        if same := self._same.get((key, name)):
            return median(same)
        seen = self._kinds.get(kind, [])
        both = [(minutes, asked) for minutes, asked in seen if asked]
        if predicted is not None:
            ratio = sum(minutes for minutes, _ in both) / sum(asked for _, asked in both) if both else 1.0
            return predicted * ratio
        return median(minutes for minutes, _ in seen) if seen else None
