"""`evener plan`: what fits where, what each card will hold, and the command lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evener.cli.console import run_async, show_json
from evener.cli.options import Context, Json, Kv, Layout, RigFile, Unified, Users, read_workload


def plan(
    model: Annotated[str | None, typer.Argument(help="A path, `demo`, or the name of a model that is here.")] = None,
    rig: RigFile = None,
    layout: Layout = "auto",
    users: Users = 4,
    context: Context = 4096,
    kv: Kv = "f16",
    unified: Unified = False,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Have the engine's dry run confirm every candidate, not only the chosen one."),
    ] = False,
    commands: Annotated[bool, typer.Option("--commands", help="Print the command lines too.")] = False,
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

    Exit code 1 when the model fits nowhere, or not in the layout that was asked for.
    """
    from evener.api import plans
    from evener.api.rig import Rig
    from evener.cli import plan_view
    from evener.errors import ConfigurationError

    if check is not None:
        _check(check, rig=rig, model=model, layers=layers, listed=listed, as_json=as_json)
        return
    if model is None:
        raise ConfigurationError("plan which model?", hint="evener plan demo; evener models list shows what is here")
    workload = read_workload(users=users, context=context, kv=kv, unified=unified)
    made = run_async(plans.plan(Rig.open(rig), model, workload, layout=layout, every=exact)).plan
    if as_json:
        show_json(made)
    else:
        plan_view.show(made, commands=commands)
    raise typer.Exit(0 if made.verdict.choice else 1)


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
