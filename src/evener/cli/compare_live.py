"""What is seen of a campaign while it goes on: a line for each thing that has ended, and where it stands now."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evener.cli.console import LINE_EVERY_S, err
from evener.cli.redrawn import Redrawn

if TYPE_CHECKING:
    from evener.edges.control import Message

_AGES = re.compile(r"\d+ MiB|, for [\d.]+ min|^[^:]*: ")  # what differs between two loads of one caution
BAR_WIDTH = 30
COUNTED_TO = 10_000  # what is more is bytes: nobody reads those
COLOURS = {"done": "green", "partial": "yellow", "failed": "red", "does not fit": "yellow", "skipped": "dim"}


class CampaignView(Redrawn):
    """Shows a session's messages on standard error. With `as_json`, all but progress are lines on standard output."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._campaign: dict[str, Any] = {}
        self._now = ""
        self._told: dict[str, float] = {}
        self._cautions: set[str] = set()
        super().__init__(err, quiet=as_json)

    def show(self, message: Message) -> None:
        if self._as_json:
            if "progress" not in message:
                sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
                sys.stdout.flush()
        elif "progress" in message:
            self._progress(message["progress"])
        elif "campaign" in message:
            self._campaign = message["campaign"]
        elif "fact" in message:
            self._fact(message["fact"]["kind"], message["fact"]["data"])
        elif "judging" in message:
            self._line(f"judged by {escape(message['judging'])}")

    def _progress(self, progress: dict[str, Any]) -> None:
        done = f": {share(progress['done'], progress['of'])}" if progress.get("of") else ""
        detail = f", {progress['detail']}" if progress.get("detail") else ""
        self._now = f"{progress['what']}{done}{detail}"
        now = time.monotonic()
        if self._live is None and now - self._told.get(progress["what"], -LINE_EVERY_S) >= LINE_EVERY_S:
            self._told[progress["what"]] = now
            self._line(f"  [dim]{escape(self._now)}[/]")

    def _fact(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "unit ended":
            self._ended(data["end"]["unit"], data["end"])
        elif kind == "visit ended":
            self._ended(data["end"]["visit"], data["end"], bold=True)
        elif kind == "visit begun":
            self._told.clear()
        elif kind == "dropped":
            one = data["dropped"]
            self._line(f"[yellow]{escape(one['contestant'])} is measured no further:[/] {escape(one['why'])}")
        elif kind == "changed":
            one = data["changed"]
            was, now = one["before"] or "unknown", one["now"] or "unknown"
            again = f"; measured anew: {', '.join(one['again'])}" if one["again"] else ""
            self._line(f"[yellow]![/] {escape(one['condition'])} was {escape(was)}, is {escape(now)}{escape(again)}")
        elif kind == "caution" and (what := _AGES.sub("", data["text"])) not in self._cautions:
            self._cautions.add(what)  # each load says it again
            self._line(f"[yellow]![/] {escape(data['text'])}")

    def _ended(self, what: str, end: dict[str, Any], *, bold: bool = False) -> None:
        took = f" in {duration(end['seconds'])}" if end.get("seconds") is not None else ""
        why = f": {escape(end['why'])}" if end.get("why") else ""
        name = f"[bold]{escape(what)}[/]" if bold else f"  {escape(what)}"
        self._line(f"{name} [{COLOURS[end['state']]}]{end['state']}[/]{took}{why}")

    def _line(self, text: str) -> None:
        err.print(text, soft_wrap=True)

    def _shown(self) -> RenderableType:
        if not self._campaign:
            return Text(self._now or "starting", style="cyan")
        return Group(standing(self._campaign), Text(self._now, style="cyan", no_wrap=True, overflow="ellipsis"))


def standing(one: dict[str, Any]) -> RenderableType:
    """Where a campaign stands: a bar, units, time left, and what is under way."""
    ended = one["done"] + one["failed"] + one["skipped"]
    grid = Table.grid(padding=(0, 1))
    grid.add_row(
        Text(one["name"], style="bold"),
        ProgressBar(total=max(1, one["units"]), completed=ended, width=BAR_WIDTH),
        Text(in_words(one)),
    )
    under_way = one.get("unit") or one.get("visit")
    return Group(grid, Text(str(under_way))) if under_way else grid


def in_words(one: dict[str, Any]) -> str:
    """ "5 of 12 units, 1 failed, about 14 min left" """
    ended = one["done"] + one["failed"] + one["skipped"]
    said = [f"{ended} of {one['units']} units"]
    said += [f"{one['failed']} failed"] if one["failed"] else []
    if one["state"] != "complete" and one["minutes_left"] is not None:
        said.append(f"about {duration(60 * one['minutes_left'])} left")
    return ", ".join(said)


def share(done: float, of: float) -> str:
    return f"{done:.0f} of {of:.0f}" if of <= COUNTED_TO else f"{done / of:.0%}"


def duration(seconds: float) -> str:
    """For people: "42 s", "14 min", "3 h 20 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
