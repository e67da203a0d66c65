"""`evener engine`: get llama.cpp, list what is there, prove that it works."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, gib, out, progress_bar, run_async, show_json
from evener.errors import Interrupted
from evener.records.capability import Backend, Capability, EngineCheck, FoundEngine, Installed

app = typer.Typer(help="Get llama.cpp, list what is there, prove that it works.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Folder = Annotated[
    str | None, typer.Argument(help="A folder with llama.cpp's programs; without it, the engine in use.")
]


@app.command()
def install(
    backend: Annotated[
        Backend | None,
        typer.Option(help="What to build for; without it, this host's GPU, or its CPU if there is none."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once; without it, what cores and memory allow.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", exists=True, dir_okay=False, help="The source archive, already downloaded.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build llama.cpp for this machine into the cache. Interrupted, it goes on where it stopped."""
    from evener.api import engines

    with progress_bar(quiet=as_json) as report:
        try:
            done = run_async(engines.install(report=report, backend=backend, jobs=jobs, given=source))
        except Interrupted as stop:
            raise Interrupted(stop.message, hint="the same command goes on where it stopped") from None
    if as_json:
        show_json(done)
    else:
        _show_installed(done)
    if not done.check.ok:
        raise typer.Exit(1)


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
        Path | None, typer.Option(exists=True, dir_okay=False, help="Generate the token with this GGUF.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Generate one token, and compare the GPUs that the engine sees with the driver's. Exit 1: something is amiss."""
    from evener.api import engines

    answer = run_async(engines.check(folder, model=model))
    if as_json:
        show_json(answer)
    else:
        _show_check(answer)
    if not answer.ok:
        raise typer.Exit(1)


def _show_installed(done: Installed) -> None:
    for note in done.notes:
        err.print(f"[yellow]note:[/] {escape(note)}", soft_wrap=True)
    what = "already there" if done.already else f"built in {done.took_s:.0f} s"
    where = f"{gib(done.bytes)} in {escape(done.folder)}"
    out.print(f"[bold]{_name(done.check.capability)}[/], {done.built.backend}: {what}, {where}", soft_wrap=True)
    _show_problems(done.check)


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
    _show_problems(answer)


def _show_problems(answer: EngineCheck) -> None:
    for problem in answer.problems:
        err.print(f"[bold red]problem:[/] {escape(problem)}", soft_wrap=True)


def _name(capability: Capability) -> str:
    from evener.dialects.llama_build import engine_name

    return f"llama.cpp {engine_name(capability)}"
