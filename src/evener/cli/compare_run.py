"""The running half of `evener compare`: begin or go on, watched; where one stands; how it ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from evener.cli.compare_live import CampaignView, duration, in_words
from evener.cli.console import err, out, run_async, show_json

if TYPE_CHECKING:
    from evener.api.campaign_reports import Told
    from evener.api.campaigns import Ended, Wishes
    from evener.records.campaign import CampaignStatus

WATCH_EVERY_S = 2.0


def make(path: Path, wishes: Wishes, *, as_json: bool) -> Ended:
    """Make what is left of the campaign in `path`, and say how it ended. Raises what stops it."""
    from evener.api import campaign_reports, campaigns  # now: an upgrade during the night must not meet old modules

    with CampaignView(as_json=as_json) as view:
        ended = run_async(campaigns.go_on(path, wishes, view.show))
    page = _report(campaign_reports.told(path), quiet=as_json)
    if as_json:
        view.show({"ended": {"run": str(path), "partial": ended.partial, "page": str(page)}})
    else:
        out.print(f"{escape(in_words(_data(ended.status)))}: {escape(ended.path.name)}", soft_wrap=True)
        if ended.partial:
            out.print(f"[yellow]not all of it:[/] {escape(ended.partial)}", soft_wrap=True)
        out.print(f"page: {escape(str(page))}", soft_wrap=True)
    return ended


def _report(told: Told, *, quiet: bool) -> Path:
    """The campaign's report, here and as a page in its folder."""
    from evener.api import campaign_reports
    from evener.report.campaign import view

    if not quiet:
        out.rule("the report")
        out.print(view.view(told.story, told.say))
    return campaign_reports.write_page(told)


def show_status(run: str | None, *, as_json: bool, watch: bool) -> None:
    """Where a campaign stands, from its folder; again and again with `watch`, until it runs no longer."""
    from evener.api import campaigns

    path = campaigns.find(run)
    if not watch:
        one = campaigns.status(path)
        show_json(one) if as_json else _show(one)
        return
    for one in _as_it_goes(path):
        _line(one, as_json=as_json)


def _as_it_goes(path: Path) -> Iterator[CampaignStatus]:
    """Each time that something has changed."""
    from evener.api import campaigns

    before: CampaignStatus | None = None
    while True:
        one = campaigns.status(path)
        if before is None or _told(one) != _told(before):
            yield one
        if one.state != "running":
            return
        before = one
        time.sleep(WATCH_EVERY_S)


def _told(one: CampaignStatus) -> tuple[object, ...]:
    return one.state, one.unit, one.visit, one.done, one.failed, one.skipped, one.last


def _line(one: CampaignStatus, *, as_json: bool) -> None:
    import json
    import sys

    if as_json:
        sys.stdout.write(json.dumps(_data(one), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        out.print(f"{escape(in_words(_data(one)))}: {escape(one.last or one.state)}", soft_wrap=True)


def _show(one: CampaignStatus) -> None:
    colour = {"running": "green", "complete": "bold"}.get(one.state, "yellow")
    out.print(f"[bold]{escape(one.name)}[/] [{colour}]{one.state}[/]  {escape(one.id)}", soft_wrap=True)
    out.print(f"  {escape(in_words(_data(one)))}")
    if one.unit or one.visit:
        since = f", since {one.since:%H:%M} UTC" if one.since else ""
        word = "now" if one.state == "running" else "cut"
        out.print(f"  {word}: {escape(str(one.unit or one.visit))}{since}", soft_wrap=True)
    for gone in one.dropped:
        out.print(f"  dropped: {escape(gone.contestant)}: {escape(gone.why)}", soft_wrap=True)
    if one.last and one.state != "running":
        out.print(f"  last: {escape(one.last)}", soft_wrap=True)
    if one.state == "stopped":
        out.print(f"  evener compare --resume {escape(one.id)} goes on", soft_wrap=True)


def _data(one: CampaignStatus) -> dict[str, Any]:
    from evener.codec import to_data

    return dict(to_data(one))


def begin_or_go_on(file: Path, *, new: bool) -> Path | None:
    """The unfinished campaign of this file, said in a line; None where one has to be begun."""
    from evener.api import campaigns

    found = None if new else campaigns.unfinished(file)
    if found is not None:
        err.print(f"going on with {escape(found.name)}; --new begins another", soft_wrap=True)
    return found


def exit_with(ended: Ended) -> None:
    """0 when all went as it should, 1 where something failed, or a card did not do as planned."""
    raise typer.Exit(0 if ended.is_clean else 1)


__all__ = ["begin_or_go_on", "duration", "exit_with", "make", "show_status"]
