"""`evener demo`: the whole story on this machine, with no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from evener.cli.console import err, out, progress_bar, run_async
from evener.cli.options import Json

if TYPE_CHECKING:
    from evener.api.session import Ended
    from evener.cli.live import LiveView


def demo(as_json: Json = False) -> None:
    """Run the whole story on this machine: two loopback hosts, a small real model, one host against two, a report.

    The first time it builds llama.cpp (minutes) and fetches a model of 94 MB; later it takes a minute and a half.
    """
    from evener.api import demo as api
    from evener.api import runs
    from evener.cli.live import LiveView
    from evener.report import terminal

    if not as_json:
        _plan_first()
    with progress_bar(quiet=as_json) as report:
        run_async(api.prepare(report))
    with LiveView(as_json=as_json) as view:
        ended = run_async(_story(view, quiet=as_json))
    data = runs.find(str(ended.run))
    told = runs.tell(data)
    page = runs.write_page(data, told)
    if not as_json:
        out.rule("the report")
        out.print(terminal.view(told))
    (err if as_json else out).print(f"page: {escape(str(page))}", soft_wrap=True)
    raise typer.Exit(0 if ended.is_clean else 1)


def _plan_first() -> None:
    """A plan needs no engine and no GPU: something to read while the engine builds."""
    from evener.api import demo as api
    from evener.cli import plan_view

    out.rule("a plan, before anything is bought")
    out.print(f"[bold]$ evener plan {api.EXAMPLE_MODEL} --rig {api.EXAMPLE_RIG}[/]")
    plan_view.show(run_async(api.example_plan()), commands=False)


async def _story(view: LiveView, *, quiet: bool) -> Ended:
    from evener.api import demo as api
    from evener.cli.scan_view import scan_view

    rig = await api.demo_rig()
    planned = await api.plan(rig)
    if not quiet:
        out.rule("the rig")
        out.print(scan_view(rig.record, planned.scan, width=out.width))
        out.rule("the plan")
        out.print(f"{escape(planned.plan.verdict.sentence)}. So both are run, and compared.", soft_wrap=True)
    return await api.run(planned, on_message=view.show)
