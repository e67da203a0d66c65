"""`evener verdict`: parse, compare, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def verdict(
    run: Annotated[list[str], typer.Argument(help="Two or more runs of evener eval: ids, their ends, or folders.")],
    failures: Annotated[
        Literal["excluded", "wrong"],
        typer.Option(help="What becomes of answers that are no evidence: cut short, timed out, broken off."),
    ] = "excluded",
    margin: Annotated[
        float, typer.Option(min=0, max=100, help="Points within which two count as practically equal.")
    ] = 3.0,
    output: Annotated[
        Literal["html", "md", "csv", "json"] | None,
        typer.Option("-o", "--output", help="The verdict in this form on standard output."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page there: charts, outcomes, and answers side by side.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Which candidate answers better, which can be dropped, and when nobody can tell.

    Candidates are compared on the questions that they share, in pairs, with Holm's correction; above all stands the
    set that holds the best one at 95 %. The same candidate twice is the noise floor.
    The canary says whether two layouts of one model answer alike.
    """
    from evener import state
    from evener.api import verdicts as api
    from evener.cli import verdict_view as view
    from evener.cli.report import chosen_form
    from evener.edges.run_folder import find_run

    form = chosen_form(output, as_json=as_json)
    paths = [find_run(state.runs_folder(), name) for name in run]
    found = api.verdicts(paths, policy="counted wrong" if failures == "wrong" else "excluded", margin=margin / 100)
    view.show(found, form, html)
