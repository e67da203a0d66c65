"""`evener judge`: parse, ask for consent, judge, show."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from evener.cli import bench_options as options


def judge(
    run: Annotated[
        list[str], typer.Argument(help="One run of evener eval; or two, to compare their answers in pairs.")
    ],
    by: Annotated[
        str, typer.Option(metavar="URL", help="The judge's API, e.g. http://127.0.0.1:8080; or a deployment's name.")
    ],
    model: Annotated[
        str | None, typer.Option(help="The judge, as its API calls it. Default, at home: what the server serves.")
    ] = None,
    api: Annotated[Literal["openai", "anthropic"], typer.Option(help="Which language it speaks.")] = "openai",
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable that holds its key; read from the environment only.")
    ] = None,
    probes: Annotated[
        int, typer.Option(min=0, help="Questions of each kind that test the judge itself: known labels, tricks, again.")
    ] = 12,
    parallel: Annotated[int, typer.Option(min=1, help="Questions at once.")] = 2,
    max_tokens: Annotated[int, typer.Option(min=16, help="The most that a reply may take.")] = 1024,
    temperature: Annotated[float, typer.Option(min=0, help="Of the judge.")] = 0.0,
    related: Annotated[
        bool, typer.Option("--related", help="Judge its own family all the same; the result is marked.")
    ] = False,
    price_in: Annotated[float | None, typer.Option(min=0, help="Price of a million tokens that are sent.")] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help="Price of a million tokens that come back.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one reply may take.")] = 300.0,
    extra_body: Annotated[str | None, typer.Option(metavar="JSON", help="Laid over each request's body.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Agree beforehand that answers leave this house.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Let another model judge answers: errors of translations, rubrics, or which of two is better.

    Before anything leaves this house it is said what goes where, and asked. The judge is tested as it judges; what was
    judged once is not asked again. A model does not judge its own family. Judge with others as well: more than half of
    them decide.
    """
    from evener.api import judges
    from evener.cli import judge_view as view
    from evener.cli.console import progress_bar, run_async

    asked = judges.JudgeAsked(
        by=by,
        model=model,
        api=api,
        api_key_env=key_env,
        most_tokens=max_tokens,
        temperature=temperature,
        parallel=parallel,
        probes=probes,
        related=related,
        timeout_s=timeout,
        price_in=price_in,
        price_out=price_out,
        extra=options.json_object(extra_body, option="--extra-body"),
    )
    view.refuse_more_than_two(run)
    with progress_bar(quiet=as_json) as report:
        found = run_async(judges.judge(run, asked, agree=view.agreement(yes=yes), report=report))
    view.show(found, as_json=as_json)
    view.raise_unless_whole(found)
