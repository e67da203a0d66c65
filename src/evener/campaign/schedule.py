"""Which load comes when, and what is measured in it. Pure: made once of the plan's answers, never made again.

Every block holds every load once, in an order of its own by chance: what drifts - heat, a neighbour, the time of day -
falls on all alike, and differences are taken within a block. A load on several machines has the one machine that the
model fits in the same block. Answers are asked for once per contestant: that other layouts compute the same, their
canaries prove.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evener.campaign import predict
from evener.campaign.placement import AS_IT_RUNS, Placement, Wish
from evener.campaign.predict import Suites
from evener.records.campaign import Campaign, Contestant, Fetch, Measure, Schedule, Unit, Visit, VisitRole
from evener.stats import paired

ENDPOINT = "endpoint"  # the layout in the id of a server that runs already
AGAIN = "again"
ONCE = "measured once: only A against A, where it is made, says how far two loads of the same model differ"
REPLICAS = "each copy of replicas is measured alone; on machines of their own they serve together what they serve alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load, whatever block it is in. Two wishes that come to the same are one."""

    contestant: Contestant
    role: VisitRole
    wish: Wish | None  # None for a server that runs already
    placed: Placement

    @property
    def cable(self) -> str | None:
        """Of one machine none is used."""
        return self.wish.cable if self.wish and len(self.placed.hosts) > 1 else None

    @property
    def same(self) -> tuple[object, ...]:
        if self.wish is None:
            return self.contestant.name, None
        what = self.placed.devices or self.placed.candidate or f"not {self.wish.layout}"
        return self.contestant.name, what, self.cable, self.wish.context


