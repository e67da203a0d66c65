"""`evener engine`: get llama.cpp, carry it to other hosts, list what is there, prove that it works everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, out, progress_bar, run_async, show_json
from evener.cli.options import RigFile
from evener.errors import Interrupted
from evener.records.capability import (
    Backend,
    Capability,
    EngineCheck,
    FoundEngine,
    HostEngine,
    Installed,
    RigEngines,
    WorkerFound,
)
from evener.report.words import gib

app = typer.Typer(
    help="Get llama.cpp, carry it to other hosts, list what is there, prove that it works.", no_args_is_help=True
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Folder = Annotated[
    str | None, typer.Argument(help="A folder with llama.cpp's programs here; without it, every host of the rig.")
]


@app.command()
def install(
    backend: Annotated[
        Backend | None,
        typer.Option(help="What to build for; without it, the host's GPU, or its CPU if there is none."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Build on this host of the rig; without it, here.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once; without it, what cores and memory allow.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="The source archive, or a release archive of llama.cpp (file or URL); `official` finds one."
        ),
    ] = None,
    sha256: Annotated[str | None, typer.Option(help="Refuse the release archive unless it has this hash.")] = None,
    rig: RigFile = None,
    as_json: Json = False,
) -> None:
    """Build llama.cpp into a host's cache, for all GPUs of the rig. Interrupted, it goes on where it stopped."""
    from evener.api import rig_engines

    with progress_bar(quiet=as_json) as report:
        try:
            done = run_async(
                rig_engines.install(
                    rig, host=host, report=report, backend=backend, jobs=jobs, given=source, sha256=sha256
                )
            )
        except Interrupted as stop:
            raise Interrupted(stop.message, hint="the same command goes on where it stopped") from None
    _show_or_json(done, as_json)


@app.command()
def push(
    host: Annotated[str, typer.Argument(help="A host of the rig.")],
    rig: RigFile = None,
    as_json: Json = False,
) -> None:
    """Carry this machine's engine to another host, where system, processor and libraries allow."""
    from evener.api import rig_engines

    with progress_bar(quiet=as_json) as report:
        done = run_async(rig_engines.push(rig, host, report=report))
    _show_or_json(done, as_json)


@app.command("list")
def list_engines(as_json: Json = False) -> None:
    """Show every engine in sight: the user's own, the cache's, the one on PATH; and which one is used, and why."""
    from evener.api import engines

    found = run_async(engines.found())
    if as_json:
        show_json(found)
        return
    for one in found:
        _show_found(one)
    if not any(one.used for one in found):
        named = any(one.source in ("argument", "EVENER_ENGINE") for one in found)
        out.print(
            "no engine to use: a folder that you name is never replaced by another"
            if named
            else "no engine to use: evener engine install"
        )


@app.command()
def check(
    folder: Folder = None,
    model: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Generate the token with this GGUF, here.")
    ] = None,
    rig: RigFile = None,
    as_json: Json = False,
) -> None:
    """Prove every host's engine with one token, and compare builds and running workers. Exit 1: something is amiss.

    With FOLDER or --model, only the engine here, against the GPUs that the driver shows.
    """
    from evener.api import engines, rig_engines

    if folder or model:
        answer = run_async(engines.check(folder, model=str(model) if model else None))
        show_json(answer) if as_json else _show_check(answer)
        ok = answer.ok
    else:
        everywhere = run_async(rig_engines.check(rig))
        show_json(everywhere) if as_json else _show_everywhere(everywhere)
        ok = everywhere.ok
    if not ok:
        raise typer.Exit(1)


def _show_or_json(done: Installed, as_json: bool) -> None:
    show_json(done) if as_json else _show_installed(done)
    if not done.check.ok:
        raise typer.Exit(1)


def _show_installed(done: Installed) -> None:
    for note in done.notes:
        err.print(f"[yellow]note:[/] {escape(note)}", soft_wrap=True)
    what = "already there" if done.already else f"there after {done.took_s:.0f} s"
    where = f"{gib(done.bytes)} in {escape(done.folder)}"
    out.print(f"[bold]{_name(done.check.capability)}[/], {done.built.backend}: {what}, {where}", soft_wrap=True)
    _show_problems(done.check.problems)


def _show_found(one: FoundEngine) -> None:
    """Two lines and no table, so that no path is ever cut."""
    able = one.capability
    said = [f"{_name(able)}, RPC {able.protocol or '?'}"] if able else []
    said += [one.built.backend] if one.built else []
    said += [gib(one.bytes)] if one.bytes else []
    said += [f"{one.source}: {escape(one.why)}"]
    out.print(f"{'[bold]used[/]' if one.used else '    '}  {escape(one.folder)}", soft_wrap=True)
    out.print(f"      {', '.join(said)}", soft_wrap=True)


def _show_check(answer: EngineCheck) -> None:
    speaks = f"RPC {answer.capability.protocol or '?'}, {', '.join(answer.backends)}"
    out.print(f"[bold]{_name(answer.capability)}[/], {speaks}, {escape(answer.folder)}", soft_wrap=True)
    out.print(f"one token in {answer.token_ms:.2f} ms")
    for device in answer.devices:
        memory = f"{gib(device.free_bytes)} free of {gib(device.total_bytes)}"
        out.print(f"{device.name}: {escape(device.description)}, {memory}", soft_wrap=True)
    _show_problems(answer.problems)


def _show_everywhere(answer: RigEngines) -> None:
    for host in answer.hosts:
        out.print(f"[bold]{escape(host.host)}[/]  {_engine_there(host)}", soft_wrap=True)
    for worker in answer.workers:
        out.print(f"[bold]{escape(worker.host)}[/]  {_worker_there(worker)}", soft_wrap=True)
    for note in answer.notes:
        err.print(f"[yellow]note:[/] {escape(note)}", soft_wrap=True)
    _show_problems(answer.problems)


def _engine_there(host: HostEngine) -> str:
    if host.check is None:
        return escape(host.fault or "no engine of its own: somebody else starts its workers")
    able, token_ms = host.check.capability, host.check.token_ms
    speaks = f"RPC {able.protocol or '?'}, {', '.join(host.check.backends)}, one token in {token_ms:.2f} ms"
    return f"{_name(able)}, {speaks}, {escape(host.folder or '')}"


def _worker_there(worker: WorkerFound) -> str:
    who = f"pid {worker.pid}, {worker.path or 'binary unknown'}" if worker.pid else "process not visible from here"
    return escape(f"worker at {worker.endpoint}: {worker.answer}; {who}")


def _show_problems(problems: tuple[str, ...]) -> None:
    for problem in problems:
        err.print(f"[bold red]problem:[/] {escape(problem)}", soft_wrap=True)


def _name(capability: Capability) -> str:
    from evener.dialects.llama_build import engine_name

    return f"llama.cpp {engine_name(capability)}"
