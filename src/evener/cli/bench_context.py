"""`evener bench context`: parse, measure, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evener.cli import bench_options as options
from evener.cli.bench_options import (
    LOAD,
    Ambient,
    ApiKey,
    ApiKeyEnv,
    BaseUrl,
    BenchJson,
    ExtraBody,
    Model,
    NoSelfTest,
    NoTelemetry,
    Save,
    Seed,
    Timeout,
)
from evener.cli.bench_speed import Out


def context(
    url: Annotated[
        str | None,
        typer.Argument(help="A deployment's name, or a base URL. Default: the running deployment."),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=LOAD,
            help="Prompt lengths in tokens: 1k,4k,16k. Default: doubling from 1k up to what one sequence may be.",
        ),
    ] = None,
    needles: Annotated[
        int, typer.Option(min=1, rich_help_panel=LOAD, help="Needles at each of five places of the prompt.")
    ] = 2,
    reasoning: Annotated[
        int, typer.Option(min=0, rich_help_panel=LOAD, help="Questions per length that need three places.")
    ] = 4,
    answer_tokens: Annotated[
        int, typer.Option(min=1, rich_help_panel=LOAD, help="The most that an answer may take, thinking included.")
    ] = 64,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Really load longer contexts, from the predicted one on: our server stops meanwhile, and comes back.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the server is stopped.")] = False,
    seed: Seed = None,
    timeout: Timeout = 1800.0,
    base_url: BaseUrl = None,
    model: Model = None,
    api_key_env: ApiKeyEnv = None,
    api_key: ApiKey = None,
    extra_body: ExtraBody = None,
    ambient: Ambient = None,
    no_telemetry: NoTelemetry = False,
    no_self_test: NoSelfTest = False,
    save: Save = True,
    out: Out = None,
    as_json: BenchJson = False,
) -> None:
    """How long a prompt may be: trained window, configured limit, memory, and answers that are still right.

    All of it holds under the allocation that runs; the lowest ceiling is the one that binds.
    """
    from evener.api import bench_context as api
    from evener.cli import bench_context_view as view
    from evener.cli.bench_speed_view import agreed
    from evener.cli.console import progress_bar, run_async

    options.refuse_key(api_key)
    named = options.where([url] if url else [], base_url)
    asked = api.Asked(
        lengths=None if lengths is None else view.lengths(lengths),
        each_place=needles,
        chains=reasoning,
        answer_tokens=answer_tokens,
        seed=options.a_seed(seed),
        timeout_s=timeout,
        model=model,
        extra=options.json_object(extra_body, option="--extra-body"),
    )
    if reload and not yes:
        agreed(api.require_ours(named).name, option="--reload")
    with progress_bar(quiet=as_json) as report:
        measured = run_async(
            api.context(
                named,
                asked,
                reload=reload,
                api_key_env=api_key_env,
                save=save,
                eyes=options.eyes(ambient=ambient, no_telemetry=no_telemetry, no_self_test=no_self_test),
                report=report,
                base=Path(out) if out else None,
            )
        )
    view.show(measured, as_json=as_json)
