"""`evener serve`, `pause`, `continue`, `switch`: one door for the team, and what is behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from evener.cli.console import err, out, run_async, show_json
from evener.cli.options import Context, Json, Kv, RigFile, Unified, Users, read_workload
from evener.errors import HostError

if TYPE_CHECKING:
    from evener.api.door import House, Wanted
    from evener.records.serving import DoorStatus

BEYOND = "Beyond this machine"
CARE = "When something dies"

Which = Annotated[str | None, typer.Argument(help="A deployment behind the door; needless while there is only one.")]


def serve(
    context_: typer.Context,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL[@LAYOUT]...", help="What to serve; each on hosts of its own.")
    ],
    rig: RigFile = None,
    users: Users = 4,
    context: Context = 8192,
    kv: Kv = "f16",
    unified: Unified = False,
    host: Annotated[str | None, typer.Option(help="Where to listen. [[serve] of the rig file]")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="[[serve] of the rig file]")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(rich_help_panel=BEYOND, help="The certificate, for https. A proxy can do it as well.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(rich_help_panel=BEYOND, help="Its key.")] = None,
    hung_after: Annotated[
        float,
        typer.Option(min=5, rich_help_panel=CARE, help="Seconds: requests wait and nothing moves, so it is dead."),
    ] = 60.0,
    wait_for_hosts: Annotated[
        float, typer.Option(min=0, rich_help_panel=CARE, help="Seconds to wait at the start for hosts to answer.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """One URL for a team: models behind a door with keys, a fair queue, and a restart when something dies.

    auto serves replicas where the plan says so. Engine flags go after `--`. Who may enter: evener people add NAME.
    """
    from evener.api import deployments, door
    from evener.api.rig import Rig
    from evener.cli.live import LiveView
    from evener.errors import ConfigurationError

    names = models[: len(models) - len(context_.args)] if context_.args else models
    workload = read_workload(users=users, context=context, kv=kv, unified=unified, drafts=0, draft=None, aim=None)
    if (tls_cert is None) != (tls_key is None):
        raise ConfigurationError("--tls-cert and --tls-key belong together")
    options = door.Options(
        host=host,
        port=port,
        tls=(tls_cert, tls_key) if tls_cert and tls_key else None,
        hung_after_s=hung_after,
        wait_for_hosts_s=wait_for_hosts,
    )
    wanted = [_wanted(text, workload) for text in names]
    with LiveView(as_json=as_json) as view:
        run = run_async(
            door.serve(
                Rig.open(rig),
                wanted,
                options,
                extra=deployments.checked(context_.args),
                on_message=view.show,
                on_open=lambda house: None if as_json else _opened(house),
            )
        )
    (err if as_json else out).print(f"the door is closed; run: {escape(str(run))}", soft_wrap=True)


def _wanted(text: str, workload: Any) -> Wanted:
    from evener.api.door import Wanted

    model, at, layout = text.rpartition("@")
    return (
        Wanted(model=model, layout=layout, workload=workload) if at and model else Wanted(model=text, workload=workload)
    )


def _opened(house: House) -> None:
    out.print(f"the door is open: [bold]{escape(house.url)}/v1[/]")


def pause(which: Which = None, as_json: Json = False) -> None:
    """Let a deployment finish what is in flight and leave its cards, until `evener continue`."""
    _ordered("pause", which, as_json)


def go_on(which: Which = None, as_json: Json = False) -> None:
    """Bring a paused deployment back."""
    _ordered("continue", which, as_json)


def switch(
    which: Which = None,
    model: Annotated[
        str | None, typer.Option(help="Another model in its place; default: the same, planned anew.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Drain a deployment and bring it up anew: another model, or a newer engine. What waits is kept meanwhile."""
    _ordered("switch", which, as_json, model=model)


def _ordered(what: str, which: str | None, as_json: bool, **more: str | None) -> None:
    from evener.api import door

    status = run_async(door.order(what, which, **more))
    if as_json:
        show_json(status)
    else:
        show_door(status)


def show_door(status: DoorStatus) -> None:
    """The door and what is behind it."""
    out.print(f"[bold]{escape(status.url)}/v1[/] open since {status.since:%Y-%m-%d %H:%M:%S} UTC")
    for one in status.behind:
        colour = {"ready": "green", "given up": "red"}.get(one.state, "yellow")
        out.print(
            f"  {escape(one.name)} [{colour}]{one.state}[/]: {escape(one.model)} on {escape(one.layout)}, "
            f"{one.busy} of {one.slots} slots busy, {one.context} tokens each, restarts: {one.restarts}",
            soft_wrap=True,
        )
        if one.why:
            out.print(f"    {escape(one.why)}", soft_wrap=True)
    rate = "" if status.tokens_per_s is None else f", {status.tokens_per_s:.0f} tok/s"
    out.print(
        f"  {status.people or 'no'} people with a key; {status.answered} answered, {status.failed} failed, "
        f"{status.refused} refused; {status.waiting} waiting{rate}"
    )


def door_status() -> DoorStatus | None:
    """What the door says of itself; None where there is none."""
    from evener.api import door

    try:
        return run_async(door.asked("status"))
    except HostError:
        return None
