"""`evener bench users`: parse, measure, show."""

from __future__ import annotations

from typing import Annotated

import typer


def users(
    url: Annotated[
        str | None, typer.Argument(help="Base URL, e.g. http://127.0.0.1:8080. Default: the running deployment.")
    ] = None,
    concurrency: Annotated[str, typer.Option("--concurrency", "-c", help="User counts, one level each.")] = "1,2,4",
    isl: Annotated[int, typer.Option("--isl", "--input-len", help="Prompt tokens per request.")] = 128,
    osl: Annotated[int, typer.Option("--osl", "--output-len", help="Answer tokens per request.")] = 64,
    num_prompts: Annotated[
        int | None, typer.Option(help="Measured requests per level. Default: three per user, at least six.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name to ask for. Default: the first one served.")] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Variable that holds the API key. Default: EVENER_API_KEY, if set."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the prompts. Default: another one each time.")] = None,
    extra_body: Annotated[str | None, typer.Option(metavar="JSON", help="Laid over each request's body.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one request may take.")] = 600.0,
    save: Annotated[bool, typer.Option(help="Write a run folder.")] = True,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """How fast for how many: users who each send their next request when the former has ended."""
    import secrets

    from evener.api import bench_users as api
    from evener.cli import bench_view
    from evener.cli.console import progress_bar, run_async

    load = api.Load(
        users=bench_view.user_counts(concurrency),
        prompts=num_prompts,
        prompt_tokens=isl,
        output_tokens=osl,
        seed=secrets.randbelow(1 << 31) if seed is None else seed,
        timeout_s=timeout,
        model=model,
        extra=bench_view.json_object(extra_body, option="--extra-body"),
    )
    with progress_bar(quiet=json_output) as report:
        measured = run_async(api.users(url, load, api_key_env=api_key_env, save=save, report=report))
    bench_view.show(measured, as_json=json_output)
    bench_view.raise_unless_valid(measured)
