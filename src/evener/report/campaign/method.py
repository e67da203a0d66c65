"""How a campaign was measured, and what its figures do not say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.campaign import CampaignData
from evener.records.evaluation import EvalResult
from evener.report.campaign.parts import Known, PlaceStory
from evener.report.campaign.places import stage_of
from evener.report.language import Say
from evener.report.words import percent
from evener.stats.paired import fewest_pairs


def limits(data: CampaignData, places: Sequence[PlaceStory], known: Known, say: Say) -> Iterator[str]:
    """What the figures do not say; only what holds for this campaign."""
    campaign = data.state.campaign
    if any(p.one_user for p in places):
        yield say(
            "Speed for one user is the decode rate after the first token, prompts not included. Other prompts, other "
            "lengths, other figures."
        )
        yield say(
            "A value over blocks is the median of the blocks; its interval reaches from the least to the greatest end "
            "of any block's own 95 % interval. Two blocks of one night say little about another day."
        )
    if any(p.comfort for p in places):
        yield say(
            "Comfortable is what the stated limits say, by the requests of all blocks together: people with other "
            "limits, other counts."
        )
    if known.verdicts:
        yield say(
            "Answers were judged once per contestant, not per layout; that layouts compute the same rests on the "
            "canary, which proves nothing about rare errors."
        )
        yield say("Scores are about these questions. No two judges are equivalent.")
    if any(p.cost for p in places):
        yield say("Energy is that of the cards while they worked; machines, idle hours, cooling and people cost more.")
    if any(not one.is_ours for one in campaign.contestants):
        yield say("Of servers that ran already nobody knows all conditions: they stand beside the others, marked.")
    if any(p.per_token_ms for p in places):
        yield say("Where a token's milliseconds go is predicted, not measured.")


def method(data: CampaignData, known: Known, say: Say) -> Iterator[str]:
    """How it was measured, so that somebody can do it again."""
    campaign = data.state.campaign
    yield say(
        "{n} contestants in the layouts {layouts}, {repeats} in random order (seed {seed}); context {context} "
        "tokens per user, {parallel} sequences, KV cache {kv}.",
        n=len(campaign.contestants),
        layouts=say.comma.join(campaign.layouts),
        repeats=say.count(campaign.repeats, "{n} block", "{n} blocks"),
        seed=campaign.seed,
        context=say.comma.join(map(str, campaign.contexts)),
        parallel=campaign.parallel,
        kv=campaign.kv,
    )
    if campaign.a_versus_a:
        yield say("The first contestant was measured once more, as if it were another: that is the noise floor.")
    if campaign.cool:
        yield say("Between loads cards that tell their temperature were given time to cool down to where they began.")
    for one in campaign.users:
        counts = say.comma.join(map(str, one.counts))
        if one.profile:
            yield say("Users: profile {profile}, {counts} people.", profile=one.profile, counts=counts)
        else:
            yield say(
                "Users: {counts} at once, prompts of {prompt} and answers of {output} tokens, each sends when its "
                "former answer has ended.",
                counts=counts,
                prompt=one.prompt_tokens,
                output=one.output_tokens,
            )
    if campaign.speed:
        yield say(
            "Speed: {repetitions} repetitions of each test, one request at a time, by the client's clock.",
            repetitions=campaign.speed.repetitions,
        )
    yield from _asked(data, say)
    yield say(
        "Speeds are told apart where 95 % intervals of medians (order statistics) do not overlap in any block and the "
        "change is greater than the noise; from {n} blocks on by exact signed ranks.",
        n=fewest_pairs(),
    )
    if known.verdicts:
        yield say(
            "Answers are compared pairwise on the same questions (exact McNemar or sign flips by cluster, Holm over "
            "all pairs); best sets hold the best contestant at 95 %."
        )


def _asked(data: CampaignData, say: Say) -> Iterator[str]:
    asked = data.state.campaign.answers
    if asked is None:
        return
    evals = [stage.evaluation for run in data.units.values() if (stage := stage_of(run)) and stage.evaluation]
    sizes = say.comma.join(_sizes(evals, asked.suites))
    yield say(
        "Answers: {suites}; {epochs}, temperature {temperature}, at most {tokens} tokens.",
        suites=sizes,
        epochs=say.count(asked.epochs, "{n} epoch", "{n} epochs"),
        temperature=f"{asked.temperature:g}",
        tokens=asked.most_tokens,
    )
    if asked.judges:
        names = [one.model or one.name for one in asked.judges]
        yield say("Judges: {names}.", names=say.listed(names))


def _sizes(evals: Sequence[EvalResult], suites: Sequence[str]) -> list[str]:
    """Each suite with its number of questions, where it was asked."""
    known = {one.suite: len(one.scores) for result in evals for one in result.results if one.arm == "single"}
    return [f"{suite} (n={known[suite]})" if known.get(suite) else suite for suite in suites]


def assumptions(known: Known, say: Say) -> Iterator[str]:
    """What money rests on."""
    if known.prices and known.prices.hardware:
        yield say(
            "Cards are used for {years} years of {hours} hours, {load} of that time at the measured rate. Cards only: "
            "no "
            "machines, no cooling, no network, no time of people.",
            years=f"{known.prices.years:g}",
            hours=f"{known.prices.hours_per_year:g}",
            load=percent(known.prices.load),
        )
