"""`evener review`: one answer after the other, by keyboard, until there is none left or the reviewer stops."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from evener.cli.console import err, out
from evener.errors import ConfigurationError
from evener.report.words import plain, prose

if TYPE_CHECKING:
    from evener.api.reviews import Sitting
    from evener.evals.review import Item

KEYS_ALONE = "[b]r[/] right  [b]w[/] wrong  [b]u[/] unsure  [b]e[/] reason, then a label  [b]z[/] undo  [b]q[/] stop"
KEYS_PAIR = "[b]1[/] first  [b]2[/] second  [b]t[/] tie  [b]u[/] unsure  [b]e[/] reason  [b]z[/] undo  [b]q[/] stop"


def review(
    run: Annotated[list[str], typer.Argument(help="One run of evener eval; or two, whose answers are shown in pairs.")],
    by: Annotated[str | None, typer.Option("--as", help="Who reviews. Default: the name of this account.")] = None,
    pool: Annotated[
        Literal["random", "decisive"],
        typer.Option(
            help="random speaks for all answers and may correct a judge; decisive begins where most hangs on it."
        ),
    ] = "random",
) -> None:
    """Look at answers without knowing whose they are, and say what they are worth.

    Every label is kept at once, with your name and your reason; stop when you like and come back later.
    """
    from evener.api import reviews

    if len(run) > 2:
        raise ConfigurationError(f"{len(run)} runs were named: one is reviewed, or two in pairs")
    sitting = reviews.sit(run, reviewer=by or getpass.getuser(), pool=pool)
    while (item := sitting.next) is not None:
        _show(sitting, item)
        if not _answered(sitting, item):
            break
    _farewell(sitting)


def _show(sitting: Sitting, item: Item) -> None:
    done = len(sitting.queue) - len(sitting.left)
    out.print(f"\n[dim]{done + 1} of {len(sitting.queue)}, {sitting.pool} pool{_agreed(sitting)}[/]")
    if item.question.context:
        out.print(Panel(Text(_readable(item.question.context)), title="context", title_align="left"))
    out.print(Panel(Text(_readable(item.question.prompt)), title="question", title_align="left"))
    if item.question.references and item.other is None:
        out.print(
            Panel(
                Text(_readable("\n".join(item.question.references))), title="reference", title_align="left", style="dim"
            )
        )
    for number, text in enumerate(item.shown, start=1):
        title = "answer" if item.other is None else f"answer {number}"
        out.print(Panel(Text(_readable(text) or "(empty)"), title=title, title_align="left", border_style="cyan"))
    out.print(KEYS_ALONE if item.other is None else KEYS_PAIR)


def _readable(text: str) -> str:
    """As written, but for what a terminal would obey."""
    return plain(prose(text))


def _answered(sitting: Sitting, item: Item) -> bool:
    """Take keys until the item has a label or is left; whether to go on."""
    reason: str | None = None
    while True:
        key = _key()
        if key in ("q", "\x1b", "\x04", ""):
            return False
        if key == "z":
            if sitting.undo() is None:
                err.print("nothing of this sitting to take back")
                continue
            return True
        if key == "e":
            reason = typer.prompt("reason", err=True)
            continue
        label = item.label(key)
        if label is not None:
            sitting.say(item, label, reason)
            return True


def _key() -> str:
    """One key from a terminal, else one character of standard input; "" at its end."""
    import sys

    if sys.stdin.isatty():
        import click

        return click.getchar().lower()
    return sys.stdin.read(1).lower()


def _agreed(sitting: Sitting) -> str:
    """How far the reviewer and the machine agree so far, once there is something to agree on."""
    found = sitting.agreement()
    if not found.n:
        return ""
    kappa = "-" if found.kappa is None else f"{found.kappa:.2f}"
    return f"; with code or judges: {found.raw:.0%} of {found.n}, kappa {kappa}"


def _farewell(sitting: Sitting) -> None:
    from evener.report.judges_rows import coefficients

    found, left = sitting.agreement(), len(sitting.left)
    out.print(
        f"\n{len(sitting.mine)} labelled by {escape(sitting.reviewer)} now, {left} left in the {sitting.pool} pool"
    )
    for name, one in (("code or judges", found), *sitting.others().items()):
        if one.n:
            told = coefficients(one.kappa, one.kappa_interval, one.ac1)
            out.print(f"with {escape(name)}: {one.raw:.0%} of {one.n} alike{told}", soft_wrap=True)
    together = sitting.everyone()
    if together.labellers > 2 and together.alpha is not None:
        out.print(
            f"all {together.labellers} who labelled the same {together.n}: Krippendorff's alpha {together.alpha:.2f}",
            soft_wrap=True,
        )
