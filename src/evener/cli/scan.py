"""`evener scan`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.options import RigFile
from evener.errors import ConfigurationError

if TYPE_CHECKING:
    from evener.api.rig import Rig

LINKS = "Measure every link of the rig first. This sends data over each for about 5 s; nothing may be deployed."
MEASURE = (
    "Measure every card of the rig first, one after another, with llama-bench and a small model: half a minute each. "
    "It stops nothing that runs, and asks before it measures beside it."
)
MODELS = "With --measure: the models to measure with, which each host must have. Two of different size say more. [demo]"
PASTE = "Take in what nvidia-smi printed on HOST (standard input, or --from), for a host that cannot be asked."


def scan(
    models: Annotated[list[str] | None, typer.Argument(metavar="MODEL", help=MODELS)] = None,
    rig: RigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scan as JSON.")] = False,
    links: Annotated[bool, typer.Option("--links", help=LINKS)] = False,
    measure: Annotated[bool, typer.Option("--measure", help=MEASURE)] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --measure: do not ask, measure beside what runs.")] = False,
    paste: Annotated[str | None, typer.Option("--paste", metavar="HOST", help=PASTE)] = None,
    source: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="With --paste: read FILE.")] = None,
    init: Annotated[bool, typer.Option("--init", help="Write a first rig.toml for this machine.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --init: replace the file.")] = False,
) -> None:
    """Show the rig as it is: hosts, cards, who holds their memory, and the engine's true device order."""
    from evener.api import rig as rigs
    from evener.cli.console import out, run_async, show_json

    if init:
        path = run_async(rigs.write_first_rig(rig, force=force))
        out.print(f"{path}: written; `evener scan` shows what it makes of it", markup=False, soft_wrap=True)
        return
    from evener.cli.scan_view import scan_view

    if models and not measure:
        raise ConfigurationError(f"{models[0]}: scan takes a model only to measure with", hint="add --measure")
    opened = rigs.Rig.open(rig)
    if paste is not None:
        _take_in(opened, paste, source)
    if links:
        measure_links(opened)
    if measure:
        measure_cards(opened, models or [], yes=yes)
    seen = run_async(opened.scan())
    if as_json:
        show_json(seen)
    else:
        out.print(scan_view(opened.record, seen, width=out.width))


def _take_in(opened: Rig, host: str, source: Path | None) -> None:
    from evener.api.links import paste
    from evener.cli.console import err

    pasted = paste(opened, host, _text(source))
    names = ", ".join(card.name for card in pasted.cards)
    err.print(f"{host}: taken in as pasted: {names}", markup=False, soft_wrap=True)


def _text(source: Path | None) -> str:
    if source is None:
        return sys.stdin.read()
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(f"{source}: {error.strerror}") from None


def measure_links(opened: Rig) -> None:
    from evener.api.links import measure
    from evener.cli.console import err, progress_bar, run_async

    err.print("Sending data over each link, about 5 s each.")
    with progress_bar() as report:
        run_async(measure(opened, report=report))


def measure_cards(opened: Rig, models: list[str], *, yes: bool) -> None:
    """Measure, after asking where somebody is at work. Raises HostBusy where nobody can be asked."""
    from evener.api import speeds
    from evener.cli.console import err, progress_bar, run_async

    seen = run_async(opened.scan())
    others = speeds.taken(opened, seen)
    for line in others:
        err.print(f"in use: {line}", markup=False, soft_wrap=True)
    if others and not yes and sys.stdin.isatty():
        yes = typer.confirm("Measure beside it? Both will be slower, nothing is stopped.", abort=True, err=True)
    with progress_bar() as report:
        done = run_async(speeds.measure(opened, seen, models, beside_others=yes, report=report))
    for fault in done.faults:
        err.print(f"not measured: {fault}", markup=False, soft_wrap=True)
