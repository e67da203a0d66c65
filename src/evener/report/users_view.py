"""The curve of users as one table, the same wherever it is shown: speeds, waits, failures, user count by user count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.console import RenderableType
from rich.table import Table

from evener.records.load import Level, Spread
from evener.report import cells
from evener.report.rows import slow_end
from evener.report.words import UNKNOWN, number, percent

# Dropped in this order where there is no room.
_OPTIONAL = ("ITL\nms", "TTFA\nms", "of one\nuser's", "TTFT\np90", "people")


def levels_table(levels: Sequence[Level], *, invalid: str | None, width: int | None = None) -> RenderableType:
    """One row per user count. `invalid` is why the figures must not be used: they are struck out.

    Optional columns of which nothing is known are left out, and the others where there is no room.
    """
    columns = {
        name: write
        for name, write in _COLUMNS.items()
        if name not in _OPTIONAL or any(str(write(level)) != UNKNOWN for level in levels)
    }

    def build(dropped: Collection[str]) -> Table:
        names = [name for name in columns if name not in dropped]
        table = cells.table("users", *(f"#{name}" for name in names))
        if invalid:
            table.caption = cells.text((f"invalid, not to be used: {invalid}", "bold red"))
            table.caption_justify = "left"
        for level in levels:
            row = (columns[name](level) for name in names)
            table.add_row(str(level.users), *row, style="dim strike" if invalid else None)
        return table

    return cells.Fitted(build, [name for name in _OPTIONAL if name in columns], width=width)


def _people(level: Level) -> RenderableType:
    return UNKNOWN if level.people is None else str(level.people)


def _total(level: Level) -> RenderableType:
    return number(level.total_tokens_per_s)


def _degradation(level: Level) -> RenderableType:
    return UNKNOWN if level.degradation is None else percent(level.degradation)


def _failed(level: Level) -> RenderableType:
    return str(level.requests.errored + level.requests.invalid)


def _spread(of: Callable[[Level], Spread | None]) -> Callable[[Level], RenderableType]:
    def cell(level: Level) -> RenderableType:
        spread = of(level)
        return UNKNOWN if spread is None else cells.median(spread)

    return cell


_COLUMNS: dict[str, Callable[[Level], RenderableType]] = {
    "people": _people,
    "total\ntok/s": _total,
    "each\ntok/s": _spread(lambda level: level.per_user_tokens_per_s),
    "of one\nuser's": _degradation,
    "TTFT\nms": _spread(lambda level: level.ttft_ms),
    "TTFT\np90": lambda level: slow_end(level.ttft_ms).replace(" ", "\n"),
    "ITL\nms": lambda level: number(level.itl_ms.p50),
    "n": lambda level: str(level.requests.completed),
    "failed": _failed,
}
