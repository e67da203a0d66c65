"""`evener bench speed`: parse, measure, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from evener.cli import bench_options as options
from evener.cli.bench_options import (
    KEPT,
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

Out = Annotated[
    str | None,
    typer.Option("--out", metavar="FOLDER", rich_help_panel=KEPT, help="Where run folders go. Default: $EVENER_RUNS."),
]


def speed(
    url: Annotated[
        str | None,
        typer.Argument(help="A deployment's name, or a base URL. Default: the running deployment."),
    ] = None,
    prompts: Annotated[str, typer.Option("-p", "--n-prompt", rich_help_panel=LOAD, help="Prompt tokens.")] = "512",
    outputs: Annotated[str, typer.Option("-n", "--n-gen", rich_help_panel=LOAD, help="Answer tokens.")] = "128",
    depths: Annotated[
        str, typer.Option("-d", "--n-depth", rich_help_panel=LOAD, help="Tokens in the cache before the test.")
    ] = "0",
    pairs: Annotated[
        list[str] | None,
        typer.Option("-pg", metavar="PP,TG", rich_help_panel=LOAD, help="A prompt and its answer as one test."),
    ] = None,
    repetitions: Annotated[
        int, typer.Option("-r", "--repetitions", rich_help_panel=LOAD, help="Of each test, after one to warm up.")
    ] = 5,
    output: Annotated[
        Literal["md", "csv", "json", "jsonl"] | None,
        typer.Option("-o", "--output", rich_help_panel=KEPT, help="The rows in another form, on standard output."),
    ] = None,
    with_llama_bench: Annotated[
        bool,
        typer.Option(
            "--with-llama-bench",
            help="Also stop our server, run llama-bench on the same plan and workers, and start the server again.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the server is stopped.")] = False,
    seed: Seed = None,
    timeout: Timeout = 600.0,
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
    """One sequence at a time, as llama-bench measures it, but through the server: pp512, tg128, pp512 @ d4096.

    -p, -n and -d take lists: evener bench speed -p 512,2048 -n 128 -d 0,4096
    """
    from evener.api import bench_speed as api
    from evener.cli import bench_speed_view as view
    from evener.cli.console import progress_bar, run_async

    options.refuse_key(api_key)
    named = options.where([url] if url else [], base_url)
    sizes = api.Sizes(
        prompts=view.sizes(prompts, option="-p"),
        outputs=view.sizes(outputs, option="-n"),
        depths=view.sizes(depths, option="-d"),
        pairs=tuple(view.pair(text) for text in pairs or ()),
        repetitions=repetitions,
        seed=options.a_seed(seed),
        timeout_s=timeout,
        model=model,
        extra=options.json_object(extra_body, option="--extra-body"),
    )
    if with_llama_bench and not yes:
        view.agreed(api.require_ours(named).name, option="--with-llama-bench")
    with progress_bar(quiet=as_json) as report:
        measured = run_async(
            api.speed(
                named,
                sizes,
                llama_bench=with_llama_bench,
                api_key_env=api_key_env,
                save=save,
                eyes=options.eyes(ambient=ambient, no_telemetry=no_telemetry, no_self_test=no_self_test),
                report=report,
                base=Path(out) if out else None,
            )
        )
    view.show(measured, form="whole" if as_json else output)
