"""What several evaluations prove, in the terminal: who is ahead by how much. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evener.records.verdicts import DimensionVerdict, Standing, Verdicts
from evener.report import cells
from evener.report.evals_rows import interval, outcomes, points
from evener.report.verdict_rows import PAIR_HEADS, canary_line, cautions, pair_row, remarks

STRIP = 30
_FOLDS = 13  # the least width of a column that folds; the same for all, or rich cuts off the last


def view(found: Verdicts) -> RenderableType:
    """What must be known first, then each dimension, then what each candidate's arms did."""
    parts: list[RenderableType] = [
        cells.bullet("✕" if c.grave else "!", c.text, "red" if c.grave else "yellow") for c in cautions(found)
    ]
    for one in (*found.dimensions, *found.arms):
        parts += [Text(), *_dimension(one)]
    parts += [cells.text("\n", ("canary", "bold"), f": {canary_line(pair)}") for pair in found.canaries]
    return Group(*parts)


def _dimension(one: DimensionVerdict) -> Iterator[RenderableType]:
    yield cells.text((one.dimension, "bold"), ": ", (one.sentence, "cyan"))
    yield standings_table(one)
    if one.pairs:
        yield Text()
        yield pairs_table(one)
    yield from (cells.text((line, "dim")) for line in remarks(one))
    if one.disagreements:
        names = ", ".join(dict.fromkeys(apart.question for apart in one.disagreements))
        yield cells.text((f"farthest apart on {names}: --html FILE shows both answers", "dim"))


def standings_table(one: DimensionVerdict, *, width: int | None = None) -> RenderableType:
    """Means with their intervals as a strip from 0 to 100, and how answers ended; dropped candidates are dim."""
    ended = {ending.candidate: outcomes(ending.outcomes) for ending in one.endings}

    def build(dropped: Collection[str]) -> Table:
        names = ["#score", "#95 %", "#n", "0 to 100", "other outcomes"]
        names = [name for name in names if name.removeprefix("#") not in dropped]
        table = cells.table("candidate", *names)
        table.columns[0].min_width = _FOLDS
        for column in table.columns:
            column.no_wrap = column.no_wrap or column.header == "0 to 100"
            column.min_width = _FOLDS if column.header == "other outcomes" else column.min_width
        for standing in one.standings:
            row = _cells(standing) | {"other outcomes": ended.get(standing.candidate, "")}
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

    def build(dropped: Collection[str]) -> Table:
        kept = [n for n, head in enumerate(PAIR_HEADS) if head.removeprefix("#") not in dropped]
        table = cells.table(*(PAIR_HEADS[n] for n in kept))
        table.columns[0].min_width = table.columns[-1].min_width = _FOLDS
        for pair in one.pairs:
            row = pair_row(pair)
            table.add_row(*(cells.text(row[n]) for n in kept))
        return table

    return cells.Fitted(build, ("won-lost", "95 %"), width=width)
