"""What a campaign's report says, as plain data that every face shows. Reads records, never a folder. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from evener.records.campaign import CampaignData
from evener.report.campaign import answers, conditions, method, told
from evener.report.campaign.pairs import ALL, ONE, WAIT, by_speed, noise
from evener.report.campaign.pareto import pareto
from evener.report.campaign.parts import CampaignStory, JudgedStory, Known, PairedFigure, PlaceStory
from evener.report.campaign.places import places, unit_rows
from evener.report.campaign.second import second_machine
from evener.report.campaign.standing import best_places, contestants
from evener.report.campaign.troubles import troubles
from evener.report.language import Say
from evener.report.parts import RunState


def tell(data: CampaignData, known: Known, say: Say) -> CampaignStory:
    """The whole story, however far the campaign came."""
    all_places = places(data, known.prices, say)
    noises = noise(all_places, list(_again(all_places)), say)
    floor = {kind.name: one.floor for kind in (ONE, ALL, WAIT) for one in noises if one.name == say(kind.name)}
    found = answers.dimensions(known, say)
    best = best_places(data, all_places)
    speeds = {
        (a, b): figure
        for a, b in permutations(best, 2)
        if (figure := by_speed(best[a], best[b], floor, say)) is not None
    }
    people = contestants(data, all_places, best, known, speeds, say)
    by_id = {place.id: place for place in all_places}
    second = tuple(second_machine(all_places, floor, say))
    bad = troubles(data, all_places)
    conditions_ = conditions.conditions(data, all_places, say)
    canaries = answers.canaries(known, say)
    return CampaignStory(
        id=data.id,
        name=data.state.campaign.name,
        language=say.language,
        state=state(data),
        started_at=data.started_at,
        ended_at=data.ended_at,
        spent_s=data.state.spent_s,
        headline=tuple(told.headline(people, say)),
        basis=tuple(told.basis(data, all_places, noises, say)),
        cautions=tuple(told.cautions(data, known, bad, canaries, all_places, noises, say)),
        contestants=people,
        places=all_places,
        second_machine=second,
        speeds=tuple(_against_fastest(best, speeds)),
        noise=tuple(noises),
        dimensions=found,
        penalties=answers.penalties(known, say),
        preferences=known.verdicts.preferences if known.verdicts else (),
        canaries=canaries,
        judges=tuple(JudgedStory(contestant=c, judged=j) for c, found_ in known.judged.items() for j in found_),
        pareto=pareto(people, by_id, found, speeds),
        flips=tuple(told.flips(people, found, all_places, best, speeds, say)),
        troubles=bad,
        dropped=data.state.dropped,
        changed=data.state.changed,
        conditions=conditions_,
        rows=unit_rows(data, all_places),
        limits=tuple(method.limits(data, all_places, known, say)),
        method=tuple(method.method(data, known, say)),
        assumptions=tuple(method.assumptions(known, say)),
    )


def state(data: CampaignData) -> RunState:
    if data.ended_at is None:
        return "unfinished"
    return "partial" if data.partial or data.state.left else "complete"


def _again(places: Sequence[PlaceStory]) -> Iterator[tuple[PlaceStory, PlaceStory]]:
    """Each repetition beside the place that it repeats."""
    for other in (p for p in places if not p.is_ranked):
        same = (other.contestant, other.layout, other.candidate, other.cable, other.context)
        for mine in places:
            if mine.is_ranked and (mine.contestant, mine.layout, mine.candidate, mine.cable, mine.context) == same:
                yield mine, other


def fastest(best: Mapping[str, PlaceStory]) -> str | None:
    return max(best, key=lambda name: (one.value or 0.0) if (one := best[name].one_user) else 0.0, default=None)


def _against_fastest(
    best: Mapping[str, PlaceStory], speeds: Mapping[tuple[str, str], PairedFigure]
) -> Iterator[PairedFigure]:
    first = fastest(best)
    for name in best:
        if first and (first, name) in speeds:
            yield speeds[first, name]
