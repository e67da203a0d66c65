"""`evener eval`: parse, ask, show."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from evener.cli import bench_options as options
from evener.cli.bench_options import ApiKey, ApiKeyEnv, ExtraBody

QUESTIONS, ASKING, KEPT = "Which questions", "How they are asked", "What is kept and shown"
PLANNED = "Before anything is asked"


def evaluate(
    suite: Annotated[
        list[str] | None,
        typer.Argument(
            help="translation, restraint, coding, instructions, recall, canary, or a JSONL file of your own."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A deployment's name, or a base URL. Default: the running deployment.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", rich_help_panel=QUESTIONS, help="Only the subset that is marked for a first look."),
    ] = False,
    category: Annotated[
        list[str] | None, typer.Option(rich_help_panel=QUESTIONS, help="Only these categories of a suite.")
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=QUESTIONS, help="At most so many per suite, whole clusters.")
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(min=1, rich_help_panel=ASKING, help="How often each question is asked, each with its own seed."),
    ] = 1,
    vote: Annotated[
        int | None,
        typer.Option(
            min=3, metavar="K", rich_help_panel=ASKING, help="Also an arm that takes what most of K answers say."
        ),
    ] = None,
    reflect: Annotated[
        bool, typer.Option("--reflect", rich_help_panel=ASKING, help="Also an arm that looks at its answer once more.")
    ] = False,
    temperature: Annotated[
        float, typer.Option(min=0, rich_help_panel=ASKING, help="Sent with every request: servers differ in theirs.")
    ] = 0.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, rich_help_panel=ASKING, help="The most that an answer may take, thinking included.")
    ] = 1024,
    thinking: Annotated[
        Literal["off", "on", "model"],
        typer.Option(rich_help_panel=ASKING, help="Asked for, and observed in each answer; model leaves it alone."),
    ] = "off",
    parallel: Annotated[
        int, typer.Option(min=0, rich_help_panel=ASKING, help="Questions at once; never more than slots. 0: all slots.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=ASKING, help="Of the first epoch.")] = 1,
    timeout: Annotated[float, typer.Option(rich_help_panel=ASKING, help="Seconds that one answer may take.")] = 600.0,
    back_within: Annotated[
        float,
        typer.Option(min=0, rich_help_panel=ASKING, help="Seconds that the server may be away before it ends here."),
    ] = 120.0,
    name: Annotated[
        str | None, typer.Option("--as", rich_help_panel=KEPT, help="What this candidate is called in reports.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(rich_help_panel=ASKING, help="Model name to ask for. Default: the first one served.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", rich_help_panel=KEPT, help="Go on with a run that was cut short; nothing is asked twice."
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", rich_help_panel=PLANNED, help="Ask nobody: what these suites can prove, and the cost."),
    ] = False,
    models: Annotated[
        int, typer.Option(min=1, rich_help_panel=PLANNED, help="How many candidates are to be compared.")
    ] = 2,
    rate: Annotated[
        float | None, typer.Option(min=0.01, rich_help_panel=PLANNED, help="Tokens per second of all slots together.")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            min=0.1, metavar="MINUTES", rich_help_panel=PLANNED, help="How to spend so many on all candidates."
        ),
    ] = None,
    shown_by: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="RUN",
            rich_help_panel=PLANNED,
            help="Plan with the lengths, the rate and the differences that finished runs have shown.",
        ),
    ] = None,
    api_key_env: ApiKeyEnv = None,
    api_key: ApiKey = None,
    extra_body: ExtraBody = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=KEPT, help="One JSON document on standard output.")
    ] = False,
) -> None:
    """How well a model answers: suites of questions, scored by code, with error bars.

    One candidate per run. Compare several with: evener verdict RUN RUN ...

        evener eval translation restraint --plan --models 6
        evener eval translation restraint --quick
        evener eval coding --url http://127.0.0.1:8080 --epochs 3 --temperature 0.7
    """
    from evener.api import evals as api
    from evener.cli import evals_view as view
    from evener.cli.console import progress_bar, run_async

    options.refuse_key(api_key)
    view.require_plan(plan=plan, within=within, shown_by=shown_by)
    if resume is not None:
        view.refuse_with_resume(suite, url)
        with progress_bar(quiet=as_json) as report:
            found = run_async(api.resume(resume, api_key_env=api_key_env, report=report))
        view.show(found, as_json=as_json)
        return view.raise_unless_valid(found)
    asked = api.EvalAsked(
        candidate=name or "",
        suites=tuple(view.suites(suite)),
        sha256=(),
        quick=quick,
        categories=tuple(category or ()),
        most=most,
        arms=("single", *(("vote",) if vote else ()), *(("reflection",) if reflect else ())),
        k=vote or 5,
        epochs=epochs,
        temperature=temperature,
        most_tokens=max_tokens,
        seed=seed,
        thinking={"off": False, "on": True, "model": None}[thinking],
        parallel=parallel,
        timeout_s=timeout,
        back_within_s=back_within,
        model=model,
    )
    if plan:
        from evener.api import eval_plans

        planned = eval_plans.plan(
            asked, models=models, tokens_per_s=rate, within_minutes=within, runs=tuple(shown_by or ())
        )
        return view.show_plan(planned, as_json=as_json)
    extra = options.json_object(extra_body, option="--extra-body")
    with progress_bar(quiet=as_json) as report:
        found = run_async(api.evaluate(url, asked, api_key_env=api_key_env, extra=extra, report=report))
    view.show(found, as_json=as_json)
    view.raise_unless_valid(found)
