"""`evener plan`: what fits where, what each card will hold, what would be different, and the command lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evener.cli.console import run_async, show_json
from evener.cli.options import (
    Add,
    Aim,
    Cable,
    Draft,
    Drafts,
    Grid,
    Instead,
    Json,
    Kv,
    KwhPrice,
    Layout,
    MaybeContext,
    MaybeUsers,
    Mmproj,
    People,
    Price,
    Profile,
    Quant,
    RigFile,
    Sweep,
    Unified,
    Without,
)

if TYPE_CHECKING:
    from evener.api.rig import Rig
    from evener.plan.what_if import Asked
    from evener.records.whatif import WhatIf

    Axes = dict[str, tuple[str, ...]]


def plan(
    model: Annotated[
        str | None,
        typer.Argument(help="A path, `demo`, a name that is here or in the catalogue. Without one: which models fit."),
    ] = None,
    rig: RigFile = None,
    layout: Layout = "auto",
    users: MaybeUsers = None,
    context: MaybeContext = None,
    kv: Kv = "f16",
    unified: Unified = False,
    drafts: Drafts = 0,
    mmproj: Mmproj = None,
    draft: Draft = None,
    aim: Aim = None,
    people: People = None,
    profile: Profile = None,
    quant: Quant = None,
    link: Cable = None,
    without: Without = None,
    add: Add = None,
    instead: Instead = None,
    sweep: Sweep = None,
    grid: Grid = False,
    price: Price = None,
    kwh_price: KwhPrice = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Have the engine's dry run confirm every candidate, not only the chosen one."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure the rig's cards and links again first. It stops nothing that runs.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fresh: do not ask, measure beside what runs.")] = False,
    cards: Annotated[
        bool, typer.Option("--cards", help="Show every layout card by card, not only the chosen.")
    ] = False,
    commands: Annotated[bool, typer.Option("--commands", help="The same, with the command lines.")] = False,
    check: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Say where each value of this llama.cpp command's -ts really lands."),
    ] = None,
    layers: Annotated[int | None, typer.Option(min=1, help="With --check: the model's blocks.")] = None,
    listed: Annotated[
        str | None,
        typer.Option("--list-devices", metavar="FILE", help="With --check: that output, in a file, or - for a paste."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what fits where, single machines first, what each card will hold, and which layout to take.

    Nothing is started, and the rig need not exist. Exit code 1 when the model fits nowhere, or not in the layout that
    was asked for; for many answers, when nothing of them fits.
    """
    from evener.api import what_if
    from evener.cli import plan_view, what_if_view
    from evener.plan.what_if import Asked

    if check is not None:
        _check(check, rig=rig, model=model, layers=layers, listed=listed, as_json=as_json)
        return
    given: dict[str, Any] = {
        "users": users, "people": people, "profile": profile, "context": context, "quant": quant, "layout": layout,
        "link": link, "without": tuple(without or ()), "add": tuple(add or ()), "instead": instead,
    }  # fmt: skip
    asked, world = (
        Asked(**given, kv=kv, unified=unified, drafts=drafts, mmproj=mmproj, draft=draft, aim=aim),
        what_if.opened_rig(rig, kwh_price=kwh_price),
    )
    if fresh:
        measure_again(world, yes=yes)
    prices, axes = price or [], read_axes(sweep or [])
    if model is not None and not (axes or grid or quant == what_if.ANY):
        made = run_async(what_if.plan(world, model, asked, changes=_shown(given), prices=prices, every=exact))
        if as_json:
            show_json(made)
        else:
            plan_view.show(made, commands=commands, cards=cards)
            what_if_view.show_around(made)
        raise typer.Exit(0 if made.verdict.choice else 1)
    many = run_async(_many(world, model, asked, axes, prices=prices, grid=grid, exact=exact))
    if as_json:
        show_json(many)
    else:
        what_if_view.show(many)
    raise typer.Exit(0 if any(point.choice for point in many.points) else 1)


def measure_again(rig: Rig, *, yes: bool) -> None:
    """Cards, and the links that the rig file names."""
    from evener.cli.scan import measure_cards, measure_links

    measure_cards(rig, [], yes=yes)
    if rig.record.links:
        measure_links(rig)


async def _many(
    rig: Rig, model: str | None, asked: Asked, axes: Axes, *, prices: list[str], grid: bool, exact: bool
) -> WhatIf:
    from evener.api import what_if
    from evener.errors import ConfigurationError

    if model is not None:
        return await what_if.sweep(rig, model, asked, axes, prices=prices, grid=grid, exact=exact)
    if axes or grid:
        raise ConfigurationError(
            "--sweep and --grid: of which model?", hint="evener models catalogue lists those that need no file"
        )
    return await what_if.suited(rig, asked, prices=prices)


def read_axes(sweeps: list[str]) -> Axes:
    """Each option once, with the values of all its sweeps, in the order of the command line."""
    from evener.plan.what_if import axis

    axes: Axes = {}
    for key, values in map(axis, sweeps):
        axes[key] = tuple(dict.fromkeys((*axes.get(key, ()), *values)))
    return axes


def _shown(given: dict[str, Any]) -> dict[str, str]:
    """The what-if options that were given."""
    plain = {key: given[key] for key in ("people", "profile", "quant", "link", "without", "add", "instead")}
    return {key: "; ".join(v) if isinstance(v, tuple) else str(v) for key, v in plain.items() if v}


def _check(
    command: str, *, rig: str | None, model: str | None, layers: int | None, listed: str | None, as_json: bool
) -> None:
    from evener.api.checks import check_command
    from evener.api.rig import Rig
    from evener.cli import check_view

    text = None if listed is None else _read(listed)
    found = run_async(check_command(command, rig=Rig.open(rig), model=model, layers=layers, listed=text))
    if as_json:
        show_json(found)
    else:
        check_view.show(found)


def _read(name: str) -> str:
    import sys

    from evener.errors import ConfigurationError

    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(errors="replace")
    except OSError as error:
        raise ConfigurationError(f"--list-devices {name}: {error.strerror}") from None
