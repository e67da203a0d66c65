"""A campaign's loads as places: what one contestant gave in one layout, over all its blocks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evener.records.campaign import CampaignData, CampaignRun, Contestant, Unit, Visit
from evener.records.plan import Candidate
from evener.records.run import Stage
from evener.report import figures
from evener.report.campaign import cards, money
from evener.report.campaign.parts import (
    BlockFigure,
    LevelStory,
    PlaceState,
    PlaceStory,
    Prices,
    Reading,
    TestStory,
    UnitRow,
)
from evener.report.campaign.readings import Readings, Taken, added, usable
from evener.report.language import Say
from evener.report.rows import one_machine, results
from evener.report.words import kilo, percent

USABLE = ("done", "partial")


def places(data: CampaignData, prices: Prices | None, say: Say) -> tuple[PlaceStory, ...]:
    """In the order in which the file names contestants and layouts; repetitions for the noise floor last."""
    groups: dict[tuple[str, str], list[Visit]] = {}
    for visit in data.state.schedule.visits:
        groups.setdefault((visit.key, visit.role), []).append(visit)
    order = {one.name: n for n, one in enumerate(data.state.campaign.contestants)}
    ranked = sorted(groups.values(), key=lambda group: _order(group[0], order))
    shown = [_Place(data, group, f"p{n}", prices, say).story() for n, group in enumerate(ranked, start=1)]
    return tuple(_told_apart(shown, say))


def _order(visit: Visit, order: Mapping[str, int]) -> tuple[bool, int, bool]:
    return visit.role == "A again", order.get(visit.contestant, len(order)), visit.role == "asked"


def _told_apart(places: Sequence[PlaceStory], say: Say) -> Iterator[PlaceStory]:
    """Labels with the cable, the context or the layout's name, where these tell two places of one contestant apart."""
    for place in places:
        mine = [p for p in places if p.contestant == place.contestant and p.is_ranked]
        parts = [place.label]
        if len({p.cable for p in mine if p.cable}) > 1 and place.cable:
            parts.append(say("over {cable}", cable=place.cable))
        if len({p.context for p in mine}) > 1:
            parts.append(say("context {tokens}", tokens=kilo(place.context)))
        if place.role == "A again":
            parts.append(say("once more"))
        alike = [p for p in mine if (p.label, p.cable, p.context) == (place.label, place.cable, place.context)]
        if len(alike) > 1 and place.is_ranked:
            parts.append(place.candidate or place.layout or place.id)
        yield replace(place, label=say.comma.join(parts))


class _Place:
    """One key's visits, read."""

    def __init__(self, data: CampaignData, visits: Sequence[Visit], id_: str, prices: Prices | None, say: Say) -> None:
        self._data, self._visits, self._say, self._prices = data, visits, say, prices
        self._readings = Readings(id_, say)
        self._id = id_
        self._first = visits[0]
        loads = [data.loads[v.id] for v in visits if v.id in data.loads]
        self._load = next((load for load in loads if load.run.plan), None)
        self._candidate = self._planned()
        self._taken = list(self._units())

    def _planned(self) -> Candidate | None:
        plan = self._load.run.plan if self._load else None
        name = self._first.candidate
        return plan.candidate(name) if plan and name else None

    def _units(self) -> Iterator[Taken]:
        """What was measured: units that ended so that their figures may be used."""
        for visit in self._visits:
            for unit in visit.units:
                end, run = self._data.state.ends.get(unit.id), self._data.units.get(unit.id)
                if end and end.state in USABLE and (stage := stage_of(run)):
                    yield Taken(block=visit.block, unit=unit, stage=stage)

    def story(self) -> PlaceStory:
        made, taken, first, candidate = self._readings, self._taken, self._first, self._candidate
        levels = tuple(made.levels(taken))
        tests = tuple(made.tests(taken))
        comfort = tuple(made.comfort(taken, levels))
        state, why = self._state()
        predicted = candidate.predicted if candidate else None
        return PlaceStory(
            id=self._id,
            contestant=first.contestant,
            label=self._label(),
            layout=first.layout,
            candidate=first.candidate,
            role=first.role,
            kind=candidate.kind if candidate else "",
            hosts=candidate.hosts if candidate else (),
            cable=first.cable,
            context=first.context,
            visits=tuple(v.id for v in self._visits),
            blocks=tuple(sorted({one.block for one in taken})),
            state=state,
            why=why,
            one_user=one_user(levels, tests),
            levels=levels,
            tests=tests,
            comfort=comfort,
            ceilings=tuple(made.ceilings(taken)),
            lengths=tuple(made.lengths(taken)),
            cards=cards.cards(self._data, self._visits, candidate),
            load=self._load_s(),
            predicted=first.predicted or (predicted.decode_tokens_per_s if predicted else None),
            per_token_ms=predicted.per_token_ms if predicted else (),
            watched=tuple(self._watched()),
            cost=money.cost(self._visits, taken, levels, comfort, self._prices, self._say),
            sent=sum(level.sent for level in levels),
            failed=sum(level.failed for level in levels),
            by_class=added(level.by_class for level in levels),
            kv_exhausted_from=min(self._exhausted(), default=None),
            one_machine=self._one_machine(),
        )

    def _exhausted(self) -> Iterator[int]:
        for one in self._taken:
            if (users := usable(one.stage.users)) and users.kv_exhausted_from is not None:
                yield users.kv_exhausted_from

    def _one_machine(self) -> tuple[str, ...]:
        hosts = set(self._candidate.hosts) if self._candidate else set()
        same = one_machine(self._load.run) if self._load else ()
        return next((names for names in same if len(hosts & set(names)) > 1), ())

    def _label(self) -> str:
        say, first, candidate = self._say, self._first, self._candidate
        if candidate is None:
            return first.candidate or first.layout or say("a server that runs already")
        if candidate.kind == "card" and candidate.devices:
            return say("{card} of {host} alone", card=candidate.devices[0].card_name, host=candidate.hosts[0])
        hosts = " + ".join(candidate.hosts)
        if candidate.kind == "experts-in-ram":
            return say("{host}, experts in RAM", host=hosts)
        if candidate.kind == "partial-offload":
            return say("{host}, partly in RAM", host=hosts)
        if candidate.kind in ("replicas", "several-models"):
            return say("{hosts}, each its own copy", hosts=say.listed(candidate.hosts))
        return say("{host} alone", host=hosts) if len(candidate.hosts) == 1 else hosts

    def _state(self) -> tuple[PlaceState, str | None]:
        """The furthest that any of its visits came, and why no further."""
        if why := next((v.why_not for v in self._visits if v.why_not), None):
            return "does not fit", why
        ends = [self._data.state.visit_ends[v.id] for v in self._visits if v.id in self._data.state.visit_ends]
        whole = sum(e.state == "done" for e in ends) == len(self._visits)
        bad = next((e for e in ends if e.state not in ("done", "skipped")), None)
        if any(one.unit.measure != "canary" for one in self._taken):
            why = bad.why if bad else self._dropped() or self._unusable()
            return ("measured" if whole and not why else "in part"), why
        if bad:
            return ("does not fit" if bad.state == "does not fit" else "failed"), bad.why
        if whole and self._taken:
            return "measured", None
        return "not reached", self._dropped() or next((e.why for e in ends if e.why), None)

    def _unusable(self) -> str | None:
        """Why some of its figures must not be used."""
        said = [result.validity for one in self._taken for result in results(one.stage)]
        why = next((word for word in said if word != "valid"), None)
        return self._say("must not be used: {why}", why=why) if why else None

    def _dropped(self) -> str | None:
        gone = next((one for one in self._data.state.dropped if one.contestant == self._first.contestant), None)
        return self._say("dropped after block {block}", block=gone.after_block) if gone else None

    def _load_s(self) -> Reading | None:
        ends = [(v, self._data.state.visit_ends.get(v.id)) for v in self._visits]
        found = [
            BlockFigure(block=v.block, unit=v.id, figure=figures.single(end.load_s))
            for v, end in ends
            if end and end.load_s is not None
        ]
        return self._readings.reading("loading", "", "s", found) if found else None

    def _watched(self) -> Iterator[str]:
        """What held cards back, the most of all blocks."""
        most: dict[tuple[str, str], float] = {}
        for one in self._taken:
            for host in one.stage.telemetry.hosts if one.stage.telemetry else ():
                for card in host.cards:
                    for reason, part in (card.slowed or {}).items():
                        key = (f"{host.host} / {card.name}", reason)
                        most[key] = max(part, most.get(key, 0.0))
        for (card_name, reason), part in most.items():
            yield self._say("{card}: held back by {reason} {share} of the time", card=card_name, reason=reason,
                            share=percent(part))  # fmt: skip


