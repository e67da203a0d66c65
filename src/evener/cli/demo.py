"""`evener demo`: the whole story on this machine, with no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.cli.console import out, progress_bar, run_async
from evener.cli.options import Json

if TYPE_CHECKING:
    from evener.api.campaign_plan import Prepared
    from evener.ports import Report


def demo(as_json: Json = False) -> None:
    """Run a small campaign on this machine: two loopback hosts, a real model in two quantisations, one report.

    The first time it builds llama.cpp (minutes) and fetches a model of 94 MB; later it takes a few minutes.
    """
    from evener.api import campaigns
    from evener.api import demo as api
    from evener.api.campaigns import Wishes
    from evener.cli import compare_run

    if not as_json:
        _plan_first()
    with progress_bar(quiet=as_json) as report:
        run_async(api.prepare(report))
        prepared = run_async(_prepared(report))
    if not as_json:
        _show(prepared)
    path = campaigns.begin(
        prepared.campaign, prepared.schedule, text=prepared.text, rig=prepared.rig, scan=prepared.scan
    )
    compare_run.exit_with(compare_run.make(path, Wishes(), as_json=as_json))


async def _prepared(report: Report) -> Prepared:
    from evener.api import demo as api

    return await api.planned(await api.demo_rig(), report=report)


def _plan_first() -> None:
    """A plan needs no engine and no GPU: something to read while the engine builds."""
    from evener.api import demo as api
    from evener.cli import plan_view

    out.rule("a plan, before anything is bought")
    out.print(f"[bold]$ evener plan {api.EXAMPLE_MODEL} --rig {api.EXAMPLE_RIG}[/]")
    plan_view.show(run_async(api.example_plan()), commands=False)


def _show(prepared: Prepared) -> None:
    """The rig, and everything that will be done on it."""
    from evener.cli import compare_view
    from evener.cli.scan_view import scan_view

    out.rule("the rig")
    out.print(scan_view(prepared.rig.record, prepared.scan, width=out.width))
    out.rule("the campaign")
    compare_view.show(prepared.campaign, prepared.schedule, prepared.rig.record)
