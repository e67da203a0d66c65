"""The curve of users as one table of the terminal, the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import RenderableType
from rich.table import Table

from evener.records.load import Level, Spread
from evener.report import cells, level_columns
from evener.report.level_columns import Cell, Column
from evener.report.words import UNKNOWN


def levels_table(levels: Sequence[Level], *, invalid: str | None, width: int | None = None) -> RenderableType:
    """One row per user count. `invalid` is why the figures must not be used: they are struck out.

    Optional columns of which nothing is known are left out, and the others where there is no room.
    """
    columns = level_columns.known(levels)
    optional = sorted((c for c in columns if c.rank is not None), key=lambda c: c.rank or 0, reverse=True)

    def build(dropped: Collection[str]) -> Table:
        return _table(levels, [c for c in columns if c.short not in dropped], invalid)

    return cells.Fitted(build, [c.short for c in optional], width=width)


def _table(levels: Sequence[Level], columns: Sequence[Column], invalid: str | None) -> Table:
    table = cells.table(level_columns.who(levels), *(f"#{column.short}" for column in columns))
    table.columns[0].no_wrap = True
    if invalid:
        table.caption = cells.text((f"invalid, not to be used: {invalid}", "bold red"))
        table.caption_justify = "left"
    for level in levels:
        row = (_written(column.of(level)) for column in columns)
        table.add_row(str(level.users), *row, style="dim strike" if invalid else None)
    return table


def _written(cell: Cell) -> RenderableType:
    if isinstance(cell, Spread):
        return cells.median(cell)
    return UNKNOWN if cell is None else cell
