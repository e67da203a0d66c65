"""Quality against speed: who lies on the front, and who is known to be beaten in both. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evener.records.verdicts import DimensionVerdict
from evener.report.campaign.parts import (
    ContestantStory,
    DimensionStory,
    PairedFigure,
    ParetoPoint,
    ParetoStory,
    PlaceStory,
)

Speeds = Mapping[tuple[str, str], PairedFigure]  # (base, other) contestant -> the second's speed against the first's


def pareto(
    contestants: Sequence[ContestantStory],
    places: Mapping[str, PlaceStory],
    dimensions: Sequence[DimensionStory],
    speeds: Speeds,
) -> tuple[ParetoStory, ...]:
    """One per suite that at least two contestants with a speed answered."""
    found = []
    for one in dimensions:
        points = [point for c in contestants if (point := _point(c, places, one.verdict))]
        if len(points) > 1:
            placed = tuple(_placed(p, points, one.verdict, speeds) for p in points)
            found.append(ParetoStory(dimension=one.verdict.dimension, points=placed))
    return tuple(found)


def _point(
    contestant: ContestantStory, places: Mapping[str, PlaceStory], dimension: DimensionVerdict
) -> ParetoPoint | None:
    score = next((s for s in contestant.scores if s.dimension == dimension.dimension), None)
    rate = places[contestant.place].one_user if contestant.place else None
    if score is None or score.mean is None or rate is None or rate.value is None or contestant.place is None:
        return None
    return ParetoPoint(
        contestant=contestant.name,
        place=contestant.place,
        rate=rate.value,
        rate_interval=rate.interval,
        score=score.mean,
        score_interval=score.interval,
        n=score.n,
        front=False,
        dominated_by=(),
    )


def _placed(
    point: ParetoPoint, points: Sequence[ParetoPoint], dimension: DimensionVerdict, speeds: Speeds
) -> ParetoPoint:
    better = [p for p in points if p.rate >= point.rate and p.score >= point.score and p is not point
              and (p.rate, p.score) != (point.rate, point.score)]  # fmt: skip
    return ParetoPoint(
        contestant=point.contestant,
        place=point.place,
        rate=point.rate,
        rate_interval=point.rate_interval,
        score=point.score,
        score_interval=point.score_interval,
        n=point.n,
        front=not better,
        dominated_by=tuple(p.contestant for p in better if _dominates(p, point, dimension, speeds)),
    )


def _dominates(one: ParetoPoint, other: ParetoPoint, dimension: DimensionVerdict, speeds: Speeds) -> bool:
    """Both must be known: better answers by the corrected test, and more speed."""
    return is_better(one.contestant, other.contestant, dimension) and is_faster(
        one.contestant, other.contestant, speeds
    )


def is_better(one: str, other: str, dimension: DimensionVerdict) -> bool:
    words = {(p.first, p.second): p.word for p in dimension.pairs}
    return words.get((one, other)) == "better" or words.get((other, one)) == "worse"


def is_faster(one: str, other: str, speeds: Speeds) -> bool:
    found = speeds.get((other, one))
    return found is not None and found.outcome == "faster"
