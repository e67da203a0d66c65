"""What the terminal's tables are made of: text that is never markup, and columns that go where room is short."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

from evener.records.load import Spread
from evener.report.words import UNKNOWN, number, plain, span

Part: TypeAlias = str | tuple[str, str]  # text, or text and style

_BETWEEN = 2  # columns of air between two of the table
_LONGEST_WORD = 12  # a longer one may fold
_TONES = {
    "as planned": "green", "freed": "green", "freed, drifted": "yellow", "unknown": "yellow",
    "over": "bold red", "under": "bold red", "missing": "bold red", "held": "bold red",
    "complete": "green", "partial": "yellow", "unfinished": "yellow",
}  # fmt: skip


def text(*parts: Part) -> Text:
    """Text, or (text, style): never read as markup, and without control sequences."""
    return Text.assemble(*((plain(part[0]), part[1]) if isinstance(part, tuple) else plain(part) for part in parts))


def bullet(mark: str, sentence: str, style: str = "") -> Table:
    """A sentence that folds beside its mark."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    grid.add_row(text((mark, style)), text(sentence))
    return grid


def verdict(word: str) -> Text:
    """A word of judgement in its colour."""
    return text((word, _TONES.get(word, "bold red")))


def median(spread: Spread, write: Callable[[float | None], str] = number) -> Text:
    """The median, below it its 95 % interval."""
    if spread.p50 is None:
        return text(UNKNOWN)
    return text(write(spread.p50), "\n", (span(spread.interval) if spread.interval else "n too small", "dim"))


def table(*columns: str) -> Table:
    """ "#" marks a column of figures. Only names fold; figures keep their line."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    for column in columns:
        if column.startswith("#"):
            made.add_column(column[1:], justify="right", no_wrap=True)
        else:
            made.add_column(column, overflow="fold")
    return made


class Fitted:
    """A table with as many of its `optional` columns as have room, the first of them dropped first; it says which.

    `build` makes it without those columns. `width` None: whatever it is shown in. Columns that fold need
    their `min_width`, or room for a word.
    """

    def __init__(
        self, build: Callable[[Collection[str]], Table], optional: Sequence[str], *, width: int | None = None
    ) -> None:
        self._build, self._optional, self._width = build, optional, width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.table(min(self._width or options.max_width, options.max_width))

    def table(self, width: int) -> Table:
        """The table for `width` columns."""
        for dropped in range(len(self._optional) + 1):
            made = self._build(self._optional[:dropped])
            if _least_width(made) <= width:
                break
        missing = [name.replace("\n", " ") for name in self._optional[:dropped]]
        if missing:
            told = text((f"no room for: {', '.join(missing)}", "dim"))
            made.caption = Text.assemble(made.caption, "\n", told) if isinstance(made.caption, Text) else told
            made.caption_justify = "left"
        return made


def _least_width(made: Table) -> int:
    between = _BETWEEN * (len(made.columns) - 1)
    # rich adds the padding to a minimum even at the edge, where it draws none
    edge = 1 if made.columns and made.columns[-1].min_width else 0
    return between + sum(_least(column) for column in made.columns) + edge


def _least(column: Column) -> int:
    """Its longest line, or where it may fold its longest word; header included. A string is markup, as in rich."""
    if column.min_width and not column.no_wrap:
        return column.min_width
    cells = [c if isinstance(c, Text) else Text.from_markup(str(c)) for c in (column.header, *column.cells)]
    parts = [part for cell in cells for part in (cell.plain.splitlines() if column.no_wrap else cell.plain.split())]
    longest = max((cell_len(part) for part in parts), default=1)
    return longest if column.no_wrap else min(longest, _LONGEST_WORD)
