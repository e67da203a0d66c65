"""Further figures of a suite in words, the same in every face: each with its interval, its n and what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evener.records.evaluation import SuiteResult
from evener.records.measures import Measure
from evener.records.verdicts import DimensionVerdict
from evener.report.words import UNKNOWN

HEADS = ("suite", "measure", "#figure", "#95 %", "#n", "what it is")
MEANINGS = {
    "F": "2 C / (N + C + I): C right, I wrong, of N",
    "net": "(C - I) / N: a wrong answer costs what a right one brings",
    "abstain_recall": "declined, of what cannot be answered",
    "over_refusal": "declined, of what can be answered",
    "pass@": "one of so many answers is right",
    "pass^": "all of so many answers are right",
    "variance_between": "of the questions' own means, in their scores' square",
    "variance_within": "of repeated answers to one question",
}
_PLACES = {"share": 2, "index": 2, "points": 1, "edits per 100 words": 1, "variance": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """One line of the table, in the order of HEADS."""

    suite: str
    measure: str
    figure: str
    interval: str
    n: str
    told: str

    @property
    def cells(self) -> tuple[str, ...]:
        return self.suite, self.measure, self.figure, self.interval, self.n, self.told


def measure_rows(results: Sequence[SuiteResult]) -> list[MeasureRow]:
    """Of what was asked once: other arms are held against it by their scores."""
    return [
        MeasureRow(
            suite=one.suite,
            measure=name.replace("_", " "),
            figure=figure(measure),
            interval=interval(measure),
            n=UNKNOWN if measure.n is None else str(measure.n),
            told=told(name, measure),
        )
        for one in results
        if one.arm == "single"
        for name, measure in one.measures.items()
        if measure.value is not None
    ]


def lines(one: DimensionVerdict) -> list[str]:
    """A line per measure: of each candidate in turn, in the order of the standings."""
    return [
        f"{name.replace('_', ' ')}: " + ", ".join(f"{candidate} {whole(mine)}" for candidate, mine in known.items())
        for name, known in _known(one).items()
    ]


def side_by_side(one: DimensionVerdict) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(heads, rows): a column per candidate."""
    known = _known(one)
    names = list(dict.fromkeys(name for mine in known.values() for name in mine))
    rows = [
        (
            measure.replace("_", " "),
            *(whole(mine[name]) if name in mine else UNKNOWN for name in names),
            told(measure, next(iter(mine.values()))),
        )
        for measure, mine in known.items()
    ]
    return ("measure", *names, "what it is"), rows


def _known(one: DimensionVerdict) -> dict[str, dict[str, Measure]]:
    each = {
        name: {candidate: measure for candidate, measure in mine.items() if measure.value is not None}
        for name, mine in one.measures.items()
    }
    return {name: mine for name, mine in each.items() if mine}


def whole(one: Measure) -> str:
    """A figure with its company: "0.60 (0.44 to 0.76, n=40)"."""
    company = [interval(one)] if one.interval else []
    company += [] if one.n is None else [f"n={one.n}"]
    return f"{figure(one)} ({', '.join(company)})" if company else figure(one)


def figure(one: Measure) -> str:
    return UNKNOWN if one.value is None else f"{one.value:.{_PLACES[one.unit]}f}"


def interval(one: Measure) -> str:
    """ "0.41 to 0.80": a figure below nought has a sign of its own."""
    return UNKNOWN if one.interval is None else " to ".join(f"{end:.{_PLACES[one.unit]}f}" for end in one.interval)


def told(name: str, one: Measure) -> str:
    """How it was computed, else what it means."""
    known = one.how or next((words for start, words in MEANINGS.items() if name.startswith(start)), "")
    return f"{one.unit}; {known}" if one.unit == "edits per 100 words" else known
