"""`evener engine`: get llama.cpp, list what is there, prove that it works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, gib, out, progress_bar, run_async, show_json
from evener.records.capability import Backend, EngineCheck, FoundEngine

if TYPE_CHECKING:
    from rich.table import Table

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
        done = run_async(engines.install(report=report, backend=backend, jobs=jobs, given=source))
    for note in done.notes:
        err.print(f"[yellow]note:[/] {escape(note)}")
    if as_json:
        show_json(done)
    else:
        what = "already there" if done.already else f"built in {done.took_s:.0f} s"
        out.print(f"[bold]{_name(done.check)}[/] {done.built.backend}: {what}, {gib(done.bytes)} in {done.folder}")
        _show_problems(done.check)
    if not done.check.ok:
        raise typer.Exit(1)


@app.command("list")
def list_engines(as_json: Json = False) -> None:
    """Show every engine in sight: the user's own, the cache's, the one on PATH; and which one is used, and why."""
    from evener.api import engines

    found = run_async(engines.found())
    if as_json:
        show_json(found)
    elif found:
        out.print(_table(found))
    else:
        out.print("no engine yet: evener engine install")


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
        out.print(
            f"[bold]{_name(answer)}[/] RPC {answer.capability.protocol}, {', '.join(answer.backends)}, {answer.folder}"
        )
        out.print(f"one token in {answer.token_ms:.2f} ms")
        for device in answer.devices:
            out.print(
                f"{device.name}: {device.description}, {gib(device.free_bytes)} free of {gib(device.total_bytes)}"
            )
        _show_problems(answer)
    if not answer.ok:
        raise typer.Exit(1)


def _show_problems(answer: EngineCheck) -> None:
    for problem in answer.problems:
        err.print(f"[bold red]problem:[/] {escape(problem)}")


def _name(answer: EngineCheck) -> str:
    from evener.dialects.llama_build import engine_name

    return f"llama.cpp {engine_name(answer.capability)}"


def _table(found: tuple[FoundEngine, ...]) -> Table:
    from rich.table import Table

    from evener.dialects.llama_build import engine_name

    table = Table("", "engine", "RPC", "backend", "size", "from", "why", "folder", box=None, pad_edge=False)
    for one in found:
        able = one.capability
        table.add_row(
            "used" if one.used else "",
            engine_name(able) if able else "?",
            (able.protocol if able else None) or "?",
            one.built.backend if one.built else "?",
            gib(one.bytes),
            one.source,
            escape(one.why),
            escape(one.folder),
        )
    return table
