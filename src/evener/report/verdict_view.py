"""What several evaluations prove, in the terminal: who is ahead by how much. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evener.records.verdicts import DimensionVerdict, PenaltyVerdict, Standing, Verdicts
from evener.report import cells, measure_rows
from evener.report.evals_rows import ended, interval, points
from evener.report.verdict_rows import (
    PAIR_HEADS,
    PENALTY_HEADS,
    canary_line,
    cautions,
    judges,
    pair_row,
    penalty_pair_row,
    penalty_remarks,
    penalty_row,
    preferences,
    remarks,
    unscored,
)

STRIP = 30
_FOLDS = 13  # the least width of a column that folds; the same for all, or rich cuts off the last


def view(found: Verdicts) -> RenderableType:
    """What must be known first, then each dimension, then what each candidate's arms did."""
    parts: list[RenderableType] = [
        cells.bullet("✕" if c.grave else "!", c.text, "red" if c.grave else "yellow") for c in cautions(found)
    ]
    for one in (*found.dimensions, *found.judged):
        parts += [Text(), *_dimension(one)]
    for penalty in found.penalties:
        parts += [Text(), *_penalty(penalty)]
    for name, lines in preferences(found):
        parts += [Text(), cells.text(("in pairs", "bold"), f", {name}"), *_bullets(lines)]
    if worth := judges(found):
        parts += [Text(), cells.text(("judges", "bold")), *_bullets(worth)]
    for one in found.arms:
        parts += [Text(), *_dimension(one)]
    parts += [cells.text("\n", ("canary", "bold"), f": {canary_line(pair)}") for pair in found.canaries]
    return Group(*parts)


def _dimension(one: DimensionVerdict) -> Iterator[RenderableType]:
    yield cells.text((one.dimension, "bold"), ": ", (one.sentence, "cyan"))
    yield standings_table(one)
    if one.pairs:
        yield Text()
        yield pairs_table(one)
    yield from (cells.text((line, "dim")) for line in (*unscored(one), *measure_rows.lines(one), *remarks(one)))
    if one.disagreements:
        names = ", ".join(dict.fromkeys(apart.question for apart in one.disagreements))
        yield cells.text((f"farthest apart on {names}: --html FILE shows both answers", "dim"))


def _penalty(one: PenaltyVerdict) -> Iterator[RenderableType]:
    yield cells.text((one.dimension, "bold"), ": ", (one.sentence, "cyan"))
    yield _table(PENALTY_HEADS, [penalty_row(standing) for standing in one.standings], ("documents", "if 25 without"))
    if one.pairs:
        yield Text()
        yield _table(PAIR_HEADS, [penalty_pair_row(pair) for pair in one.pairs], ("won-lost", "95 %"))
    yield from (cells.text((line, "dim")) for line in penalty_remarks(one))


def _bullets(lines: Sequence[str]) -> Iterator[RenderableType]:
    return (Padding(cells.bullet("-", line), (0, 0, 0, 2)) for line in lines)


def standings_table(one: DimensionVerdict, *, width: int | None = None) -> RenderableType:
    """Means with their intervals as a strip from 0 to 100, and how answers ended; dropped candidates are dim."""
    others = {ending.candidate: ended(ending.outcomes, ending.thought) for ending in one.endings}

    def build(dropped: Collection[str]) -> Table:
        names = ["#score", "#95 %", "#n", "0 to 100", "other outcomes"]
        names = [name for name in names if name.removeprefix("#") not in dropped]
        table = cells.table("candidate", *names)
        table.columns[0].min_width = _FOLDS
        for column in table.columns:
            column.no_wrap = column.no_wrap or column.header == "0 to 100"
            column.min_width = _FOLDS if column.header == "other outcomes" else column.min_width
        for standing in one.standings:
            row = _cells(standing) | {"other outcomes": others.get(standing.candidate, "")}
            style = "dim" if standing.candidate in one.dropped else None
            table.add_row(cells.text(standing.candidate), *(cells.text(row[name]) for name in names), style=style)
        return table

    return cells.Fitted(build, ("0 to 100",), width=width)


def _cells(standing: Standing) -> dict[str, str]:
    return {
        "#score": points(standing.mean),
        "#95 %": interval(standing.interval),
        "#n": str(standing.n),
        "0 to 100": strip(standing.mean, standing.interval),
    }


def strip(mean: float | None, ends: tuple[float, float] | None) -> str:
    """An interval as a line and its mean as a dot, on a scale of 0 to 1."""
    if mean is None:
        return ""
    low, high = ends or (mean, mean)
    first, last, dot = (min(STRIP - 1, max(0, round(x * (STRIP - 1)))) for x in (low, high, mean))
    return "".join("●" if i == dot else "─" if first <= i <= last else " " for i in range(STRIP))


def pairs_table(one: DimensionVerdict, *, width: int | None = None) -> RenderableType:
    """One row per pair; the word is about the first."""
    return _table(PAIR_HEADS, [pair_row(pair) for pair in one.pairs], ("won-lost", "95 %"), width=width)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str], *, width: int | None = None
) -> RenderableType:
    """Columns of `optional` are left out, in this order, where there is no room."""

    def build(dropped: Collection[str]) -> Table:
        kept = [n for n, head in enumerate(heads) if head.removeprefix("#") not in dropped]
        table = cells.table(*(heads[n] for n in kept))
        for column in (table.columns[0], table.columns[-1]):
            column.min_width = column.min_width if column.no_wrap else _FOLDS
        for row in rows:
            table.add_row(*(cells.text(row[n]) for n in kept))
        return table

    return cells.Fitted(build, optional, width=width)
