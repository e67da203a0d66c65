"""`evener compare`: parse, plan, make, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evener.cli.options import Json, RigFile
from evener.errors import ConfigurationError

BEFORE = "Before it begins"


def compare(
    file: Annotated[Path | None, typer.Argument(metavar="CAMPAIGN.toml", help="What is to be compared.")] = None,
    rig: RigFile = None,
    init: Annotated[
        bool, typer.Option("--init", rich_help_panel=BEFORE, help="Write a first campaign.toml for what is here.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=BEFORE, help="With --init: replace the file.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            rich_help_panel=BEFORE,
            help="Every step with its minutes, disk and memory, and what the sizes can prove. Nothing is started.",
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", rich_help_panel=BEFORE, help="Print the JSON Schema of campaign.toml.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare models, quantisations and layouts as one file says, and end in one report.

    evener compare --init
    evener compare campaign.toml --dry-run
    """
    if schema:
        return _schema()
    if init:
        return _init(file, rig=rig, force=force)
    if file is None:
        raise ConfigurationError("which comparison?", hint="evener compare CAMPAIGN.toml; --init writes a first one")
    _dry_run(file, rig=rig, as_json=as_json)


def _schema() -> None:
    from evener.api import campaign_plan
    from evener.cli.console import show_json

    show_json(campaign_plan.schema())


def _init(file: Path | None, *, rig: str | None, force: bool) -> None:
    from evener.api import campaign_plan
    from evener.cli.console import out, run_async

    path = run_async(campaign_plan.write_first(str(file) if file else None, rig=rig, force=force))
    line = f"{path}: written; `evener compare {path} --dry-run` shows what it would do"
    out.print(line, markup=False, soft_wrap=True)


def _dry_run(file: Path, *, rig: str | None, as_json: bool) -> None:
    from evener.api import campaign_plan
    from evener.cli import compare_view
    from evener.cli.console import progress_bar, run_async, show_json

    campaign = campaign_plan.read(file, rig=rig)
    with progress_bar(quiet=as_json) as report:
        prepared = run_async(campaign_plan.prepare(campaign, report=report))
    if as_json:
        show_json(prepared.schedule)
    else:
        compare_view.show(prepared.campaign, prepared.schedule, prepared.rig.record)
    raise typer.Exit(0 if any(visit.units for visit in prepared.schedule.visits) else 1)
