"""`evener rig`: what a rig file may say, and whether one is sound."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Look at rig files.", no_args_is_help=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of rig.toml: every key, its type and its meaning."""
    from evener.api.rig import rig_schema
    from evener.cli.console import show_json

    show_json(rig_schema())


@app.command()
def check(
    path: Annotated[str | None, typer.Argument(metavar="FILE", help="Default: as for `evener scan`.")] = None,
) -> None:
    """Read a rig file and say whether it is sound. All faults are shown at once, each with its key."""
    from evener.api.rig import Rig
    from evener.cli.console import out
    from evener.cli.scan_view import headline

    opened = Rig.open(path)
    out.print(headline(opened.record), soft_wrap=True)
    for host in opened.record.hosts:
        out.print(f"  {host.name}  {host.connection}  {host.address or ''}".rstrip(), markup=False, soft_wrap=True)
