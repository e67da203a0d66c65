"""Curves of users of several runs in one chart, a line per column. Draws nothing that is not compared."""

from __future__ import annotations

from collections.abc import Iterator

from evener.report.beside_parts import BesideTable
from evener.report.charts import Point, Series, line_chart
from evener.report.words import number


def curves(table: BesideTable, *, name: str) -> list[tuple[str, str]]:
    """(title, inline svg) of each figure that has several user counts; `name` keeps ids apart on the page."""
    units = {row.name: row.unit for row in table.rows if row.users is not None}
    drawn = []
    for place, (figure, unit) in enumerate(units.items()):
        series = tuple(_series(table, figure))
        if len({point.users for each in series for point in each.points}) > 1:
            told = _told(table, f"{figure}, {unit}, by users", series)
            svg = line_chart(series, name=f"{name}-{place}", told=told, unit=unit, may_be_log=unit == "ms")
            drawn.append((f"{figure}, {unit}", svg))
    return drawn


def _series(table: BesideTable, figure: str) -> Iterator[Series]:
    for style, column in enumerate(table.columns):
        cells = [(row.users, row.cells[style]) for row in table.rows if row.name == figure]
        points = [
            Point(users=users, value=cell.figure.value, interval=cell.figure.interval)
            for users, cell in cells
            if users is not None and cell is not None and cell.figure.value is not None
        ]
        if points and column.marked is None:
            yield Series(style=style, points=tuple(sorted(points, key=lambda point: point.users)))


def _told(table: BesideTable, about: str, series: tuple[Series, ...]) -> str:
    """A chart in words: every value, column by column."""
    lines = [
        f"{table.columns[each.style].name}: {', '.join(f'{number(p.value)} at {p.users}' for p in each.points)}"
        for each in series
    ]
    return f"{about}. {'; '.join(lines)}"
