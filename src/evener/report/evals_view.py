"""An evaluation in the terminal: scores with their intervals, and beside them how answers ended. Names are text."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from evener.records.evaluation import EvalResult
from evener.report import cells
from evener.report.evals_parts import Evaluated
from evener.report.evals_rows import how, remarks, suite_rows
from evener.report.judges_rows import label_lines, titled
from evener.report.measure_rows import HEADS as MEASURE_HEADS
from evener.report.measure_rows import measure_rows

# Dropped in this order where there is no room; how answers ended stays beside the scores.
_OPTIONAL = ("clusters", "if wrong", "unscored")


def parts(found: Evaluated) -> Iterator[RenderableType]:
    """The table of scores and what belongs to it; nothing of scores for a run that never ended."""
    if found.result is not None:
        yield Group(scores_table(found.result), *_lines(found.result))
        if shown := measures_table(found.result):
            yield shown
    for title, said in titled(found.judged, found.jury):
        yield _titled(title, said)
    if found.labels:
        yield _titled("Looked at by people", label_lines(found.labels))


def _lines(result: EvalResult) -> Iterator[RenderableType]:
    for one in result.results:
        yield from (cells.text(line) for line in remarks(one))
    yield cells.text((f"{how(result)}.", "dim"))


def _titled(title: str, lines: Collection[str]) -> RenderableType:
    bullets = [Padding(cells.bullet("-", line), (0, 0, 0, 2)) for line in lines]
    return Group(cells.text((title, "bold")), *bullets)


def measures_table(result: EvalResult, *, width: int | None = None) -> RenderableType | None:
    """Further figures, a row each; None where there are none."""
    rows, style = measure_rows(result.results), None if result.validity == "valid" else "dim strike"
    if not rows:
        return None

    def build(dropped: Collection[str]) -> Table:
        kept = [n for n, head in enumerate(MEASURE_HEADS) if head.removeprefix("#") not in dropped]
        table = cells.table(*(MEASURE_HEADS[n] for n in kept))
        for column in table.columns:
            column.min_width = 13 if not column.no_wrap else None
        for row in rows:
            table.add_row(*(cells.text(row.cells[n]) for n in kept), style=style)
        return table

    return cells.Fitted(build, ("what it is", "n"), width=width)


def scores_table(result: EvalResult, *, width: int | None = None) -> RenderableType:
    """One row per suite and arm, its categories below it."""
    invalid = None if result.validity == "valid" else result.validity

    def build(dropped: Collection[str]) -> Table:
        columns = [name for name in ("score", "95 %", "if wrong", "n", "clusters", "unscored") if name not in dropped]
        table = cells.table("suite", *(f"#{name}" for name in columns), "other outcomes")
        table.columns[0].width = table.columns[0].min_width = 16  # "  answer-removed": what folds is read wrongly
        table.columns[-1].min_width = 12
        if invalid:
            table.caption = cells.text((f"invalid, not to be used: {invalid}", "bold red"))
            table.caption_justify = "left"
        for row in suite_rows(result):
            known = {"score": row.score, "95 %": row.interval, "if wrong": row.counted_wrong, "n": row.n}
            known |= {"clusters": row.clusters, "unscored": row.unscored}
            name = cells.text((row.name, "bold")) if row.category is None else cells.text(f"  {row.category}")
            figures = (known[column] for column in columns)
            table.add_row(name, *figures, cells.text((row.others, "yellow")), style="dim strike" if invalid else None)
        return table

    return cells.Fitted(build, _OPTIONAL, width=width)