def stage_of(run: CampaignRun | None) -> Stage | None:
    """What a unit's run came to; None where it left no summary."""
    stages = run.summary.stages if run and run.summary else ()
    return stages[0] if stages else None


def one_user(levels: Sequence[LevelStory], tests: Sequence[TestStory]) -> Reading | None:
    """The decode rate of a single user: of one who is alone, else of the longest answer of `bench speed`."""
    alone = [level.each for level in levels if level.users == 1 and level.each.value is not None]
    answers = [t for t in tests if t.output_tokens and not t.prompt_tokens and not t.depth and t.rate.value is not None]
    longest = max(answers, key=lambda t: t.output_tokens, default=None)
    return alone[0] if alone else longest.rate if longest else None


def what(contestant: Contestant, data: CampaignData, say: Say) -> str:
    """A contestant in words: its model and quantisation as they were planned, or its server; and whether it thinks."""
    named = _named(contestant, data)
    return say.comma.join([named, say("thinking on")]) if contestant.thinking else named


def _named(contestant: Contestant, data: CampaignData) -> str:
    if contestant.url:
        return " ".join(part for part in (contestant.served_model, contestant.url) if part)
    visits = [v.id for v in data.state.schedule.visits if v.contestant == contestant.name]
    plans = [data.loads[v].run.plan for v in visits if v in data.loads]
    plan = next((plan for plan in plans if plan), None)
    if plan:
        name, quantisation = plan.model.name, plan.model.quantisation
        return name if quantisation in name else f"{name} {quantisation}"
    return " ".join(part for part in (contestant.model, contestant.quantise) if part)


def unit_rows(data: CampaignData, places: Sequence[PlaceStory]) -> tuple[UnitRow, ...]:
    """Every unit of the schedule, in its order."""
    by_visit = {visit: place for place in places for visit in place.visits}
    return tuple(
        _row(data, visit, unit, by_visit[visit.id]) for visit in data.state.schedule.visits for unit in visit.units
    )


def _row(data: CampaignData, visit: Visit, unit: Unit, place: PlaceStory) -> UnitRow:
    end, run = data.state.ends.get(unit.id), data.units.get(unit.id)
    return UnitRow(
        unit=unit.id,
        place=place.id,
        contestant=visit.contestant,
        label=place.label,
        block=visit.block,
        measure=unit.measure,
        name=unit.name,
        state=end.state if end else "not reached",
        why=end.why if end else None,
        seconds=end.seconds if end else None,
        folder=folder_of(run.run.id if run else None),
        files=run.files if run else (),
    )


def folder_of(run_id: str | None) -> str | None:
    """A run's folder, seen from the campaign's."""
    return f"runs/{run_id}" if run_id else None
