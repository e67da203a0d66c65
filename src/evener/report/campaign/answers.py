"""What the answers prove, said in the report's language: the best set of each suite, what hangs on few scores. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evener.records.verdicts import CanaryVerdict, DimensionVerdict, PairVerdict, PenaltyVerdict
from evener.report.campaign.parts import CanaryStory, DimensionStory, Known, PenaltyStory, ScoreStory
from evener.report.evals_rows import signed
from evener.report.judges_rows import by_lines
from evener.report.language import Say

Ruling = DimensionVerdict | PenaltyVerdict

SHOWN_QUESTIONS = 6
SHOWN_PAIRS = 1  # per suite
_GAP = re.compile(r"a gap of (\d+) points")
_SWEEP = re.compile(r"(\d+)-0 is the least that counts")


def dimensions(known: Known, say: Say) -> tuple[DimensionStory, ...]:
    """Suites over contestants, by code and by judges, then arms of one contestant."""
    found = known.verdicts
    return tuple(
        DimensionStory(
            verdict=replace(one, disagreements=()), sentence=sentence(one, say), remarks=tuple(_remarks(one, say))
        )
        for one in ((*found.dimensions, *found.judged, *found.arms) if found else ())
    )


def penalties(known: Known, say: Say) -> tuple[PenaltyStory, ...]:
    found = known.verdicts.penalties if known.verdicts else ()
    return tuple(PenaltyStory(verdict=one, sentence=sentence(one, say)) for one in found)


def ruling(known: Known) -> tuple[Ruling, ...]:
    """What can rule a contestant out: scores by code, and judges against whom nothing speaks."""
    found = known.verdicts
    if found is None:
        return ()
    judged: tuple[Ruling, ...] = (*found.judged, *found.penalties)
    return (*found.dimensions, *(one for one in judged if one.judged is None or not one.judged.marks))


def sentence(found: Ruling, say: Say) -> str:
    if not found.best:
        return say("nothing was scored")
    if len(found.best) == 1 and not found.dropped:
        return say("only {name} was scored", name=found.best[0])
    if len(found.best) == 1:
        return say("{name} is the best; ruled out: {dropped}", name=found.best[0], dropped=say.listed(found.dropped))
    kept = say.listed(found.best)
    if not found.dropped:
        return say("which of {kept} is the best cannot be told", kept=kept)
    return say(
        "which of {kept} is the best cannot be told; ruled out: {dropped}", kept=kept, dropped=say.listed(found.dropped)
    )


def _remarks(one: DimensionVerdict, say: Say) -> Iterator[str]:
    yield _design(one, say)
    if told := fragile(one, say):
        yield told
    if one.noise is not None:
        yield say(
            "a candidate differs from itself by {points} points: the noise floor", points=f"{one.noise * 100:.1f}"
        )
    if any(pair.flips_with_policy for pair in one.pairs):
        pairs = [f"{p.first} / {p.second}" for p in one.pairs if p.flips_with_policy]
        yield say("it hangs on what becomes of answers that are no evidence: {pairs}", pairs=say.comma.join(pairs))
    if one.judged:
        yield from by_lines(one.judged)  # as it was recorded


def _design(one: DimensionVerdict, say: Say) -> str:
    """What the size could prove at best; in other words than these as it was written."""
    gap, sweep = _GAP.search(one.design), _SWEEP.search(one.design)
    n = max((s.n for s in one.standings), default=0)
    clusters = max((s.clusters for s in one.standings), default=0)
    if not gap or not sweep:
        return say(one.design)
    return say(
        "{n} questions in {clusters} clusters: a gap of {gap} points is found 4 times in 5, and {sweep}-0 is the "
        "least that counts",
        n=n,
        clusters=clusters,
        gap=gap[1],
        sweep=sweep[1],
    )


def fragile(one: DimensionVerdict, say: Say) -> str | None:
    """How few scores hold the first place."""
    if not one.fragile or not one.fragile.flips:
        return None
    some = ", ".join(one.fragile.questions[:SHOWN_QUESTIONS])
    more = ", …" if len(one.fragile.questions) > SHOWN_QUESTIONS else ""
    return say(
        "{flips} of {of} scores would bring {second} level with {first}: {questions}",
        flips=one.fragile.flips,
        of=one.fragile.of,
        second=one.fragile.second,
        first=one.fragile.first,
        questions=some + more,
    )


def flips(found: Sequence[DimensionStory], say: Say) -> Iterator[str]:
    """What would change the word of each suite."""
    for one in (story.verdict for story in found):
        if told := fragile(one, say):
            yield f"{one.dimension}: {told}"
        for pair in _closest(one):
            yield f"{one.dimension}: {_needed(pair, say)}"


def _closest(one: DimensionVerdict) -> list[PairVerdict]:
    """The leader and those whom the fewest questions would tell from it."""
    leader = one.best[0] if one.best else None
    pairs = [p for p in one.pairs if p.needed and leader in (p.first, p.second)]
    return sorted(pairs, key=lambda pair: pair.needed or 0)[:SHOWN_PAIRS]


def _needed(pair: PairVerdict, say: Say) -> str:
    return say(
        "{first} and {second} lie {gap} points apart: {needed} questions like these would find such a gap, {n} count "
        "for both",
        first=pair.first,
        second=pair.second,
        gap=signed(pair.gap).lstrip("+-"),
        needed=pair.needed,
        n=pair.n,
    )


def scores(contestant: str, known: Known) -> tuple[ScoreStory, ...]:
    """Its standing in every suite."""
    names = {c for c, own in known.candidates.items() if own == contestant} | {contestant}
    return tuple(
        ScoreStory(
            dimension=one.dimension,
            mean=s.mean,
            interval=s.interval,
            n=s.n,
            clusters=s.clusters,
            best=s.candidate in one.best,
        )
        for one in ((*known.verdicts.dimensions, *known.verdicts.judged) if known.verdicts else ())
        for s in one.standings
        if s.candidate in names and s.mean is not None
    )


def canaries(known: Known, say: Say) -> tuple[CanaryStory, ...]:
    return tuple(
        CanaryStory(contestant=name, verdict=one, sentence=_canary(one, say))
        for name, found in known.canaries.items()
        for one in found
    )


def _canary(one: CanaryVerdict, say: Say) -> str:
    who = {"first": one.first, "second": one.second}
    same = say("{same} of {n} answers are the same", same=one.n - len(one.parted), n=one.n)
    floor = ""
    if one.parted and one.itself is not None:
        floor = say("; against itself {parted} of {n} differ", parted=one.itself, n=one.itself_n)
    told = {
        "same": say("{first} and {second} answer alike", **who),
        "within tolerance": say("{first} and {second} answer alike but for rounding", **who),
        "differs": say("{first} and {second} do not answer alike: look at it before anything is ranked", **who),
        "unknown": say("{first} and {second} cannot be compared", **who),
    }[one.word]
    return f"{told}{say(': ')}{same}{floor}"
