"""A verdict's words and figures, the same in every face: what is better, what is fragile, and what to know before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.verdicts import (
    CanaryVerdict,
    DimensionVerdict,
    Disagreement,
    Ending,
    JudgedBy,
    PairVerdict,
    PenaltyStanding,
    PenaltyVerdict,
    Preference,
    Verdicts,
)
from evener.report.evals_rows import TRUNCATED_FROM, ended, outcomes, p_value, points, reasons, signed, signed_interval
from evener.report.forest import Line
from evener.report.judges_rows import by_line, by_lines, pair_line, worth_lines
from evener.report.parts import Caution
from evener.report.rows import condition
from evener.report.words import UNKNOWN, count, listed, number, percent

SHOWN_QUESTIONS = 6
CANARY = {
    "same": "answer alike",
    "within tolerance": "answer alike but for rounding",
    "differs": "do not answer alike: look at it before anything is ranked",
    "unknown": "cannot be compared",
}
PAIR_HEADS = ("pair", "#gap", "#95 %", "#won-lost", "#p (Holm)", "verdict")
PENALTY_HEADS = ("candidate", "#penalty", "#95 %", "#if 25 without", "#segments", "#documents", "#unscored")
ENDING_HEADS = (
    "candidate", "#left out", "#counted wrong", "#answers", "#cut short", "#thinking", "other outcomes", "#tokens",
    "#seconds",
)  # fmt: skip


def cautions(found: Verdicts) -> tuple[Caution, ...]:
    """What must be known before any word below is believed; grave ones first."""
    return tuple(sorted(_cautions(found), key=lambda caution: not caution.grave))


def _cautions(found: Verdicts) -> Iterator[Caution]:
    if found.differing:
        names = listed([condition(name) for name in found.differing])
        yield Caution(grave=True, text=f"The candidates were not asked alike, or nobody knows: {names}")
    for code in found.dimensions:
        for ending in code.endings:
            if (ending.truncated or 0.0) >= TRUNCATED_FROM:
                said = f"{percent(ending.truncated or 0.0)} of the answers were cut short"
                yield Caution(grave=True, text=f"{code.dimension}: {ending.candidate}: {said}")
    every: tuple[DimensionVerdict | PenaltyVerdict, ...] = (*found.dimensions, *found.judged, *found.penalties)
    for one in every:
        if flips := [f"{pair.first} and {pair.second}" for pair in one.pairs if pair.flips_with_policy]:
            text = f"{one.dimension}: the word on {listed(flips)} hangs on what becomes of answers that are no evidence"
            yield Caution(grave=False, text=text)
    for mark in dict.fromkeys(mark for by in _judges(found) for mark in by.marks):
        yield Caution(grave=False, text=f"judges: {mark}")
    for pair in found.canaries:
        if pair.word == "differs":
            yield Caution(grave=True, text=f"canary: {canary_line(pair)}")
    for note in found.notes:
        if "were cut short at" not in note:  # said above, with the share of each
            yield Caution(grave="must not be used" in note or ": incomplete:" in note, text=note)


def judges(found: Verdicts) -> list[str]:
    """What all who judged are worth; empty where nobody did."""
    return worth_lines(_judges(found))


def _judges(found: Verdicts) -> Iterator[JudgedBy]:
    yield from (one.judged for one in found.judged if one.judged is not None)
    yield from (one.judged for one in found.penalties)
    yield from (one.judged for one in found.preferences)


def penalty_row(standing: PenaltyStanding) -> tuple[str, ...]:
    """In the order of PENALTY_HEADS."""
    return (
        standing.candidate,
        _penalty(standing.per_1000),
        UNKNOWN if standing.interval is None else "-".join(f"{end:.0f}" for end in standing.interval),
        _penalty(standing.counted_wrong),
        str(standing.segments),
        str(standing.documents),
        str(standing.unscored) if standing.unscored else UNKNOWN,
    )


def penalty_pair_row(pair: PairVerdict) -> tuple[str, ...]:
    """In the order of PAIR_HEADS, in penalty per 1000 source units."""
    ends = UNKNOWN if pair.interval is None else " to ".join(f"{end:+.0f}" for end in pair.interval)
    gap = UNKNOWN if pair.gap is None else f"{pair.gap:+.1f}"
    return (
        f"{pair.first} / {pair.second}", gap, ends, f"{pair.wins}-{pair.losses}", p_value(pair.p_holm), pair_word(pair),
    )  # fmt: skip


def penalty_remarks(one: PenaltyVerdict) -> list[str]:
    lines = ["lower is better; of a pair, won and lost documents"]
    if one.noise is not None:
        lines.append(f"noise floor: {one.noise:.1f} between a candidate and itself")
    if one.policy == "counted wrong":
        lines.append("segments without a translation count as one critical error")
    return [*lines, *by_lines(one.judged)]


def _penalty(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def preference_line(one: Preference) -> str:
    """Who is preferred, in pairs that were judged in both orders."""
    word = {"better": f"{one.pair.first} preferred", "worse": f"{one.pair.second} preferred"}.get(one.word, one.word)
    return f"{word}: {pair_line(one.pair)}, by Holm {p_value(one.p_holm)}"


def preferences(found: Verdicts) -> list[tuple[str, list[str]]]:
    """(by whom, what of each pair and what these judges are worth)."""
    told: dict[str, list[Preference]] = {}
    for one in found.preferences:
        told.setdefault(by_line(one.judged), []).append(one)
    return [
        (
            name,
            [preference_line(one) for one in mine]
            + list(dict.fromkeys(line for one in mine for line in by_lines(one.judged))),
        )
        for name, mine in told.items()
    ]


def unscored(one: DimensionVerdict) -> list[str]:
    """Why answers have no score, of each candidate that has such."""
    return [f"{end.candidate}: unscored: {reasons(end.reasons)}" for end in one.endings if end.reasons]


def canary_line(pair: CanaryVerdict) -> str:
    return f"{pair.first} and {pair.second} {CANARY[pair.word]}. {pair.sentence}"


def pair_row(pair: PairVerdict) -> tuple[str, ...]:
    """In the order of PAIR_HEADS."""
    return (
        f"{pair.first} / {pair.second}",
        signed(pair.gap),
        signed_interval(pair.interval),
        f"{pair.wins}-{pair.losses}",
        p_value(pair.p_holm),
        pair_word(pair),
    )


def pair_word(pair: PairVerdict) -> str:
    """What can be said of the first."""
    if pair.flips_with_policy:
        return f"{pair.word}: it hangs on what becomes of failed answers"
    if pair.word == "cannot be separated" and pair.needed:
        return f"{pair.word}; {pair.needed} questions would"
    return pair.word


def ending_row(one: Ending) -> tuple[str, ...]:
    """In the order of ENDING_HEADS: both policies side by side, and how answers ended."""
    return (
        one.candidate,
        points(one.excluded),
        points(one.counted_wrong),
        str(one.answered) if one.answered == one.asked else f"{one.answered} of {one.asked}",
        _share(one.truncated),
        _share(one.thought),
        outcomes(one.outcomes, most=4) or UNKNOWN,
        UNKNOWN if one.tokens is None else str(one.tokens),
        number(one.seconds),
    )


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else percent(value)


def remarks(one: DimensionVerdict) -> list[str]:
    """What the size could prove, what hangs on few scores, what a candidate differs from itself."""
    lines = [one.design]
    if one.fragile and one.fragile.flips:
        some = ", ".join(one.fragile.questions[:SHOWN_QUESTIONS])
        more = ", ..." if len(one.fragile.questions) > SHOWN_QUESTIONS else ""
        lines.append(
            f"{one.fragile.flips} of {one.fragile.of} scores would bring {one.fragile.second} level with "
            f"{one.fragile.first}: {some}{more}"
        )
    if one.noise is not None:
        lines.append(f"noise floor: {one.noise * 100:.1f} points between a candidate and itself")
    if one.policy == "counted wrong":
        lines.append("answers that are no evidence are counted as wrong")
    return lines if one.judged is None else [*lines, *by_lines(one.judged)]


def lines(one: DimensionVerdict) -> list[Line]:
    """Of every candidate that has a score, best first, and how its answers ended; what is ruled out is dim."""
    others = {ending.candidate: ended(ending.outcomes, ending.thought) for ending in one.endings}
    return [
        Line(
            name=s.candidate,
            mean=s.mean,
            interval=s.interval,
            n=s.n,
            dim=s.candidate in one.dropped,
            ended=others.get(s.candidate, ""),
        )
        for s in one.standings
        if s.mean is not None
    ]


def by_pair(found: Sequence[Disagreement]) -> list[tuple[str, list[Disagreement]]]:
    """Disagreements under the two that they are of; the names are sorted, so that the order tells nothing."""
    pairs: dict[str, list[Disagreement]] = {}
    for one in found:
        pairs.setdefault(" and ".join(sorted(said.candidate for said in one.answers)), []).append(one)
    return list(pairs.items())


def whose(one: Disagreement) -> str:
    """Who said what, and what it scored."""
    sides = [
        f"{place} is {said.candidate}, {points(said.score)} points ({said.outcome.replace('_', ' ')})"
        for place, said in zip(("One", "two"), one.answers, strict=True)
    ]
    epochs = f"; the first of {count(one.epochs, 'epoch')} is shown" if one.epochs > 1 else ""
    return ", ".join(sides) + epochs
