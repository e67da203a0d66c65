"""`evener`: the commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import signal
import sys

import typer

from evener.cli import (
    answers,
    bench,
    compare,
    demo,
    deploy,
    doctor,
    engine,
    evals,
    judge,
    models,
    people,
    plan,
    report,
    review,
    rig,
    runs,
    scan,
    serve,
    suite,
    ui,
    verdict,
)
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
app.add_typer(answers.app, name="answers")
app.add_typer(bench.app, name="bench")
app.add_typer(engine.app, name="engine")
app.add_typer(models.app, name="models")
app.add_typer(people.app, name="people")
app.add_typer(rig.app, name="rig")
app.add_typer(runs.app, name="runs")
app.add_typer(suite.app, name="suite")
app.command()(demo.demo)
app.command()(scan.scan)
app.command()(doctor.doctor)
app.command()(plan.plan)
app.command(context_settings={"allow_extra_args": True})(deploy.up)
app.command()(deploy.status)
app.command()(deploy.logs)
app.command()(deploy.down)
app.command(cls=serve.EngineFlagsLast)(serve.serve)
app.command()(serve.pause)
app.command(name="continue")(serve.go_on)
app.command()(serve.switch)
app.command(name="eval")(evals.evaluate)
app.command()(judge.judge)
app.command()(review.review)
app.command()(verdict.verdict)
app.command()(compare.compare)
app.command()(ui.ui)
app.command()(report.report)


@app.callback(invoke_without_command=True)
def bare(context: typer.Context) -> None:
    """Plan, launch, verify and measure large open models across machines joined by a cable."""
    if context.invoked_subcommand is None:
        from evener.cli.first_screen import first_screen

        first_screen()


def run() -> None:
    """Entry point. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 could not run, 4 result invalid."""
    try:
        app()
    except EvenerError as error:
        _nothing_left_to_interrupt()
        show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _nothing_left_to_interrupt()
        err.print("interrupted")
        sys.exit(4)


def _nothing_left_to_interrupt() -> None:
    """All is taken down: one more Ctrl-C, while Python itself ends, must not change how that is told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
