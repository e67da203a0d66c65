"""`evener report` and `evener runs`: what was measured, in the terminal, as a page, as Markdown, CSV and JSON."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from evener.cli.console import err, out, show_json

if TYPE_CHECKING:
    from evener.edges.run_folder import RunData
    from evener.report.against_parts import Against

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Form = Literal["html", "md", "csv", "json"]
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def report(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            help="A run folder, an id, its beginning or end, or `last`. Two: the second is held against the first. "
            "Several evaluations: what they prove, as evener verdict says it.",
            show_default="last",
        ),
    ] = None,
    output: Annotated[
        Form | None, typer.Option("-o", "--output", help="The report in this form on standard output, and no page.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Where the page goes; default: report.html in the run.")] = None,
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a run found, here and as one HTML file that can be mailed; or hold two runs against each other."""
    from evener.api import runs
    from evener.errors import ConfigurationError

    names = run or ["last"]
    if html and no_html:
        raise ConfigurationError("--html and --no-html contradict each other", hint="leave one out")
    form = chosen_form(output, as_json=as_json)
    found = [runs.find(name) for name in names]
    if len(found) == 1:
        _one(found[0], form, html, page=not (no_html or form))
    elif all(data.run.what == "eval" for data in found):
        _verdict(found, form, html)
    elif len(found) == 2:
        _against(runs.compare(*found), form, html)
    else:
        raise ConfigurationError(
            f"{len(names)} runs were named: two can be held against each other",
            hint="evener verdict compares any number of evaluations",
        )


def chosen_form(output: Form | None, *, as_json: bool) -> Form | None:
    """--json is short for -o json. Raises ConfigurationError for both with different forms."""
    from evener.errors import ConfigurationError

    if as_json and output not in (None, "json"):
        raise ConfigurationError(f"--json and -o {output} contradict each other", hint="leave one out")
    return "json" if as_json else output


def _verdict(found: list[RunData], form: Form | None, html: Path | None) -> None:
    from evener.api import verdicts
    from evener.cli import verdict_view

    verdict_view.show(verdicts.verdicts([data.path for data in found]), form, html)


def _one(data: RunData, form: Form | None, html: Path | None, *, page: bool) -> None:
    from evener.api import runs
    from evener.report import terminal

    story = runs.tell(data)
    if form:
        sys.stdout.write(runs.written(data, story, form))
    else:
        out.print(terminal.view(story))
    if html or page:
        _say_page(runs.write_page(data, story, html), quiet=bool(form))


def _against(found: Against, form: Form | None, html: Path | None) -> None:
    from evener.api import runs
    from evener.report import against_view

    if form:
        sys.stdout.write(runs.written_against(found, form))
    else:
        out.print(against_view.view(found))
    if html:
        _say_page(runs.write(runs.written_against(found, "html"), html), quiet=bool(form))


def _say_page(path: Path, *, quiet: bool) -> None:
    (err if quiet else out).print(f"page: {escape(str(path))}", soft_wrap=True)


def runs(
    what: Annotated[
        str | None, typer.Option(help="Only what was done so: users, speed, context, pair, eval, up, demo.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only models with this in their name.")] = None,
    state: Annotated[Literal["complete", "partial", "unfinished"] | None, typer.Option(help="Only runs in it.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only runs that began since then: 2026-11-01, or 36h, 7d, 2w ago (UTC).")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what has been measured, newest first."""
    from evener.api import runs as api
    from evener.report import terminal

    begun = since_when(since, now=datetime.now(UTC)) if since else None
    rows = api.listed(api.Wanted(what=what, model=model, state=state, since=begun))
    if as_json:
        show_json(rows)
    elif rows:
        out.print(terminal.runs_table(rows))
    elif any((what, model, state, since)):
        out.print("no run like that: evener runs lists all")
    else:
        out.print("no run yet: evener demo")


def since_when(text: str, *, now: datetime) -> datetime:
    """ "2026-11-01", "2026-11-01T12:30", "36h" or "7d" before now. Raises ConfigurationError."""
    from evener.errors import ConfigurationError

    number, unit = text[:-1], text[-1:]
    try:
        if unit in UNITS:
            return now - timedelta(**{UNITS[unit]: float(number)})
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ConfigurationError(f"--since {text}: no date, and no time ago", hint="2026-11-01, 36h, 7d") from None
