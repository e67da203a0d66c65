"""`evener bench users`: parse, measure, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evener.cli import bench_options as options
from evener.cli.bench_options import (
    KEPT,
    LOAD,
    RUN,
    Ambient,
    ApiKey,
    ApiKeyEnv,
    BaseUrl,
    BenchJson,
    ExtraBody,
    Isl,
    Model,
    NoSelfTest,
    NoTelemetry,
    Osl,
    Save,
    Seed,
    Timeout,
)
from evener.cli.console import run_async
from evener.errors import ConfigurationError

if TYPE_CHECKING:
    from evener.api.bench_users import Ears, Eyes, Measured, Options
    from evener.cli.bench_live import UsersLive

PEOPLE = "People"
RESUMES = ("words", "base_url", "resume", "force", "api_key_env", "api_key", "ambient", "no_telemetry", "no_self_test",
           "form", "as_json")  # fmt: skip


def users(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL", help="A base URL, or a deployment. Default: the running deployment."),
    ] = None,
    concurrency: Annotated[
        str | None,
        typer.Option("--concurrency", "-c", rich_help_panel=LOAD, help="User counts. Default: 1,2,4,8,12,15."),
    ] = None,
    isl: Isl = 128,
    osl: Osl = 64,
    num_prompts: Annotated[
        int | None,
        typer.Option(rich_help_panel=LOAD, help="Measured requests per level. Default: three per user, at least six."),
    ] = None,
    request_rate: Annotated[
        float | None, typer.Option(rich_help_panel=LOAD, help="Requests a second, sent by the clock (an open loop).")
    ] = None,
    arrivals: Annotated[
        Literal["constant", "poisson", "replay"] | None,
        typer.Option(rich_help_panel=LOAD, help="How they come. Default with --request-rate: poisson."),
    ] = None,
    max_concurrency: Annotated[
        int, typer.Option(rich_help_panel=LOAD, help="Most in flight of an open loop; what is due beyond it waits.")
    ] = 64,
    turns: Annotated[
        int, typer.Option(rich_help_panel=LOAD, help="Requests per conversation; each sends the answers before it.")
    ] = 1,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", rich_help_panel=LOAD, help="Your own prompts, one JSON object per line."),
    ] = None,
    mode: Annotated[
        Literal["cold", "warm"],
        typer.Option(rich_help_panel=LOAD, help="cold: no cache helps, and that is checked. warm: caches are used."),
    ] = "cold",
    shared_prefix: Annotated[
        int | None,
        typer.Option(rich_help_panel=LOAD, help="With --mode warm: tokens that all prompts begin with, up to 20000."),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option("--mixed", rich_help_panel=LOAD, help="One long prompt arrives while seven others decode."),
    ] = False,
    mixed_len: Annotated[int, typer.Option(rich_help_panel=LOAD, help="With --mixed: its tokens.")] = 30_000,
    seed: Seed = None,
    timeout: Timeout = 600.0,
    people: Annotated[
        str | None,
        typer.Option(rich_help_panel=PEOPLE, help="People, who read and think, e.g. 4,8,12: with --profile."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(rich_help_panel=PEOPLE, help="What they do: translate, chat, coding or autocomplete."),
    ] = None,
    think: Annotated[
        float | None,
        typer.Option(
            "--think", "--think-time", rich_help_panel=PEOPLE, help="Seconds between answer and next request."
        ),
    ] = None,
    goodput: Annotated[
        list[str] | None,
        typer.Option(metavar="ttft:MS tpot:MS", rich_help_panel=PEOPLE, help="What people accept, in milliseconds."),
    ] = None,
    base_url: BaseUrl = None,
    model: Model = None,
    api_key_env: ApiKeyEnv = None,
    api_key: ApiKey = None,
    extra_body: ExtraBody = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", rich_help_panel=RUN, help="Go on for so long, e.g. 30m, at one count.")
    ] = None,
    ambient: Ambient = None,
    no_telemetry: NoTelemetry = False,
    no_self_test: NoSelfTest = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", rich_help_panel=RUN, help="Go on with a partial run; `last`: the last one of bench users."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=RUN, help="With --resume: although the server has changed.")
    ] = False,
    save: Save = True,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", rich_help_panel=KEPT, help="Where run folders go. Default: $EVENER_RUNS."
        ),
    ] = None,
    form: Annotated[
        Literal["md", "csv", "json", "jsonl"] | None,
        typer.Option("-o", "--output", rich_help_panel=KEPT, help="The rows of the table on standard output."),
    ] = None,
    as_json: BenchJson = False,
) -> None:
    """How fast for how many: users who each send their next request when the former has ended.

    Any server: evener bench users http://127.0.0.1:8080 --concurrency 1,4,8 --isl 512 --osl 256

    A team of people, not of robots: evener bench users --people 4,8,12 --profile chat

    Against your limits: evener bench users -c 8 --num-prompts 64 --goodput ttft:2000 tpot:100

    By the clock: evener bench users URL --request-rate 0.5 --arrivals poisson --num-prompts 60

    Does it keep its speed when it is warm: evener bench users -c 8 --duration 30m --ambient 24

    Ctrl-C keeps what was measured: evener bench users --resume last
    """
    from evener.cli import bench_view
    from evener.cli.bench_live import UsersLive

    options.refuse_key(api_key)
    named, limits = split(words or [], base_url, goodput or [])
    asked = _options(
        api_key_env=api_key_env, save=save, runs=runs, duration=duration,
        eyes=options.eyes(ambient=ambient, no_telemetry=no_telemetry, no_self_test=no_self_test),
    )  # fmt: skip
    with UsersLive(quiet=as_json or form is not None) as live:
        if resume is not None:
            _refuse_a_load(context)
            measured = run_async(_resumed(resume, named, asked, force=force, live=live))
        else:
            from evener.cli.bench_load import read_load

            load = read_load(
                concurrency=concurrency, people=people, profile=profile, isl=_given(context, "isl", isl),
                osl=_given(context, "osl", osl), prompts=num_prompts, rate=request_rate, arrivals=arrivals,
                most_in_flight=max_concurrency, turns=turns, think=think, replay=replay, mode=mode,
                shared_prefix=shared_prefix, mixed=mixed_len if mixed else None, limits=limits, seed=seed,
                timeout=timeout, model=model, extra=options.json_object(extra_body, option="--extra-body"),
            )  # fmt: skip
            from evener.api import bench_users as api

            measured = run_async(api.users(named, load, asked, _ears(live)))
    bench_view.show(measured, form=form, as_json=as_json)


async def _resumed(run: str, named: str | None, asked: Options, *, force: bool, live: UsersLive) -> Measured:
    from evener.api import bench_users as api

    return await api.resumed(run, named, asked, _ears(live), force=force)


def _ears(live: UsersLive) -> Ears:
    from evener.api.bench_users import Ears

    return Ears(report=live.report, request=live.request, level=live.level)


def split(words: list[str], base_url: str | None, goodput: list[str]) -> tuple[str | None, list[str]]:
    """The target and the limits: `--goodput ttft:2000 tpot:100` leaves its second word among the arguments."""
    more = [word for word in words if goodput and options.GOODPUT.fullmatch(word)]
    return options.where([word for word in words if word not in more], base_url), [*goodput, *more]


def _options(*, api_key_env: str | None, save: bool, runs: Path | None, duration: str | None, eyes: Eyes) -> Options:
    from evener.api.bench_users import Options

    return Options(
        api_key_env=api_key_env,
        save=save,
        base=runs,
        duration_s=options.seconds(duration, option="--duration") if duration else None,
        eyes=eyes,
    )


def _given(context: typer.Context, name: str, value: int) -> int | None:
    """What the user has written, None for a default: a profile may say otherwise."""
    return value if _is_given(context, name) else None


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_a_load(context: typer.Context) -> None:
    """A run that goes on has its load already."""
    given = [name for name in context.params if name not in RESUMES and _is_given(context, name)]
    if given:
        option = next(p.opts[0] for p in context.command.params if p.name == given[0])
        raise ConfigurationError(
            f"--resume goes on with the load of the run, and {option} would change it",
            hint="leave it out, or start anew",
        )
