"""`evener answers`: from other tools, and to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from evener.cli.console import out

app = typer.Typer(no_args_is_help=True, help="Evaluations of other tools as runs of ours, and ours as theirs.")


@app.command()
def take(
    file: Annotated[Path, typer.Argument(help="An Inspect log (.eval, .json), or lm-eval's samples_*.jsonl.")],
    name: Annotated[str | None, typer.Option("--as", help="What the candidate is called in reports.")] = None,
) -> None:
    """Keep another tool's scores as a run, so that evener verdict can compare them.

    Its conditions are not known here, and are shown as such.
    """
    from evener.api import answers

    path = answers.take(file, name=name)
    out.print(f"run: {escape(str(path))}", soft_wrap=True)


@app.command()
def export(
    run: Annotated[str, typer.Argument(help="A run of evener eval.")],
    into: Annotated[Path, typer.Option(help="The file to write; inspect view opens it.")],
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
) -> None:
    """Write an evaluation as an Inspect log, which `inspect view` opens."""
    from evener.api import answers

    count = answers.export(run, into, force=force)
    out.print(f"{escape(str(into))}: {count} samples", soft_wrap=True)
