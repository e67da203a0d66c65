"""`evener compare`: parse, plan, make, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.options import Json, RigFile
from evener.errors import ConfigurationError

if TYPE_CHECKING:
    from evener.api.campaign_plan import Prepared
    from evener.api.campaigns import Wishes
    from evener.records.campaign import Campaign

BEFORE, GOING_ON = "Before it begins", "While it goes on"


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
    new: Annotated[
        bool, typer.Option("--new", rich_help_panel=GOING_ON, help="Begin another one, although one is unfinished.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(metavar="RUN", rich_help_panel=GOING_ON, help="Go on with this one, as it was begun; or `last`."),
    ] = None,
    status: Annotated[
        bool,
        typer.Option(
            "--status", rich_help_panel=GOING_ON, help="Where one stands: the last, or the one that is named as RUN."
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", rich_help_panel=GOING_ON, help="With --status: a line whenever that changes.")
    ] = False,
    wait_for_cards: Annotated[
        bool,
        typer.Option(
            "--wait-for-cards", rich_help_panel=GOING_ON, help="Wait for cards that somebody holds, and do not stop."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=GOING_ON, help="In place of the file's, over all sessions: 8h."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare models, quantisations and layouts as one file says, and end in one report.

    evener compare --init

    evener compare campaign.toml --dry-run

    evener compare campaign.toml

    Stopped, killed or without power, the same command goes on where it was. From another terminal: evener compare
    --status --watch
    """
    if schema:
        return _schema()
    if init:
        return _init(file, rig=rig, force=force)
    if status:
        from evener.cli import compare_run

        return compare_run.show_status(str(file) if file else None, as_json=as_json, watch=watch)
    if file is None and resume is None:
        raise ConfigurationError("which comparison?", hint="evener compare CAMPAIGN.toml; --init writes a first one")
    wishes = _wishes(wait_for_cards=wait_for_cards, budget=budget)
    if file is not None and dry_run:
        return _dry_run(file, rig=rig, wishes=wishes, as_json=as_json)
    _make(file, resume=resume, new=new, rig=rig, wishes=wishes, as_json=as_json)


def _wishes(*, wait_for_cards: bool, budget: str | None) -> Wishes:
    from evener.api.campaigns import Wishes
    from evener.cli.bench_options import seconds

    return Wishes(
        wait_for_cards=wait_for_cards, budget_s=None if budget is None else seconds(budget, option="--budget")
    )


def _make(file: Path | None, *, resume: str | None, new: bool, rig: str | None, wishes: Wishes, as_json: bool) -> None:
    """Begin or go on, to the end."""
    from evener.api import campaigns
    from evener.cli import compare_run

    if resume is not None:
        path: Path | None = campaigns.find(resume)
    else:
        assert file is not None
        path = compare_run.begin_or_go_on(file, new=new)
        path = path or _begun(file, rig=rig, wishes=wishes, as_json=as_json)
    assert path is not None
    compare_run.exit_with(compare_run.make(path, wishes, as_json=as_json))


def _begun(file: Path, *, rig: str | None, wishes: Wishes, as_json: bool) -> Path:
    from evener.api import campaign_plan, campaigns

    campaign = campaign_plan.read(file, rig=rig, budget_s=wishes.budget_s)
    campaigns.require_keys(campaign)
    one = _planned(campaign, as_json=as_json)
    campaign_plan.require_real(one)
    return campaigns.begin(one.campaign, one.schedule, text=one.text, rig=one.rig, scan=one.scan)


def _planned(campaign: Campaign, *, as_json: bool) -> Prepared:
    from evener.api import campaign_plan
    from evener.cli.console import progress_bar, run_async

    with progress_bar(quiet=as_json) as report:
        return run_async(campaign_plan.prepare(campaign, report=report))


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


def _dry_run(file: Path, *, rig: str | None, wishes: Wishes, as_json: bool) -> None:
    from evener.api import campaign_plan
    from evener.cli import compare_view
    from evener.cli.console import show_json

    one = _planned(campaign_plan.read(file, rig=rig, budget_s=wishes.budget_s), as_json=as_json)
    if as_json:
        show_json(one.schedule)
    else:
        compare_view.show(one.campaign, one.schedule, one.rig.record)
    raise typer.Exit(0 if any(visit.units for visit in one.schedule.visits) else 1)
