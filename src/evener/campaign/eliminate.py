"""Who is clearly beaten and need not be measured any further, and what a short budget leaves out. Pure.

Both only with a budget. A contestant is dropped after a block when one that nobody beats beats it in one of two ways.

Answers and speed: in every dimension that both were asked it is ruled out - it is not in the set that holds the best
at 95 % - and the other is in that set; and at every user count of every load it is no faster than the other: its median
in the best of all its loads, widened by the noise of A against A, is at most 5 % above that of the other's best layout
in its worst block. Faster is both tokens per second of each user, and the time to the first token.

Limits: in none of its layouts it keeps the limits of any profile for the fewest people that were tried, which is known
with 95 %; and the other keeps them, for each profile, in one of its layouts.

Whoever has a unit that did not end well is neither dropped nor drops others. Two always stay, those who answer best.
Answers are asked for in the first block: whoever is dropped has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evener.campaign import predict
from evener.campaign.predict import hours
from evener.campaign.schedule import ONCE
from evener.records.campaign import CampaignState, Dropped, Schedule, UsersAsked, Visit
from evener.records.load import Comfort, UsersResult
from evener.records.verdicts import DimensionVerdict

NO_MATTER = 0.05  # faster by no more than this is not faster
FEWEST_LEFT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How fast at one load and count, greater for faster: in the best layout's worst block, and in the best load."""

    least: float
    most: float


Key = tuple[str, int, str]  # the load's name, the count, what is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was measured of one contestant. `held`: whether each load kept a profile's limits for the fewest people."""

    figures: dict[Key, Figure]
    held: dict[str, list[Comfort | None]]
    fewest: dict[str, int]

    @classmethod
    def of(cls, state: CampaignState, results: Mapping[str, UsersResult], contestant: str) -> _Seen:
        profiles = [one for one in state.campaign.users if one.profile is not None]
        return cls(
            figures=dict(_figures(state, results, contestant)),
            held={one.name: list(_held(state, results, contestant, one)) for one in profiles},
            fewest={one.name: min(one.counts) for one in profiles},
        )


def beaten(
    state: CampaignState,
    results: Mapping[str, UsersResult],
    dimensions: Sequence[DimensionVerdict],
    *,
    after_block: int,
) -> tuple[Dropped, ...]:
    """Who is dropped after a block. `results` are those of the units that measured users, by unit; `dimensions` what
    the answers prove, the candidates named as contestants."""
    if state.campaign.budget_s is None:
        return ()
    rivals = [one for one in _contestants(state) if _is_whole(state, one, after_block)]
    seen = {one: _Seen.of(state, results, one) for one in rivals}
    widened = 1 + noise(state, results)

    def why(worse: str, better: str) -> str | None:
        if worse == better:
            return None
        return _by_answers(worse, better, seen, dimensions, widened) or _by_limits(seen[worse], seen[better], better)

    beaten_by = {one: {other: said for other in rivals if (said := why(one, other))} for one in rivals}
    dropped: list[Dropped] = []
    for one in sorted(rivals, key=lambda name: _place(name, dimensions), reverse=True):
        best = next((other for other in beaten_by[one] if not beaten_by[other]), None)
        if best is not None and len(_contestants(state)) - len(dropped) > FEWEST_LEFT:
            reason = beaten_by[one][best]
            dropped.append(Dropped(contestant=one, by=best, why=reason, after_block=after_block))
    return tuple(dropped)


def _place(name: str, dimensions: Sequence[DimensionVerdict]) -> int:
    """Its places in all dimensions together, 0 for the best of each."""
    orders = ([standing.candidate for standing in one.standings] for one in dimensions)
    return sum(order.index(name) for order in orders if name in order)


def noise(state: CampaignState, results: Mapping[str, UsersResult]) -> float:
    """The most that A differs from A again at any figure of any block, as a share; 0 where there is no A again."""
    shares = [0.0]
    for again in (visit for visit in state.schedule.visits if visit.role == "A again"):
        first = _first_of(state, again)
        if first is None:
            continue
        mine, other = (dict(_speeds(results, visit)) for visit in (first, again))
        shares += [max(mine[key], other[key]) / min(mine[key], other[key]) - 1 for key in mine.keys() & other.keys()]
    return max(shares)


def _first_of(state: CampaignState, again: Visit) -> Visit | None:
    same = (again.contestant, again.candidate, again.cable, again.context, again.block)
    others = (visit for visit in state.schedule.visits if visit.role != "A again")
    return next((v for v in others if (v.contestant, v.candidate, v.cable, v.context, v.block) == same), None)


# ---- who is compared


def _contestants(state: CampaignState) -> list[str]:
    """Those that are still measured, in the order of the file."""
    gone = {one.contestant for one in state.dropped}
    made = {visit.contestant for visit in state.schedule.visits if visit.units}
    return [one.name for one in state.campaign.contestants if one.name in made - gone]


