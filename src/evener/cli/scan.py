"""`evener scan`."""

from __future__ import annotations

from typing import Annotated

import typer

from evener.cli.options import RigFile


def scan(
    rig: RigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scan as JSON.")] = False,
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

    opened = rigs.Rig.open(rig)
    seen = run_async(opened.scan())
    if as_json:
        show_json(seen)
    else:
        out.print(scan_view(opened.record, seen, width=out.width))
