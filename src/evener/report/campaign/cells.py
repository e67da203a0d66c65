"""A campaign's figures as the cells that every face shows: a value, and what stands behind it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.load import Limits
from evener.report.against_parts import SideFigure
from evener.report.campaign.parts import (
    CampaignStory,
    ComfortStory,
    ConditionStory,
    ContestantStory,
    CostStory,
    LevelStory,
    NoiseFigure,
    PairedFigure,
    PlaceStory,
    Reading,
    ScoreStory,
    SecondMachine,
    UnitRow,
)
from evener.report.evals_rows import interval, points
from evener.report.language import Say
from evener.report.rows import condition
from evener.report.words import UNKNOWN, number, percent, signed_percent, span

MARKS = {
    "cannot be ruled out": "●",
    "behind in answers": "◐",
    "can be dropped": "○",
    "dropped on the way": "✕",
    "not measured": "?",
}


def value(found: Reading | None) -> str:
    """A share as percent, anything else in about three figures."""
    if found is None or found.value is None:
        return UNKNOWN
    return number(found.value) if found.unit else percent(found.value)


def company(found: Reading | SideFigure | None) -> str:
    """What stands behind a figure: its interval, or the range of single values, and n."""
    if found is None or found.value is None:
        return ""
    unit = getattr(found, "unit", "tok/s")
    ends = found.interval
    if ends is None:
        return f"n={found.n}"
    shown = span(ends) if unit else "-".join(percent(end).removesuffix(" %") for end in ends) + " %"
    return f"{'95 % ' if found.basis == '95 %' else ''}{shown}, n={found.n}"


def written(found: Reading | None) -> str:
    """On one line."""
    behind = company(found)
    return f"{value(found)} ({behind})" if behind else value(found)


def share(found: SideFigure) -> str:
    """Of requests: "2 / 708 (95 % 0.0-1.0 %)"."""
    if found.value is None or not found.n:
        return UNKNOWN
    ends = f" (95 % {'-'.join(f'{100 * end:.1f}' for end in found.interval)} %)" if found.interval else ""
    return f"{round(found.value * found.n)} / {found.n}{ends}"


def score(found: ScoreStory | None) -> str:
    return UNKNOWN if found is None else f"{points(found.mean)} ({interval(found.interval)}, n={found.n})"


def money(amount: float | None, cost: CostStory | None) -> str:
    if amount is None or cost is None:
        return UNKNOWN
    return f"{amount:,.2f} {cost.currency}" if amount < 100 else f"{amount:,.0f} {cost.currency}"


def comfort(place: PlaceStory | None, say: Say) -> list[str]:
    """For how many, profile by profile."""
    return [f"{one.profile}{say(': ')}{holds(one, say)}" for one in (place.comfort if place else ())]


def holds(one: ComfortStory, say: Say) -> str:
    """The largest count that holds."""
    if one.holds_for is None:
        return say("not known even for the fewest")
    who = _who(one.holds_for, one.people, say)
    return who if one.unresolved_at or one.fails_at else f"≥ {who}"  # no greater count was tried


def _who(n: int, people: bool, say: Say) -> str:
    return say.count(n, "{n} person", "{n} people") if people else say.count(n, "{n} user", "{n} users")


def after(one: ComfortStory, say: Say) -> str:
    """What is known of the next greater count."""
    if one.fails_at:
        return say("not for {who}", who=_who(one.fails_at, one.people, say))
    if one.unresolved_at is None:
        return UNKNOWN
    who = _who(one.unresolved_at, one.people, say)
    if one.requests_needed:
        return say("{who}: about {n} requests would decide", who=who, n=one.requests_needed)
    return say("{who}: cannot be decided", who=who)


def limits(one: ComfortStory, say: Say) -> str:
    """What people accept, and how often it must hold."""
    return say("{share} of requests: {limits}", share=percent(one.target_share), limits=within(one.limits, say))


def within(asked: Limits, say: Say) -> str:
    parts = [say("first token within {ms} ms", ms=f"{asked.ttft_ms:.0f}")] if asked.ttft_ms is not None else []
    if asked.tpot_ms is not None:
        parts.append(say("at least {rate} tok/s", rate=number(1000 / asked.tpot_ms)))
    return say.comma.join(parts)


def change(found: PairedFigure) -> str:
    return UNKNOWN if found.change is None else signed_percent(found.change)


def ends(found: PairedFigure, say: Say) -> str:
    return UNKNOWN if found.interval is None else say(" to ").join(signed_percent(end) for end in found.interval)


def by(found: PairedFigure, say: Say) -> str:
    """What an interval rests on."""
    return {
        "signed ranks": say("signed ranks of the blocks"),
        "every block": say("both intervals, in every block"),
        "nothing": say("single values: no interval"),
    }[found.by]


def floor(found: NoiseFigure | PairedFigure) -> str:
    """ "±1.6 %" """
    amount = found.floor if isinstance(found, NoiseFigure) else found.noise
    return UNKNOWN if amount is None else f"±{percent(amount)}"


def readings(place: PlaceStory) -> Iterator[Reading]:
    """Every figure of a place, in the order of the page."""
    if place.load:
        yield place.load
    for level in place.levels:
        yield from (level.each, level.total, level.ttft, level.ttft_p90, level.share_of_one)
    for test in place.tests:
        yield from (test.rate, test.ttft)
    for length in place.lengths:
        yield from (length.needles, length.reasoning, length.ttft, length.prefill, length.decode)


def block_value(found: Reading, figure: SideFigure) -> str:
    return UNKNOWN if figure.value is None else number(figure.value) if found.unit else percent(figure.value)


def score_of(contestant: ContestantStory, dimension: str) -> ScoreStory | None:
    return next((one for one in contestant.scores if one.dimension == dimension), None)


def suites(story: CampaignStory) -> list[str]:
    """Suites over contestants, without arms."""
    return list(dict.fromkeys(one.dimension for c in story.contestants for one in c.scores))


def profiles(story: CampaignStory) -> list[str]:
    return list(dict.fromkeys(level.profile for place in story.places for level in place.levels))


def tests(story: CampaignStory) -> list[str]:
    return list(dict.fromkeys(test.test for place in story.places for test in place.tests))


def of_profile(places: Sequence[PlaceStory], profile: str) -> list[PlaceStory]:
    return [place for place in places if any(level.profile == profile for level in place.levels)]


def counts(places: Sequence[PlaceStory], profile: str) -> list[int]:
    return sorted({level.users for place in places for level in place.levels if level.profile == profile})


def at(place: PlaceStory, profile: str, users: int) -> LevelStory | None:
    return next((one for one in place.levels if (one.profile, one.users) == (profile, users)), None)


def ceilings(story: CampaignStory) -> list[str]:
    return list(dict.fromkeys(one.name for place in story.places for one in place.ceilings))


def all_of(one: SecondMachine) -> tuple[PairedFigure, ...]:
    return one.figures


def chosen(one: SecondMachine) -> list[PairedFigure]:
    """What tells most: one user, and of every other figure the most users of each profile."""
    last = {(figure.name, figure.about.partition(", ")[2]): figure for figure in one.figures}
    return [figure for figure in one.figures if figure in last.values()]


def held(one: ConditionStory, say: Say) -> str:
    """Each value, and where it held; a single one alone."""
    if len(one.values) == 1:
        return one.values[0].value or say("unknown")
    return say("; ").join(f"{v.value or say('unknown')}{say(': ')}{say.comma.join(v.held)}" for v in one.values)


def answered_in(story: CampaignStory, contestant: str) -> UnitRow | None:
    """Where its answers are."""
    return next((row for row in story.rows if row.contestant == contestant and row.measure == "answers"), None)


def turns(story: CampaignStory, say: Say) -> list[str]:
    """Who was dropped on the way, and what changed."""
    out = [
        say(
            "{contestant}: dropped after block {block}, beaten by {name}: {why}",
            contestant=one.contestant,
            block=one.after_block,
            name=one.by,
            why=one.why,
        )
        for one in story.dropped
    ]
    for one in story.changed:
        told = say(
            "{condition}: {before} before {visit}, {now} from there on",
            condition=say(condition(one.condition)),
            before=one.before or say("unknown"),
            visit=one.visit,
            now=one.now or say("unknown"),
        )
        again = say("; measured anew: {visits}", visits=", ".join(one.again)) if one.again else ""
        out.append(told + again)
    return out
