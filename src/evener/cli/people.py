"""`evener people`: keys for the door, limits, and who used how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.cli.options import Json

if TYPE_CHECKING:
    from evener.records.serving import Person, PersonLimits

app = typer.Typer(help="Keys for the door that `evener serve` opens: a key for each person, limits, usage.")

Name = Annotated[str, typer.Argument(help="Letters, digits, dots, dashes, underscores, @.")]
Parallel = Annotated[int | None, typer.Option(min=1, help="Requests at once; more of them wait.")]
PerMinute = Annotated[int | None, typer.Option(min=1, help="Requests a minute; more are refused with 429.")]
PerDay = Annotated[int | None, typer.Option("--tokens-per-day", min=1, help="Prompts and answers, UTC days.")]


@app.command()
def add(
    name: Name, parallel: Parallel = None, per_minute: PerMinute = None, per_day: PerDay = None, as_json: Json = False
) -> None:
    """Give somebody a key. It is shown once and kept nowhere: only its hash is."""
    from evener.api import people

    _show_key(name, people.add(name, _limits(parallel, per_minute, per_day)), as_json)


@app.command("new-key")
def new_key(name: Name, as_json: Json = False) -> None:
    """Replace somebody's key: the old one opens nothing from now on."""
    from evener.api import people

    _show_key(name, people.new_key(name), as_json)


@app.command("list")
def list_(
    revoked: Annotated[bool, typer.Option("--revoked", help="Those without a key any more, too.")] = False,
    as_json: Json = False,
) -> None:
    """Who has a key, since when, with which limits."""
    from evener.api import people

    shown = [person for person in people.everybody() if revoked or person.revoked_at is None]
    if as_json:
        show_json({"people": [_without_hash(person) for person in shown]})
        return
    if not shown:
        out.print("nobody has a key: evener people add NAME")
        return
    table = Table("name", "key", "since", "limits", box=None, pad_edge=False, header_style="dim")
    for person in shown:
        gone = "" if person.revoked_at is None else f", revoked {person.revoked_at:%Y-%m-%d %H:%M}"
        since = f"{person.added_at:%Y-%m-%d %H:%M}{gone}"
        table.add_row(escape(person.name), f"{escape(person.key_hint)}...", since, _told(person.limits))
    out.print(table)


@app.command()
def revoke(name: Name) -> None:
    """Take somebody's key, at once: what is in flight with it ends."""
    from evener.api import people

    people.revoke(name)
    out.print(f"{escape(name)} is out")


@app.command()
def limit(name: Name, parallel: Parallel = None, per_minute: PerMinute = None, per_day: PerDay = None) -> None:
    """Set somebody's limits anew; what is not named is no limit."""
    from evener.api import people

    limits = _limits(parallel, per_minute, per_day)
    people.limit(name, limits)
    out.print(f"{escape(name)}: {_told(limits)}")


@app.command()
def usage(
    days: Annotated[int, typer.Option(min=1, max=3660, help="Days, today included (UTC).")] = 30, as_json: Json = False
) -> None:
    """What each person used: requests, tokens, seconds, failures. No prompt is kept anywhere."""
    from evener.api import people
    from evener.codec import to_data

    used = people.usage(days=days)
    if as_json:
        show_json({"usage": [to_data(one) for one in used]})
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in (
        "name",
        "requests",
        "failed",
        "refused",
        "prompt tokens",
        "answer tokens",
        "seconds",
        "of it waiting",
    ):
        table.add_column(column, justify="left" if column == "name" else "right")
    for one in used:
        counts = (one.requests, one.failures, one.refused, one.prompt_tokens, one.output_tokens)
        table.add_row(
            escape(one.person), *(str(count) for count in counts), f"{one.seconds:.0f}", f"{one.waited_s:.0f}"
        )
    out.print(table if used else "nobody has used anything yet")


def _limits(parallel: int | None, per_minute: int | None, per_day: int | None) -> PersonLimits:
    from evener.records.serving import PersonLimits

    return PersonLimits(parallel=parallel, requests_per_minute=per_minute, tokens_per_day=per_day)


def _told(limits: PersonLimits) -> str:
    told = {
        "at once": limits.parallel,
        "requests a minute": limits.requests_per_minute,
        "tokens a day": limits.tokens_per_day,
    }
    return ", ".join(f"{most} {what}" for what, most in told.items() if most is not None) or "none"


def _show_key(name: str, key: str, as_json: bool) -> None:
    if as_json:
        show_json({"name": name, "key": key})
        return
    out.print(f"the key of {escape(name)}, shown this once:")
    out.print(key, soft_wrap=True, highlight=False)


def _without_hash(person: Person) -> dict[str, object]:
    from evener.codec import to_data

    return {name: value for name, value in to_data(person).items() if name != "key_sha256"}
