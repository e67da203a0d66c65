"""`evener report` and `evener runs`: what was measured, in the terminal, as a page, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, out, show_json

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def report(
    run: Annotated[str, typer.Argument(help="A run folder, a run's id, its beginning or end, or `last`.")] = "last",
    html: Annotated[Path | None, typer.Option(help="Where the page goes; default: report.html in the run.")] = None,
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a run found, here and as one HTML file that can be mailed."""
    from evener.api import runs
    from evener.errors import ConfigurationError
    from evener.report import terminal

    if html and no_html:
        raise ConfigurationError("--html and --no-html contradict each other", hint="leave one out")
    data = runs.find(run)
    story = runs.tell(data)
    show_json(story) if as_json else out.print(terminal.view(story))
    if html or not (no_html or as_json):
        path = runs.write_page(data, story, html)
        (err if as_json else out).print(f"page: {escape(str(path))}", soft_wrap=True)


def runs(as_json: Json = False) -> None:
    """List what has been measured, newest first."""
    from evener.api import runs as api
    from evener.report import terminal

    rows = api.listed()
    if as_json:
        show_json(rows)
    elif rows:
        out.print(terminal.runs_table(rows))
    else:
        out.print("no run yet: evener demo")
