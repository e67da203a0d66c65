"""`evener`: the commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import sys

import typer

from evener.cli import engine
from evener.cli.console import err, show_error
from evener.errors import EvenerError

app = typer.Typer(
    name="evener",
    help="Plan, launch, verify and measure large open models across machines joined by a cable.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(engine.app, name="engine")


def run() -> None:
    """Entry point. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 could not run, 4 result invalid."""
    try:
        app()
    except EvenerError as error:
        show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(4)
