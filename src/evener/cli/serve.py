"""`evener serve`, `pause`, `continue`, `switch`: one door for the team, and what is behind it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from evener.cli.console import err, out, run_async, show_json
from evener.cli.options import Context, Json, Kv, Layout, RigFile, Unified, Users, read_workload
from evener.errors import ConfigurationError, HostError
from evener.serve.unit import WAIT_FOR_HOSTS_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.api.door import Wanted
    from evener.records.plan import Workload
    from evener.records.serving import DoorStatus, ReadyToUse

BEYOND = "Beyond this machine"
CARE = "When something dies"

Which = Annotated[str | None, typer.Argument(help="A deployment behind the door; needless while there is only one.")]


class EngineFlagsLast(TyperCommand):
    """What stands behind `--` is for the engine, and no further model."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        super().parse_args(ctx, args[:end])
        ctx.args = args[end + 1 :]
        return args[end + 1 :]


def serve(
    context_: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]MODEL[@LAYOUT]...", help="What to serve; each on hosts of its own."),
    ],
    rig: RigFile = None,
    layout: Layout = "auto",
    users: Users = 4,
    context: Context = 8192,
    kv: Kv = "f16",
    unified: Unified = False,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; default: what the rig file says under serve.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Default: what the rig file says under serve.")
    ] = None,
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
    install: Annotated[
        bool, typer.Option("--install", help="Write a systemd unit that opens this door at boot; start nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the unit that --install finds.")] = False,
    as_json: Json = False,
) -> None:
    """One URL for a team: models behind a door with keys, a fair queue, and a restart when something dies.

    auto serves replicas where the plan says so. Engine flags go after `--`. Who may enter: evener people add NAME.
    """
    from evener.api import deployments, door
    from evener.api.rig import Rig
    from evener.cli.live import LiveView

    workload = read_workload(users=users, context=context, kv=kv, unified=unified, drafts=0, draft=None, aim=None)
    if (tls_cert is None) != (tls_key is None):
        raise ConfigurationError("--tls-cert and --tls-key belong together")
    wanted = [_wanted(text, layout, workload) for text in models]
    extra = deployments.checked(context_.args)
    opened = Rig.open(rig)
    options = door.Options(
        host=host,
        port=port,
        tls=(tls_cert, tls_key) if tls_cert and tls_key else None,
        hung_after_s=hung_after,
        wait_for_hosts_s=wait_for_hosts,
    )
    if install:
        door.require_keys(opened, options)
        _install(force)
        return
    with LiveView(as_json=as_json) as view:
        run = run_async(
            door.serve(
                opened,
                wanted,
                options,
                extra=extra,
                on_message=view.show,
                on_open=lambda url: None if as_json else _opened(url),
                on_ready=lambda url, ready: None if as_json else show_ready(url, ready),
            )
        )
    (err if as_json else out).print(f"the door is closed; run: {escape(str(run))}", soft_wrap=True)


def _install(force: bool) -> None:
    """The same command as a unit, with the hosts waited for: at boot they come later."""
    from evener.api import door_unit

    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    ours = [a for a in sys.argv[sys.argv.index("serve") + 1 : end] if a not in ("--install", "--force", "--json")]
    if not any(a.startswith("--wait-for-hosts") for a in ours):
        ours += ["--wait-for-hosts", str(WAIT_FOR_HOSTS_S)]
    path = door_unit.install([*ours, *sys.argv[end:]], force=force)
    out.print(f"written: {escape(str(path))}", soft_wrap=True)
    out.print(
        "  systemctl --user daemon-reload && systemctl --user enable --now evener-door  # now, and at boot",
        soft_wrap=True,
    )
    out.print(
        "  loginctl enable-linger   # once: services of yours start at boot and outlive your session", soft_wrap=True
    )
    out.print(
        "  journalctl --user -u evener-door -f   # what it says;  evener status shows what is behind it", soft_wrap=True
    )


_WANTED = re.compile(r"(?:(?P<name>[\w.-]+)=)?(?P<model>.+?)(?:@(?P<layout>[\w.-]+))?")


def _wanted(text: str, layout: str, workload: Workload) -> Wanted:
    """`[NAME=]MODEL[@LAYOUT]`; a path may hold an @ before its last slash."""
    from evener.api.door import Wanted

    found = _WANTED.fullmatch(text)
    if found is None:
        raise ConfigurationError(f"{text!r} names no model", hint="evener serve [NAME=]MODEL[@LAYOUT]")
    at = found["layout"] or layout
    return Wanted(name=found["name"], model=found["model"], layout=at, workload=workload)


def _opened(url: str) -> None:
    out.print(f"the door is open: [bold]{escape(url)}/v1[/]")


def show_ready(url: str, ready: Sequence[ReadyToUse]) -> None:
    """What to expect of each model, and what to write into editors and chat clients."""
    for one in ready:
        out.print(f"\n[bold]{escape(one.model)}[/]: {one.slots} at once, {one.context} tokens each, answer included")
        out.print(f"  thinking: {one.thinking or 'not known'}, when nobody asks for a mode")
        measured = one.good_for or "never measured as it is: evener bench users --profile chat"
        out.print(f"  good for: {escape(measured)}" + (f" ({one.run})" if one.run else ""), soft_wrap=True)
    _show_clients(url, ready[0].model, ready[0].context)


def _show_clients(url: str, model: str, context: int) -> None:
    from evener.serve.clients import settings

    for client in settings(url, model, context):
        out.print(f"\n[bold]{escape(client.client)}[/], {escape(client.where)}", soft_wrap=True)
        out.print(escape(client.text), soft_wrap=True, highlight=False)


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
    from evener.report.terminal import freed_table

    done = run_async(door.order(what, which, **more))
    if as_json:
        show_json(done.status)
    else:
        if done.freed and what == "pause":
            out.print(freed_table(done.freed))
        show_door(done.status)
    raise typer.Exit(1 if any(check.verdict == "held" for check in done.freed) else 0)


def show_door(status: DoorStatus, *, clients: bool = False) -> None:
    """The door and what is behind it; `clients` shows what to write into those."""
    out.print(f"[bold]{escape(status.url)}/v1[/] open since {status.since:%Y-%m-%d %H:%M:%S} UTC")
    for one in status.behind:
        colour = "green" if one.state == "ready" else "yellow"
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
    for one in status.behind[:1] if clients else ():
        _show_clients(status.url, one.model, one.context)


def door_status() -> DoorStatus | None:
    """What the door says of itself; None where there is none."""
    from evener.api import deployments

    if deployments.door_supervisor() is None:
        return None
    from evener.api import door

    try:
        return run_async(door.status())
    except HostError:
        return None
