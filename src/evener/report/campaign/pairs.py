"""Two places in the same blocks: by how much they differ, whether that can be said, and how one differs from itself.

From 6 blocks on signed ranks of the blocks' ratios decide. Below that both figures need intervals of their own, which
must be apart, the same way round, in every block. Either way a change that is no greater than what the same load
differs from itself separates nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from evener.report.against_parts import SideFigure
from evener.report.campaign.parts import (
    NoiseFigure,
    PairedBy,
    PairedFigure,
    PairedOutcome,
    PlaceStory,
    Reading,
)
from evener.report.figures import told_apart
from evener.report.language import Say
from evener.report.words import Interval
from evener.stats import paired

Floor = Mapping[str, float | None]  # name of a figure -> what it differs from itself


class Kind(NamedTuple):
    """A figure by which places are compared."""

    name: str  # in English: a key
    more_is_better: bool


ONE, ALL, WAIT = Kind("one user", True), Kind("all together", True), Kind("first token", False)


def comparable(place: PlaceStory) -> dict[tuple[Kind, str], Reading]:
    """The figures by which a place is compared with others: speed for one, and by user count all of them and waits."""
    found = {(ONE, ""): place.one_user} if place.one_user else {}
    for level in place.levels:
        if level.users > 1:
            found[ALL, level.total.about] = level.total
        found[WAIT, level.ttft.about] = level.ttft
    return {key: reading for key, reading in found.items() if reading.value is not None}


def compared(base: PlaceStory, other: PlaceStory, floor: Floor, say: Say) -> Iterator[PairedFigure]:
    """Every figure that both have in a common block."""
    theirs = comparable(other)
    for (kind, about), mine in comparable(base).items():
        if ((kind, about)) in theirs:
            found = pair(kind, about, mine, theirs[kind, about], floor, say)
            if found.blocks:
                yield found


def by_speed(base: PlaceStory, other: PlaceStory, floor: Floor, say: Say) -> PairedFigure | None:
    """For one user alone; None where one of them was not measured in a common block."""
    return next((found for found in compared(base, other, floor, say) if found.name == say(ONE.name)), None)


def pair(kind: Kind, about: str, mine: Reading, theirs: Reading, floor: Floor, say: Say) -> PairedFigure:
    both = in_common(mine, theirs)
    pairs = [(a.value, b.value) for a, b in both if a.value and b.value]
    shift = paired.shift(paired.log_ratios(pairs)) if pairs else None
    change = paired.as_change(shift.estimate) if shift else None
    noise = floor.get(kind.name)
    if shift and shift.interval:
        low, high = (paired.as_change(end) for end in shift.interval)
        ends: Interval = (low, high)
        by: PairedBy = "signed ranks"
        seen = 0 if low <= 0 <= high else 1 if (low > 0) == kind.more_is_better else -1
        outcome = _outcome(seen, change, noise)
    else:
        ends, outcome = _ends(both), _in_every_block(both, kind, change, noise)
        by = "every block" if ends else "nothing"
    return PairedFigure(
        name=say(kind.name),
        about=about,
        unit=mine.unit,
        base=mine.value,
        other=theirs.value,
        blocks=len(pairs),
        change=change,
        interval=ends,
        outcome=outcome,
        by=by,
        noise=noise,
    )


def in_common(mine: Reading, theirs: Reading) -> list[tuple[SideFigure, SideFigure]]:
    """The two figures of each block that both have."""
    others = {one.block: one.figure for one in theirs.blocks}
    return [(one.figure, others[one.block]) for one in mine.blocks if one.block in others]


def _in_every_block(
    both: Sequence[tuple[SideFigure, SideFigure]], kind: Kind, change: float | None, noise: float | None
) -> PairedOutcome:
    words = {told_apart(a, b, more_is_better=kind.more_is_better) for a, b in both}
    if not words or "unknown" in words:
        return "unknown"
    seen = {frozenset({"better"}): 1, frozenset({"worse"}): -1}.get(frozenset(words), 0)
    return _outcome(seen, change, noise)


def _outcome(seen: int, change: float | None, noise: float | None) -> PairedOutcome:
    """A longer wait is slower, whatever its sign."""
    if not seen or change is None or abs(change) <= (noise or 0.0):
        return "cannot be separated"
    return "faster" if seen > 0 else "slower"


def _ends(both: Sequence[tuple[SideFigure, SideFigure]]) -> tuple[float, float] | None:
    """Each figure at the far end of its interval, in every block."""
    ends = [(b.interval[0] / a.interval[1] - 1, b.interval[1] / a.interval[0] - 1)
            for a, b in both if a.interval and b.interval and a.interval[0] > 0]  # fmt: skip
    return (min(low for low, _ in ends), max(high for _, high in ends)) if len(ends) == len(both) and ends else None


def noise(places: Sequence[PlaceStory], again: Iterable[tuple[PlaceStory, PlaceStory]], say: Say) -> list[NoiseFigure]:
    """What figures differ from themselves: the first contestant as if it were another, and one load in two blocks."""
    found: dict[str, tuple[list[float], list[float]]] = {kind.name: ([], []) for kind in (ONE, ALL, WAIT)}
    for mine, other in again:
        theirs = comparable(other)
        for (kind, about), reading in comparable(mine).items():
            if (kind, about) in theirs:
                both = in_common(reading, theirs[kind, about])
                found[kind.name][0].extend(b.value / a.value - 1 for a, b in both if a.value and b.value)
    for place in places:
        for (kind, _), reading in comparable(place).items():
            values = [one.figure.value for one in reading.blocks if one.figure.value]
            found[kind.name][1].extend(b / a - 1 for a, b in combinations(values, 2))
    return [
        NoiseFigure(
            name=say(name),
            again=tuple(ours),
            blocks=tuple(blocks),
            floor=max(map(abs, ours or blocks), default=None),
        )
        for name, (ours, blocks) in found.items()
        if ours or blocks
    ]
