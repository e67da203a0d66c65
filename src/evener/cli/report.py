"""`evener report` and `evener runs`: what was measured, in the terminal, as a page, as Markdown, CSV and JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from evener.cli.console import err, out
from evener.cli.options import MONEY

if TYPE_CHECKING:
    from evener.api.campaign_reports import Told
    from evener.edges.run_folder import RunData
    from evener.records.verdicts import Verdicts
    from evener.report.against_parts import Against
    from evener.report.beside_parts import Beside

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Form = Literal["html", "md", "csv", "json"]
Language = Literal["en", "zh"]
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def report(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            help="A run folder, an id, its beginning or end, or `last`. Two: the second is held against the first. "
            "More, of any kind: side by side. A file of llama-bench (json, jsonl, csv, sql) stands beside them as "
            "foreign. Several evaluations: what they prove, as evener verdict says it.",
            show_default="last",
        ),
    ] = None,
    output: Annotated[
        Form | None, typer.Option("-o", "--output", help="The report in this form on standard output, and no page.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Where the page goes; default: report.html in the run.")] = None,
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    post: Annotated[
        bool, typer.Option("--post", help="Markdown for a blog or a forum, with how it was measured; no page.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Show also what cannot be compared, marked and without any verdict.")
    ] = False,
    lang: Annotated[Language, typer.Option(help="The language of a campaign's report.")] = "en",
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CARD=PRICE", rich_help_panel=MONEY, help='In a campaign, what a card costs: "RTX 5090=2300".'
        ),
    ] = None,
    kwh_price: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=MONEY, help="In a campaign, what one kWh costs.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a run found, here and as one HTML file that can be mailed; or hold several runs against each other.

    Of a campaign (evener compare) it says what stands and falls, what further machines brought, and what that rests on.
    """
    from evener.api import campaign_data, campaign_reports, side_by_side
    from evener.plan.money import read_prices

    form = asked_form(output, html, no_html=no_html, post=post, as_json=as_json)
    found = side_by_side.named(run or ["last"])
    alone = found[0].run if len(found) == 1 else None
    if campaigns := [one.run for one in found if one.run and campaign_data.is_campaign(one.run)]:
        require_alone(campaigns, of=len(found))
        told = campaign_reports.told(campaigns[0], language=lang, prices=read_prices(price or ()), kwh_price=kwh_price)
        _campaign(told, form, html, post=post, page=not (no_html or form or post))
        return
    require_campaign(lang=lang, price=price, kwh_price=kwh_price)
    if post:
        sys.stdout.write(side_by_side.post(found, anyway=anyway))
    elif alone:
        _one(alone, form, html, page=not (no_html or form))
    elif proved := side_by_side.evaluations(found, anyway=anyway):
        _verdict(proved, form, html)
    elif against := side_by_side.two(found):
        _against(against, form, html)
    else:
        _beside(side_by_side.beside(found, anyway=anyway), form, html)


def require_alone(campaigns: list[RunData], *, of: int) -> None:
    """Raises ConfigurationError where a campaign stands among others."""
    from evener.errors import ConfigurationError

    if of > 1:
        raise ConfigurationError(
            f"{campaigns[0].path.name} is a campaign, and is reported alone",
            hint=f"its own runs can be held against others: they lie in {campaigns[0].path / 'runs'}",
        )


def require_campaign(*, lang: Language, price: list[str] | None, kwh_price: float | None) -> None:
    """Raises ConfigurationError for an option that only a campaign's report has."""
    from evener.errors import ConfigurationError

    named = {"--lang": lang != "en", "--price": bool(price), "--kwh-price": kwh_price is not None}
    if wrong := next((option for option, given in named.items() if given), None):
        raise ConfigurationError(f"{wrong} is for the report of a campaign", hint="evener runs --what compare")


def _campaign(told: Told, form: Form | None, html: Path | None, *, post: bool, page: bool) -> None:
    from evener.api import campaign_reports
    from evener.report.campaign import view

    if post:
        sys.stdout.write(campaign_reports.post(told))
        return
    if form:
        sys.stdout.write(campaign_reports.in_form(told, form))
    else:
        out.print(view.view(told.story, told.say))
    if html or page:
        _say_page(campaign_reports.write_page(told, html), quiet=bool(form))


def asked_form(output: Form | None, html: Path | None, *, no_html: bool, post: bool, as_json: bool) -> Form | None:
    """The form for standard output. Raises ConfigurationError for options that contradict each other."""
    from evener.errors import ConfigurationError

    if html and no_html:
        raise ConfigurationError("--html and --no-html contradict each other", hint="leave one out")
    if post and (html or output or as_json):
        raise ConfigurationError("--post is a form of its own: it goes with no -o, --json or --html")
    return chosen_form(output, as_json=as_json)


def chosen_form(output: Form | None, *, as_json: bool) -> Form | None:
    """--json is short for -o json. Raises ConfigurationError for both with different forms."""
    from evener.errors import ConfigurationError

    if as_json and output not in (None, "json"):
        raise ConfigurationError(f"--json and -o {output} contradict each other", hint="leave one out")
    return "json" if as_json else output


def _verdict(proved: Verdicts, form: Form | None, html: Path | None) -> None:
    from evener.cli import verdict_view

    verdict_view.show(proved, form, html)


def _one(data: RunData, form: Form | None, html: Path | None, *, page: bool) -> None:
    from evener.api import runs
    from evener.report import terminal

    story = runs.tell(data)
    if form:
        sys.stdout.write(runs.written(data, story, form))
    else:
        out.print(terminal.view(story))
    if html or page:
        _say_page(runs.write_page(data, story, html), quiet=bool(form))


def _against(found: Against, form: Form | None, html: Path | None) -> None:
    from evener.api import runs
    from evener.report import against_view

    if form:
        sys.stdout.write(runs.written_against(found, form))
    else:
        out.print(against_view.view(found))
    if html:
        _say_page(runs.write(runs.written_against(found, "html"), html), quiet=bool(form))


def _beside(found: Beside, form: Form | None, html: Path | None) -> None:
    from evener.api import runs, side_by_side
    from evener.report import beside_view

    if form:
        sys.stdout.write(side_by_side.written(found, form))
    else:
        out.print(beside_view.view(found))
    if html:
        _say_page(runs.write(side_by_side.written(found, "html"), html), quiet=bool(form))


def _say_page(path: Path, *, quiet: bool) -> None:
    (err if quiet else out).print(f"page: {escape(str(path))}", soft_wrap=True)