def schedule(
    campaign: Campaign,
    answered: Mapping[Wish, Placement],
    *,
    suites: Suites,
    fetches: Sequence[Fetch] = (),
    proves: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Schedule:
    """Every visit in order. `answered` is the plan's answer to each of `wishes`, and to what those are held against."""
    loads = list(_loads(campaign, answered))
    blocks = range(1, campaign.repeats + 1)
    visits = list(_noise_first(visit for block in blocks for visit in _block(campaign, loads, block, suites)))
    whole = predict.total(visits)
    said = [*notes, *_notes(campaign, loads), *predict.assumptions(campaign, visits, fetches)]
    return Schedule(
        visits=tuple(visits),
        fetches=tuple(fetches),
        minutes=whole.minutes if whole.is_known else None,
        disk_bytes=predict.disk_bytes(fetches),
        proves=tuple(proves),
        notes=tuple(dict.fromkeys(said)),
    )


def wishes(campaign: Campaign) -> Iterator[Wish]:
    """What the file asks for: each contestant that we load, by context, layout and cable."""
    for one in campaign.contestants:
        if one.is_ours:
            for context in campaign.contexts:
                for layout in campaign.layouts:
                    for cable in campaign.cables or (None,):
                        yield Wish(contestant=one.name, layout=layout, cable=cable, context=context)


def speeds_prove(visits: Sequence[Visit]) -> str:
    """What so many blocks can say of two loads' speeds, as the report has it."""
    blocks = max((visit.block for visit in visits), default=0)
    said = f"speeds, {blocks} {'block' if blocks == 1 else 'blocks'}: "
    if blocks >= paired.fewest_pairs():
        return f"{said}two loads differ where the signed ranks of their blocks say so, and by more than A from A again"
    return (
        f"{said}two loads differ only where their intervals are apart in every block, and by more than A from A again; "
        f"from {paired.fewest_pairs()} blocks on their signed ranks decide"
    )


# ---- loads


def _loads(campaign: Campaign, answered: Mapping[Wish, Placement]) -> Iterator[Load]:
    """What is asked for, then what that is held against, then A again. What was asked for anyway is no baseline."""
    named = {one.name: one for one in campaign.contestants}
    asked: dict[tuple[object, ...], Load] = {}
    for wish in wishes(campaign):
        for one in _expanded(wish, answered):
            load = Load(contestant=named[one.contestant], role="asked", wish=one, placed=answered[one])
            asked.setdefault(load.same, load)
    for load in list(asked.values()):
        if load.wish is not None and load.placed.baseline is not None:
            against = replace(load.wish, layout=load.placed.baseline, cable=None)
            baseline = Load(contestant=load.contestant, role="baseline", wish=against, placed=answered[against])
            asked.setdefault(baseline.same, baseline)
    for contestant in campaign.contestants:
        if not contestant.is_ours:
            load = Load(contestant=contestant, role="asked", wish=None, placed=AS_IT_RUNS)
            asked[load.same] = load
    yield from asked.values()
    if campaign.a_versus_a and (first := _main(campaign, list(asked.values()))):
        yield replace(first, role="A again")


def _expanded(wish: Wish, answered: Mapping[Wish, Placement]) -> Iterator[Wish]:
    """Replicas are as many loads as there are copies, each on its own machine."""
    copies = answered[wish].copies
    yield from (replace(wish, layout=copy, cable=None) for copy in copies)
    if not copies:
        yield wish


def _main(campaign: Campaign, loads: Sequence[Load]) -> Load | None:
    """The first contestant's main load: that of the first contestant that can be measured at all."""
    return next((found for one in campaign.contestants if (found := _main_of(one, loads))), None)


def _main_of(contestant: Contestant, loads: Sequence[Load]) -> Load | None:
    """The first layout that it fits: there it is asked."""
    mine = (load for load in loads if load.contestant == contestant and load.role != "A again")
    return next((load for load in mine if _is_made(load)), None)


def _is_made(load: Load) -> bool:
    return load.wish is None or load.placed.candidate is not None


# ---- visits


def _block(campaign: Campaign, loads: Sequence[Load], block: int, suites: Suites) -> list[Visit]:
    """Each load once, in an order drawn by the seed. What does not fit is told once."""
    made = [load for load in loads if _is_made(load) or block == 1]
    order = random.Random(f"campaign/{campaign.seed}/{block}")
    order.shuffle(made)
    return [_visit(campaign, load, block, suites, loads) for load in made]


def _noise_first(visits: Iterable[Visit]) -> Iterator[Visit]:
    """A contestant's first canary is asked twice: how far it parts from itself is the noise of all the others."""
    begun: set[str] = set()
    for visit in visits:
        first = visit.contestant not in begun
        begun |= {visit.contestant} if visit.units else set()
        yield replace(visit, units=tuple(map(_twice, visit.units))) if first else visit


def _twice(unit: Unit) -> Unit:
    if unit.measure != "canary" or unit.minutes is None:
        return unit
    return replace(unit, minutes=2 * unit.minutes)


def _visit(campaign: Campaign, load: Load, block: int, suites: Suites, loads: Sequence[Load]) -> Visit:
    id_ = f"{load.contestant.name}/{_place(campaign, load)}/{block}"
    main = _main_of(load.contestant, loads)
    asks = block == 1 and main is not None and main.same == load.same
    context = load.wish.context if load.wish else max(campaign.contexts)
    named = _measured(campaign, load, asks) if _is_made(load) else ()
    units = (Unit(id=f"{id_}:{name}", measure=measure, name=name) for measure, name in named)
    thinking = load.contestant.thinking
    return Visit(
        id=id_,
        contestant=load.contestant.name,
        block=block,
        role=load.role,
        layout=load.wish.layout if load.wish else None,
        candidate=load.placed.candidate,
        cable=load.cable,
        context=context,
        units=tuple(
            replace(u, minutes=predict.of_unit(u, campaign, load.placed, suites, thinking=thinking, tokens=context))
            for u in units
        ),
        load_minutes=predict.load_minutes(load.placed),
        predicted=load.placed.decode,
        fullest=load.placed.fullest,
        cards_bytes=load.placed.cards_bytes,
        why_not=load.placed.why_not,
    )


def _place(campaign: Campaign, load: Load) -> str:
    """What tells a load from the others of its contestant: the plan's name for its layout, its cable, its context."""
    if load.wish is None:
        place = ENDPOINT
    else:
        place = (load.placed.candidate or load.wish.layout) + (f"@{load.cable}" if load.cable else "")
        place += f",{load.wish.context}" if len(campaign.contexts) > 1 else ""
    return f"{place},{AGAIN}" if load.role == "A again" else place


def _measured(campaign: Campaign, load: Load, asks: bool) -> Iterator[tuple[Measure, str]]:
    """What is measured in a visit, in order; the answers last, which take longest."""
    if load.contestant.is_ours:
        yield "canary", "canary"
    if campaign.speed:
        yield "speed", "speed"
    for users in campaign.users:
        yield "users", users.name
    if campaign.context:
        yield "context", "context"
    if campaign.answers and asks:
        yield "answers", "answers"


def _notes(campaign: Campaign, loads: Sequence[Load]) -> Iterator[str]:
    if "replicas" in campaign.layouts:
        yield REPLICAS
    nowhere = [one.name for one in campaign.contestants if _main_of(one, loads) is None]
    if nowhere:
        yield f"fits nowhere that was asked for: {', '.join(nowhere)}"
    main = _main(campaign, loads)
    if campaign.a_versus_a and main and main.contestant != campaign.contestants[0]:
        yield f"A again is {main.contestant.name}: {campaign.contestants[0].name} fits nowhere"
    if campaign.repeats == 1:
        yield ONCE
