"""`evener plan`: what fits where, what each card will hold, and the command lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from evener.cli.console import gib, out, run_async, show_json
from evener.cli.options import Context, Json, Kv, Layout, RigFile, Unified, Users, read_workload

if TYPE_CHECKING:
    from evener.records.plan import Candidate, Command, Plan


def plan(
    model: Annotated[str, typer.Argument(help="A path, `demo`, or the name of a model that is here.")],
    rig: RigFile = None,
    layout: Layout = "auto",
    users: Users = 4,
    context: Context = 4096,
    kv: Kv = "f16",
    unified: Unified = False,
    commands: Annotated[bool, typer.Option("--commands", help="Print the command lines too.")] = False,
    as_json: Json = False,
) -> None:
    """Say what fits where, single machines first, what each card will hold, and which layout to take.

    Exit code 1 when the model fits nowhere, or not in the layout that was asked for.
    """
    from evener.api import plans
    from evener.api.rig import Rig

    workload = read_workload(users=users, context=context, kv=kv, unified=unified)
    made = run_async(plans.plan(Rig.open(rig), model, workload, layout=layout)).plan
    if as_json:
        show_json(made)
    else:
        _show(made, commands=commands)
    raise typer.Exit(0 if made.verdict.choice else 1)


def _show(plan: Plan, *, commands: bool) -> None:
    from evener.report.terminal import plan_table

    work = plan.workload
    out.print(
        f"[bold]{escape(plan.model.name)}[/] {plan.model.quantisation}, {gib(plan.model.file_bytes)}, "
        f"{plan.model.layers} layers; {work.users} users of {work.context} tokens, KV {work.kv_type_k}"
    )
    out.print()
    for candidate in plan.candidates:
        mark = "[green]fits[/]" if candidate.fits else f"[red]does not fit[/]: {escape(candidate.why_not or '')}"
        chosen = " [bold](chosen)[/]" if candidate.name == plan.verdict.choice else ""
        out.print(f"[bold]{escape(candidate.name)}[/]{chosen}: {mark}")
        if candidate.fits:
            out.print(plan_table(candidate))
        if candidate.fits and commands:
            _show_commands(candidate)
    out.print()
    out.print(f"[bold]verdict:[/] {escape(plan.verdict.sentence)}", soft_wrap=True)
    for reason in plan.verdict.reasons:
        out.print(f"  - {escape(reason)}", soft_wrap=True)


def _show_commands(candidate: Candidate) -> None:
    for command in (*candidate.workers, *candidate.servers):
        out.print(f"  [dim]{escape(command.host)}:[/] {escape(command_line(command))}", soft_wrap=True)


def command_line(command: Command) -> str:
    """For a POSIX shell, environment included, ready to paste."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in command.env.items()]
    return " ".join([*settings, shlex.join(command.argv)])
