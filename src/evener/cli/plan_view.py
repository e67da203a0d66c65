"""What `evener plan` shows: each candidate with its cards, the verdict, and the command lines on demand."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.markup import escape

from evener.cli.console import gib, out

if TYPE_CHECKING:
    from evener.records.plan import Candidate, Command, Plan


def show(plan: Plan, *, commands: bool) -> None:
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
