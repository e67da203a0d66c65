"""The one place that prints: tables and prose to standard output, errors and progress to standard error."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from evener.errors import EvenerError, Interrupted
from evener.ports import Report
from evener.records.events import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

T = TypeVar("T")
LINE_EVERY_S = 15.0

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's errand. Ctrl-C, SIGTERM and a closed terminal cancel it, and its own clean-up runs to the end.

    However often they come: a second Ctrl-C must not cut the clean-up short.
    """

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise Interrupted("interrupted") from None


def show_json(record: object) -> None:
    """Write a record (or plain data) as JSON, one document, stable keys."""
    from evener.codec import to_data

    data = record if isinstance(record, dict) else to_data(record)
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def show_error(error: EvenerError) -> None:
    err.print(f"[bold red]error:[/] {escape(error.message)}", soft_wrap=True)
    if error.hint:
        err.print(f"[bold]hint:[/] {escape(error.hint)}", soft_wrap=True)


def fitted(build: Callable[[Collection[str]], Table], optional: Sequence[str]) -> Table:
    """The table with as many of its `optional` columns as have room, the first of them dropped first; it says which.

    `build` makes it without those columns. Columns that may wrap get their `min_width`, others their widest cell.
    """
    from evener.report.cells import Fitted

    return Fitted(build, optional).table(out.width)


def widest(cells: Iterable[RenderableType]) -> int:
    """Of cells with markup, in characters of the terminal."""
    return max((line.cell_len for cell in cells for line in Text.from_markup(str(cell)).split()), default=0)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Report]:
    """Progress on standard error: a moving bar with time left on a terminal, now and then a line elsewhere."""
    if quiet:
        yield lambda _progress: None
    elif err.is_terminal:
        with _moving_bars() as report:
            yield report
    else:
        yield _lines_now_and_then()


def _lines_now_and_then() -> Report:
    """For logs: a line at the start of each thing, and one more every `LINE_EVERY_S` seconds."""
    told: dict[str, float] = {}

    def report(progress: Progress) -> None:
        now = time.monotonic()
        if now - told.get(progress.what, -LINE_EVERY_S) >= LINE_EVERY_S:
            told[progress.what] = now
            share = f" {progress.done / progress.of:.0%}" if progress.of else ""
            err.print(f"{escape(progress.what)}{share} {escape(progress.detail or '')}".rstrip(), soft_wrap=True)

    return report


@contextmanager
def _moving_bars() -> Iterator[Report]:
    """A bar per `Progress.what`."""
    from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
        console=err,
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(progress: Progress) -> None:
        if progress.what not in tasks:
            tasks[progress.what] = bars.add_task(escape(progress.what), total=progress.of, detail="")
        bars.update(
            tasks[progress.what], completed=progress.done, total=progress.of, detail=escape(progress.detail or "")
        )

    with bars:
        yield report
