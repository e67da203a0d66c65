"""The sentences of a campaign's first page: what stands and falls, what to read first, what would flip it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evener.records.campaign import CampaignData
from evener.records.run import Stage
from evener.report.campaign import answers
from evener.report.campaign.pareto import Speeds
from evener.report.campaign.parts import (
    CanaryStory,
    ContestantStory,
    DimensionStory,
    Known,
    NoiseFigure,
    PlaceStory,
    Trouble,
    Word,
)
from evener.report.campaign.places import stage_of
from evener.report.language import Say
from evener.report.parts import Caution
from evener.report.rows import condition, results
from evener.report.words import percent, signed_percent
from evener.stats.paired import fewest_pairs

UNSTEADY_FROM = 0.25  # what a load may differ from itself; steady machines stay within a few hundredths
TRUNCATED_FROM = 0.02  # of the answers: from there on a score may be about the token limit


def headline(contestants: Sequence[ContestantStory], say: Say) -> Iterator[str]:
    """A sentence per word, as far as somebody stands under it."""

    def named(word: Word) -> str:
        return say.listed([one.name for one in contestants if one.word == word])

    if kept := named("cannot be ruled out"):
        yield say("Cannot be ruled out: {names}.", names=kept)
    if behind := named("behind in answers"):
        yield say("Behind in answers: {names}.", names=behind)
    if out := named("can be dropped"):
        yield say("Can be dropped: {names}.", names=out)
    if gone := named("dropped on the way"):
        yield say("Dropped on the way: {names}.", names=gone)
    if never := named("not measured"):
        yield say("Not measured: {names}.", names=never)


def basis(data: CampaignData, places: Sequence[PlaceStory], noises: Sequence[NoiseFigure], say: Say) -> Iterator[str]:
    """What the first page rests on."""
    blocks = max((len(p.blocks) for p in places), default=0)
    ends = [end.state for end in data.state.ends.values()]
    units = sum(len(v.units) for v in data.state.schedule.visits)
    yield say(
        "{done} of {units} units measured, in {blocks} of {asked}.",
        done=ends.count("done"),
        units=units,
        blocks=blocks,
        asked=say.count(data.state.campaign.repeats, "{n} block", "{n} blocks"),
    )
    yield say(
        "Answers: best sets at 95 %. Speed: intervals that are apart in every block, and a change beyond the noise."
    )
    if again := [one for one in noises if one.again]:
        most = [f"{one.name} {percent(max(map(abs, one.again)))}" for one in again]
        yield say("The first contestant against itself, at most: {changes}.", changes=say.comma.join(most))


def cautions(
    data: CampaignData,
    known: Known,
    troubles: Sequence[Trouble],
    canaries: Sequence[CanaryStory],
    places: Sequence[PlaceStory],
    noises: Sequence[NoiseFigure],
    say: Say,
) -> list[Caution]:
    """Grave ones first."""
    found = [
        *_unfinished(data, say),
        *_canaries(canaries),
        *_answers(known, say),
        *_unsteady(noises, say),
        *_changed(data, say),
        *_failures(places, say),
        *_machines(places, say),
        *_clients(data, say),
        *_troubles(troubles, say),
        *(Caution(grave=False, text=note) for note in known.notes),
    ]
    return sorted(found, key=lambda caution: not caution.grave)


def _unfinished(data: CampaignData, say: Say) -> Iterator[Caution]:
    left = len(data.state.left)
    if data.ended_at is None:
        text = say.count(
            left,
            "This campaign is not finished: {n} load is still to be made. What was measured is shown.",
            "This campaign is not finished: {n} loads are still to be made. What was measured is shown.",
        )
        yield Caution(grave=True, text=text)
    elif data.partial:
        yield Caution(grave=True, text=say("This campaign is partial: {why}", why=data.partial))
    elif left:
        yield Caution(grave=True, text=say.count(left, "{n} load was not made.", "{n} loads were not made."))


def _canaries(canaries: Sequence[CanaryStory]) -> Iterator[Caution]:
    for one in canaries:
        if one.verdict.word == "differs":
            yield Caution(grave=True, text=f"{one.contestant}: {one.sentence}")


def _answers(known: Known, say: Say) -> Iterator[Caution]:
    found = known.verdicts
    if found is None:
        return
    if found.differing:
        names = say.listed([say(condition(name)) for name in found.differing])
        yield Caution(grave=True, text=say("Contestants were not asked alike, or nobody knows: {names}", names=names))
    for one in (*found.dimensions, *found.judged):
        for ending in one.endings:
            if (ending.truncated or 0.0) >= TRUNCATED_FROM:
                text = say(
                    "{suite}: {share} of the answers of {name} were cut short",
                    suite=one.dimension,
                    share=percent(ending.truncated or 0.0),
                    name=ending.candidate,
                )
                yield Caution(grave=True, text=text)


def _unsteady(noises: Sequence[NoiseFigure], say: Say) -> Iterator[Caution]:
    most = max((one.floor for one in noises if one.floor is not None), default=0.0)
    if most >= UNSTEADY_FROM:
        text = say(
            "The same load differs from itself by up to {noise}: something else was at work on these machines, or they "
            "are not steady",
            noise=percent(most),
        )
        yield Caution(grave=True, text=text)


def _changed(data: CampaignData, say: Say) -> Iterator[Caution]:
    for one in data.state.changed:
        values = {
            "condition": say(condition(one.condition)),
            "before": one.before or say("unknown"),
            "now": one.now or say("unknown"),
            "visit": one.visit,
        }
        if one.again:
            yield Caution(
                grave=False,
                text=say(
                    "{condition} changed before {visit}, from {before} to {now}: {n} loads were made anew",
                    n=len(one.again),
                    **values,
                ),
            )
        else:
            yield Caution(
                grave=True,
                text=say(
                    "{condition} changed before {visit}, from {before} to {now}: figures before and after stand side "
                    "by side",
                    **values,
                ),
            )


def _failures(places: Sequence[PlaceStory], say: Say) -> Iterator[Caution]:
    for place in places:
        if place.failed:
            text = say(
                "{name}, {label}: {failed} of {sent} requests failed",
                name=place.contestant,
                label=place.label,
                failed=place.failed,
                sent=place.sent,
            )
            yield Caution(grave=True, text=text)


def _machines(places: Sequence[PlaceStory], say: Say) -> Iterator[Caution]:
    for names in dict.fromkeys(p.one_machine for p in places if p.one_machine):
        text = say(
            "{hosts} are one machine under several names: this is the cost of splitting, not of a cable",
            hosts=say.listed(names),
        )
        yield Caution(grave=False, text=text)
    for place in places:
        if place.kv_exhausted_from is not None:
            text = say(
                "{name}, {label}: from {n} users on, requests died because the KV cache was full",
                name=place.contestant,
                label=place.label,
                n=place.kv_exhausted_from,
            )
            yield Caution(grave=True, text=text)


def _clients(data: CampaignData, say: Say) -> Iterator[Caution]:
    """Whose figures are too low, although they may be used."""
    slow = [unit for unit, run in data.units.items() if (stage := stage_of(run)) and _saturated(stage)]
    if slow:
        text = say(
            "the measuring client was saturated, the server may be faster than these figures say: {units}",
            units=say.comma.join(slow),
        )
        yield Caution(grave=True, text=text)


def _saturated(stage: Stage) -> bool:
    return any(result.client.saturated and result.validity == "valid" for result in results(stage))


def _troubles(troubles: Sequence[Trouble], say: Say) -> Iterator[Caution]:
    failed = [one for one in troubles if one.kind in ("failed", "invalid")]
    if failed:
        yield Caution(
            grave=True,
            text=say.count(
                len(failed),
                "{n} step failed or must not be used: its evidence is below",
                "{n} steps failed or must not be used: their evidence is below",
            ),
        )


def flips(
    contestants: Sequence[ContestantStory],
    dimensions: Sequence[DimensionStory],
    places: Sequence[PlaceStory],
    best: Mapping[str, PlaceStory],
    speeds: Speeds,
    say: Say,
) -> Iterator[str]:
    """What would change the first page: few scores, more questions, more requests, more blocks."""
    yield from answers.flips(dimensions, say)
    kept = {one.name for one in contestants if one.word not in ("can be dropped", "dropped on the way")}
    for place in places:
        for one in place.comfort:
            if place.contestant in kept and place.is_ranked and one.requests_needed and one.unresolved_at:
                yield say(
                    "{name}, {label}, {profile}: about {n} requests at {count} would decide whether that many are "
                    "comfortable",
                    name=place.contestant,
                    label=place.label,
                    profile=one.profile,
                    n=one.requests_needed,
                    count=one.unresolved_at,
                )
    yield from _close_speeds(list(best), speeds, say)


def _close_speeds(names: Sequence[str], speeds: Speeds, say: Say) -> Iterator[str]:
    for n, one in enumerate(names):
        for other in names[n + 1 :]:
            found = speeds.get((one, other))
            if found is None or found.change is None or found.outcome in ("faster", "slower"):
                continue
            noise = (
                say("nothing is known of the noise")
                if found.noise is None
                else say("the same load differs from itself by up to {noise}", noise=percent(found.noise))
            )
            yield say(
                "{other} against {one}, one user: {change} in {blocks}, and {why}; {pairs} blocks have an "
                "interval of their own",
                other=other,
                one=one,
                change=signed_percent(found.change),
                blocks=say.count(found.blocks, "{n} block", "{n} blocks"),
                why=noise,
                pairs=fewest_pairs(),
            )
