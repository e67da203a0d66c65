"""`evener runs`: what has been measured; tag it, prune it, pack it into one file, open that elsewhere."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from evener.cli.console import out, show_json

if TYPE_CHECKING:
    from evener.api.store import Pruned, Tagged

app = typer.Typer(help="What has been measured: list, tag, prune, pack into one file, open that elsewhere.")

GIB = 1 << 30
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Name = Annotated[str, typer.Argument(help="A run folder, an id, its beginning or end, or `last`.")]
Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="Letters, digits, and . _ + -")]
What = Annotated[
    str | None, typer.Option(help="Only what was done so: users, speed, context, pair, eval, compare, up, demo.")
]
Model = Annotated[str | None, typer.Option(help="Only models with this in their name.")]
Tag = Annotated[str | None, typer.Option(metavar="WORD", help="Only runs with this tag.")]


@app.callback(invoke_without_command=True)
def runs(
    context: typer.Context,
    what: What = None,
    model: Model = None,
    state: Annotated[Literal["complete", "partial", "unfinished"] | None, typer.Option(help="Only runs in it.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only runs that began since then: 2026-11-01, or 36h, 7d, 2w ago (UTC).")
    ] = None,
    tag: Tag = None,
    inner: Annotated[bool, typer.Option("--all", help="Also the runs that runs hold, as a campaign does.")] = False,
    as_json: Json = False,
) -> None:
    """List what has been measured, newest first; or tag it, prune it, pack it into one file, open that elsewhere."""
    if context.invoked_subcommand is not None:
        return
    from evener.api import store
    from evener.report import terminal

    begun = since_when(since, now=datetime.now(UTC)) if since else None
    rows = store.listed(store.Wanted(what=what, model=model, state=state, since=begun, tag=tag), inner=inner)
    if as_json:
        show_json(rows)
    elif rows:
        out.print(terminal.runs_table(rows))
    elif any((what, model, state, since, tag)):
        out.print("no run like that: evener runs lists all")
    else:
        out.print("no run yet: evener demo")


def since_when(text: str, *, now: datetime, option: str = "--since") -> datetime:
    """ "2026-11-01", "2026-11-01T12:30", "36h" or "7d" before now. Raises ConfigurationError."""
    from evener.errors import ConfigurationError

    number, unit = text[:-1], text[-1:]
    try:
        if unit in UNITS:
            return now - timedelta(**{UNITS[unit]: float(number)})
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ConfigurationError(f"{option} {text}: no date, and no time ago", hint="2026-11-01, 36h, 7d") from None


@app.command()
def tag(run: Name, words: Words, as_json: Json = False) -> None:
    """Give a run tags, to find it by. A tagged run is not pruned."""
    from evener.api import store

    _show_tagged(store.tag(run, words), as_json=as_json)


@app.command()
def untag(run: Name, words: Words, as_json: Json = False) -> None:
    """Take tags away again."""
    from evener.api import store

    _show_tagged(store.untag(run, words), as_json=as_json)


def _show_tagged(found: Tagged, *, as_json: bool) -> None:
    if as_json:
        show_json(found)
    else:
        out.print(f"{found.run}: {', '.join(found.tags) or 'no tags'}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def prune(
    before: Annotated[
        str | None, typer.Option(help="Only runs that began before then: 2026-11-01, or 30d, 12w ago (UTC).")
    ] = None,
    keep: Annotated[int | None, typer.Option(min=0, help="All but the newest so many of those chosen.")] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Only runs that did not come to their end: partial, unfinished.")
    ] = False,
    what: What = None,
    model: Model = None,
    tag: Tag = None,
    tagged: Annotated[bool, typer.Option("--tagged", help="Runs with any tag, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and leave it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Remove runs for good, with all that they hold: say which, ask, do it.

    What is in use stays, and so does what is tagged, unless it is asked for by --tag or --tagged.

    evener runs prune --before 30d

    evener runs prune --what users --keep 20 --dry-run
    """
    from evener.api import store
    from evener.errors import ConfigurationError

    if as_json and not (yes or dry_run):
        raise ConfigurationError("--json asks nobody", hint="--yes removes them, --dry-run only says which")
    until = since_when(before, now=datetime.now(UTC), option="--before") if before else None
    wanted = store.Wanted(what=what, model=model, before=until, tag=tag)
    planned = store.to_prune(store.Prune(wanted=wanted, keep=keep, ended_short=short, tagged=tagged))
    if not as_json:
        _show_planned(planned)
    if planned.runs and not dry_run:
        _agree(planned, yes=yes)
        planned = store.prune(planned)
        if not as_json:
            _show_pruned(planned)
    if as_json:
        show_json(planned)


def _show_planned(planned: Pruned) -> None:
    from evener.report import terminal

    if planned.runs:
        out.print(terminal.runs_table(planned.runs))
    else:
        out.print("nothing to prune")
    for one in planned.spared:
        out.print(f"[yellow]stays:[/] {escape(one.run)}: {escape(one.why)}", soft_wrap=True, highlight=False)


def _agree(planned: Pruned, *, yes: bool) -> None:
    from evener.errors import ConfigurationError
    from evener.report.words import count, size

    what = f"{count(len(planned.runs), 'run')}, {size(planned.bytes)}"
    if not yes and not sys.stdin.isatty():
        raise ConfigurationError(f"{what} would go, and nobody can be asked", hint="--yes agrees to that")
    if not yes:
        typer.confirm(f"Remove {what}, for good?", abort=True, err=True)


def _show_pruned(done: Pruned) -> None:
    from evener.report.words import count, size

    out.print(f"removed {count(len(done.runs), 'run')}, {size(done.bytes)}", highlight=False)


@app.command()
def pack(
    run: Annotated[list[str], typer.Argument(help="Run folders, ids, their beginnings or ends, or `last`.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="In .tar.zst or .tar.gz. Default: named after the run."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Pack runs, with all that they hold, into one file that can be mailed. The same runs give the same bytes.

    Addresses and names of your machines are in it. Keys are not: a run that holds one is refused.
    """
    from evener.api import store
    from evener.report.words import count, size

    done = store.pack(run, output)
    if as_json:
        show_json(done)
        return
    for name in done.left_out:
        out.print(f"[yellow]left out:[/] {escape(name)}: no plain file", soft_wrap=True, highlight=False)
    what = f"{count(len(done.runs), 'run')}, {count(done.files, 'file')}, {size(done.bytes)}"
    out.print(f"{escape(done.path)}: {what}", soft_wrap=True, highlight=False)


@app.command("open")
def open_(
    file: Annotated[Path, typer.Argument(help="What evener runs pack has made.")],
    most_gib: Annotated[float, typer.Option(min=0, help="The most that it may unfold to, in GiB.")] = 20.0,
    as_json: Json = False,
) -> None:
    """Bring the runs of a pack to the others: all of them, or none.

    A run that is here already stays as it is; another one of the same name is refused.
    """
    from evener.api import store

    done = store.unpack(file, most_bytes=int(most_gib * GIB))
    if as_json:
        show_json(done)
        return
    for name in done.runs:
        out.print(f"{name}: evener report {name}", soft_wrap=True, markup=False, highlight=False)
    for name in done.already:
        out.print(f"{name}: was here already", soft_wrap=True, markup=False, highlight=False)