def _is_whole(state: CampaignState, contestant: str, block: int) -> bool:
    """Whether every unit up to this block ended well, and there is something left that could be spared."""
    mine = [visit for visit in state.schedule.visits if visit.contestant == contestant]
    units = [unit for visit in mine if visit.block <= block for unit in visit.units]
    ends = [state.ends.get(unit.id) for unit in units]
    return any(visit.block > block for visit in mine) and all(end is not None and end.state == "done" for end in ends)


def _users_of(results: Mapping[str, UsersResult], visit: Visit) -> Iterator[tuple[str, UsersResult]]:
    for unit in visit.units:
        found = results.get(unit.id)
        if unit.measure == "users" and found is not None and found.validity == "valid" and not found.partial:
            yield unit.name, found


def _visits_of(state: CampaignState, contestant: str) -> Iterator[Visit]:
    yield from (visit for visit in state.schedule.visits if visit.contestant == contestant)


# ---- answers and speed


def _by_answers(
    worse: str,
    better: str,
    seen: Mapping[str, _Seen],
    dimensions: Sequence[DimensionVerdict],
    widened: float,
) -> str | None:
    both = [one for one in dimensions if {worse, better} <= {standing.candidate for standing in one.standings}]
    if not both or not all(worse in one.dropped and better in one.best for one in both):
        return None
    mine, other = seen[worse].figures, seen[better].figures
    if not mine or mine.keys() != other.keys():  # what was measured of one alone says nothing about the two
        return None
    if any(mine[key].most * widened > other[key].least * (1 + NO_MATTER) for key in mine):
        return None
    where = ", ".join(one.dimension for one in both)
    return (
        f"not among those that may answer best ({where}, 95 %), where {better} is, and at no user count faster than it "
        f"by more than {NO_MATTER:.0%}"
    )


def _figures(state: CampaignState, results: Mapping[str, UsersResult], contestant: str) -> Iterator[tuple[Key, Figure]]:
    loads: dict[Key, dict[str, list[float]]] = {}
    for visit in _visits_of(state, contestant):
        for key, speed in _speeds(results, visit):
            loads.setdefault(key, {}).setdefault(visit.key, []).append(speed)
    for key, by_layout in loads.items():
        yield key, Figure(least=max(map(min, by_layout.values())), most=max(map(max, by_layout.values())))


def _speeds(results: Mapping[str, UsersResult], visit: Visit) -> Iterator[tuple[Key, float]]:
    """Medians, greater for faster; what has none is left out, and then compares with nothing."""
    for name, result in _users_of(results, visit):
        for level in result.levels:
            if level.per_user_tokens_per_s.p50:
                yield (name, level.users, "tokens"), level.per_user_tokens_per_s.p50
            if level.ttft_ms.p50:
                yield (name, level.users, "first token"), 1 / level.ttft_ms.p50


# ---- limits


def _by_limits(worse: _Seen, better: _Seen, name: str) -> str | None:
    mine, other = worse.held, better.held
    if not mine or not all(held and all(one == "no" for one in held) for held in mine.values()):
        return None
    if not all("yes" in held for held in other.values()):
        return None
    where = ", ".join(f"{profile} for {worse.fewest[profile]}" for profile in mine)
    return f"keeps the limits of no profile in any layout ({where}, 95 %), and {name} keeps them"


def _held(
    state: CampaignState, results: Mapping[str, UsersResult], contestant: str, asked: UsersAsked
) -> Iterator[Comfort | None]:
    for visit in _visits_of(state, contestant):
        for name, result in _users_of(results, visit):
            if name == asked.name:
                yield from (one.comfort for one in result.levels if (one.people or one.users) == min(asked.counts))


# ---- before the start


def fits_budget(schedule: Schedule, budget_s: float) -> Schedule:
    """The schedule without what the budget has no room for: repeats first, the last block before the others; then the
    context. Never a baseline, A again or an answer: without them nothing that is left could be judged. What is left out
    is in its notes, and so is what is still too much."""
    minutes = budget_s / 60
    visits, said = schedule.visits, list(schedule.notes)
    blocks = max((visit.block for visit in visits), default=1)
    fewer = visits
    while predict.total(fewer).minutes > minutes and (last := max(visit.block for visit in fewer)) > 1:
        fewer = tuple(visit for visit in fewer if visit.block < last)
    if len(fewer) < len(visits):
        kept = max(visit.block for visit in fewer)
        said.append(f"left out for the budget of {hours(minutes)}: repeats, {kept} of {blocks} are made")
        said += [ONCE] if kept == 1 else []
    if predict.total(fewer).minutes > minutes and any(u.measure == "context" for v in fewer for u in v.units):
        fewer = tuple(replace(v, units=tuple(u for u in v.units if u.measure != "context")) for v in fewer)
        said.append(f"left out for the budget of {hours(minutes)}: the context")
    whole = predict.total(fewer)
    if whole.minutes > minutes:
        said.append(
            f"the budget of {hours(minutes)} is too short for the {hours(whole.minutes)} that one block takes: what "
            "comes last in it will be missing; fewer models, layouts or counts would help"
        )
    return replace(schedule, visits=fewer, minutes=whole.minutes if whole.is_known else None, notes=tuple(said))
