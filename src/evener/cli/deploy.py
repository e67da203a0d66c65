"""`evener up`, `status`, `logs`, `down`: a deployment's life from the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, out, run_async, show_json
from evener.cli.options import (
    Aim,
    Context,
    Draft,
    Drafts,
    Json,
    Kv,
    Layout,
    Mmproj,
    RigFile,
    Unified,
    Users,
    read_workload,
)

if TYPE_CHECKING:
    from evener.records.deployment import Deployment

Name = Annotated[str | None, typer.Argument(help="The deployment; needless while there is only one.")]


def up(
    context_: typer.Context,
    model: Annotated[str, typer.Argument(help="A path, `demo`, or the name of a model that is here.")],
    rig: RigFile = None,
    layout: Layout = "auto",
    users: Users = 4,
    context: Context = 4096,
    kv: Kv = "f16",
    unified: Unified = False,
    drafts: Drafts = 0,
    mmproj: Mmproj = None,
    draft: Draft = None,
    aim: Aim = None,
    name: Annotated[str | None, typer.Option(help="What to call it; default: the model's name.")] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Leave it running under a supervisor.")] = False,
    no_baseline: Annotated[
        bool, typer.Option("--no-baseline", help="Do not compare a cluster with the one machine that would do.")
    ] = False,
    supervised: Annotated[bool, typer.Option(hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Load a model, verify it card by card, and serve it until Ctrl-C (or `evener down`, with --detach).

    Engine flags go after `--`: evener up demo -- --jinja. Those that the plan decides are refused.
    """
    from evener.api import deployments, plans
    from evener.api.rig import Rig
    from evener.cli.detach import detached
    from evener.cli.live import LiveView

    workload = read_workload(users=users, context=context, kv=kv, unified=unified, drafts=drafts, draft=draft, aim=aim)
    planned = run_async(plans.launchable(Rig.open(rig), model, workload, layout=layout, mmproj=mmproj, draft=draft))
    extra = deployments.checked(context_.args)
    if detach:
        raise typer.Exit(detached(planned, name=name, as_json=as_json))
    if not (as_json or supervised):
        out.print(escape(planned.plan.verdict.sentence), soft_wrap=True)
    with LiveView(as_json=as_json, silent=supervised) as view:
        ended = run_async(
            deployments.up(planned, model=model, name=name, extra=extra, baseline=not no_baseline, on_message=view.show)
        )
    raise typer.Exit(0 if ended.is_clean else 1)


def status(
    clients: Annotated[
        bool, typer.Option("--clients", help="What to write into editors and chat clients to use the door.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what is deployed: the door and what is behind it; each deployment's state, layout, address, processes."""
    from evener.api import deployments
    from evener.cli import serve
    from evener.records.serving import RunningNow

    known, door = deployments.running(), serve.door_status()
    if as_json:
        show_json(RunningNow(door=door, deployments=known))
        return
    if door is not None:
        serve.show_door(door, clients=clients)
    elif not known:
        out.print("nothing is deployed: evener up MODEL, or evener serve MODEL for a team")
    elif clients:
        out.print("no door is open: settings are for the door of evener serve MODEL")
    for one in known:
        _show(one, alive=deployments.is_alive(one))


def logs(
    name: Name = None,
    host: Annotated[str | None, typer.Option(help="Only this host's.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they are written.")] = False,
) -> None:
    """Print what the engine said, on every host of a deployment."""
    from evener.api import deployments

    for source, line in deployments.log_lines(deployments.pick(name), host=host, lines=lines, follow=follow):
        out.print(f"[dim]{escape(source)}[/] {escape(line)}", soft_wrap=True)


def down(name: Name = None, as_json: Json = False) -> None:
    """Stop a deployment and prove, card by card, that its memory came back. Exit code 1 when it did not.

    The door that `evener serve` opened is called `door`, and closes when nothing else is named or runs.
    """
    from evener.api import deployments
    from evener.cli.live import LiveView

    is_door = name is None and not deployments.running() and deployments.door_supervisor() is not None
    if is_door or name == deployments.DOOR:
        from evener.api import door  # here: what stands behind it takes half a second to import

        run_async(door.close())
        out.print("the door is closed, and everything behind it is down")
        return
    one = deployments.pick(name)
    with LiveView(as_json=as_json) as view:
        clean = run_async(deployments.down(one, on_message=view.show))
    if clean is None:
        err.print(f"{escape(one.name)}: its supervisor was gone already, and so is everything it had started")
    elif clean and not as_json:
        out.print(f"{escape(one.name)} is down")
    raise typer.Exit(1 if clean is False else 0)


def _show(one: Deployment, *, alive: bool) -> None:
    state = one.state if alive or one.state == "failed" else "gone (its supervisor died)"
    colour = {"ready": "green", "failed": "red"}.get(state, "yellow")
    out.print(f"[bold]{escape(one.name)}[/] [{colour}]{state}[/] since {one.since:%Y-%m-%d %H:%M:%S} UTC")
    out.print(f"  {escape(one.model)}: {one.candidate.name}, {one.users} users of {one.context} tokens")
    for what, path in (("projector", one.projector), ("draft model", one.draft)):
        if path:
            out.print(f"  {what}: {escape(path)}", soft_wrap=True)
    if one.url and alive:
        out.print(f"  {escape(one.url)}/v1")
    if one.fault:
        out.print(f"  [red]{escape(one.fault)}[/]", soft_wrap=True)
    for process in one.processes if alive else ():
        out.print(f"  {process.role} on {escape(process.host)}: pid {process.pid}, {escape(process.listen)}")
    if one.run:
        out.print(f"  run: {escape(one.run)}", soft_wrap=True)
