"""Bare `evener`: the rig, who holds its memory, what is running, and the one next command. Fails for nothing absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evener.cli.link_view import link_lines
from evener.cli.scan_view import headline, held_lines, order_view
from evener.records.card import Scan
from evener.records.deployment import Deployment
from evener.records.rig import Rig

WITHIN_S = 1.5


def first_screen() -> None:
    """Ask this machine quickly and show what it said."""
    from evener.api import rig as rigs
    from evener.cli.console import out, run_async

    opened = rigs.Rig.open()
    seen = run_async(opened.scan(within_s=WITHIN_S))
    out.print(screen(opened.record, seen, opened.deployments()))


def screen(rig: Rig, scan: Scan, deployments: Sequence[Deployment]) -> Group:
    held = list(held_lines(scan.hosts))
    return Group(
        headline(rig),
        "",
        order_view(rig, scan),
        "",
        Text("Memory held", style="bold"),
        *(held or [Text("  by nobody worth a line")]),
        *_faults(scan),
        *link_lines(rig, scan, briefly=True),
        "",
        *_running(deployments),
        "",
        Text.assemble(("next: ", "bold"), (next_command(scan, deployments), "bold cyan")),
    )


def next_command(scan: Scan, deployments: Sequence[Deployment]) -> str:
    """The one command that gets a newcomer further from here."""
    head = scan.hosts[0]
    if head.connection == "local" and head.engine is None:
        return "evener engine install"
    return "evener status" if deployments else "evener plan MODEL"


def _running(deployments: Sequence[Deployment]) -> Iterator[RenderableType]:
    yield Text("Running", style="bold")
    if not deployments:
        yield Text("  nothing")
    for deployment in deployments:
        where = f" at {deployment.url}" if deployment.url else ""
        users = f"{deployment.users} user{'' if deployment.users == 1 else 's'} of {deployment.context} tokens"
        yield Text(f"  {deployment.name}: {deployment.model}, {deployment.state}{where}, good for {users}")


def _faults(scan: Scan) -> Iterator[Text]:
    for host in scan.hosts:
        if host.fault:
            yield Text(f"  ! {host.name}: {host.fault}", style="yellow")
