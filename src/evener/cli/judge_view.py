"""What `evener judge` asks before it sends anything, and what it shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.console import err, out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError, Interrupted, ResultInvalid
from evener.records.judging import JudgeResult
from evener.report import judges_rows
from evener.report.evals_parts import Jury
from evener.report.evals_rows import p_value
from evener.report.judges_rows import share

if TYPE_CHECKING:
    from evener.api.judges import Leaving

UNKNOWN = "-"


def refuse_more_than_two(runs: list[str]) -> None:
    if len(runs) > 2:
        raise ConfigurationError(f"{len(runs)} runs were named: one is judged, or two against each other")


def agreement(*, yes: bool) -> Callable[[Leaving], bool]:
    """Says what goes where. At home nobody is asked; elsewhere --yes or a person at a terminal agrees."""

    def agree(leaving: Leaving) -> bool:
        sent = f"{leaving.requests} questions, about {leaving.tokens} tokens, go to {escape(leaving.host)}"
        if leaving.at_home:
            err.print(f"{sent}, which is at home: nothing leaves this house", soft_wrap=True)
            return True
        cost = "its price is not known" if leaving.cost is None else f"at most {leaving.cost:.2f} in all"
        err.print(f"{sent}; {cost}", soft_wrap=True)
        if yes:
            return True
        if not sys.stdin.isatty():
            return False
        import typer

        return typer.confirm("Answers and questions leave this house. Send them?", err=True)

    return agree


def show(found: JudgeResult, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(found))
        return
    out.print(f"[bold]{escape(found.judge.called)}[/] at {escape(found.judge.provider)}")
    for table in (_mqm(found), _rubric(found), _pairs(found)):
        if table is not None:
            out.print(table)
    for line in remarks(found):
        out.print(escape(line), soft_wrap=True)


def raise_unless_whole(found: JudgeResult) -> None:
    again = "the same command goes on from there: what was judged is not asked again"
    if found.partial == "interrupted":
        raise Interrupted("interrupted", hint=again)
    if found.partial is not None:
        raise ResultInvalid(f"incomplete: {found.partial}", hint=again)


def remarks(found: JudgeResult) -> list[str]:
    """The judge's passport and whatever speaks against it, one line each."""
    lines = [] if found.passport is None else [judges_rows.passport_line(found.passport)]
    lines += judges_rows.corrected_lines(found.corrected)
    lines += judges_rows.jury_lines(Jury(majority=found.majority, corrected=(), together=found.together))
    lines += [f"mark: {mark}" for mark in found.marks]
    tokens = "tokens not counted" if found.tokens is None else f"{found.tokens} tokens"
    lines.append(
        f"{found.asked} requests, {found.from_cache} from before, {found.unparseable} not readable, "
        f"{found.failed} failed; {tokens}, {found.seconds:.0f} s"
    )
    return [*lines, *found.notes, *([f"partial: {found.partial}"] if found.partial else [])]


def _mqm(found: JudgeResult) -> Table | None:
    if not found.mqm:
        return None
    heads = ("candidate", "direction", "#penalty per 1000", "#95 %", "#segments", "#documents")
    shown = _table(*heads, "without grave ones", "errors")
    for one in found.mqm:
        errors = ", ".join(f"{n} {severity}" for severity, n in one.errors.items())
        invented = f"; {one.invented} quotes not in the text" if one.invented else ""
        shown.add_row(
            escape(one.candidate),
            one.direction,
            f"{one.per_1000:.1f}",
            UNKNOWN if one.interval is None else f"{one.interval[0]:.0f}-{one.interval[1]:.0f}",
            str(one.segments),
            str(one.documents),
            UNKNOWN if one.sound is None else share(one.sound),
            (errors or "none") + invented,
        )
    return shown


def _rubric(found: JudgeResult) -> Table | None:
    if not found.rubric:
        return None
    shown = _table("candidate", "met the rubric")
    for one in found.rubric:
        shown.add_row(escape(one.candidate), share(one.passed))
    return shown


def _pairs(found: JudgeResult) -> Table | None:
    if not found.pairs:
        return None
    shown = _table("pair", "#first", "#second", "#ties", "#by order", "#p")
    for one in found.pairs:
        shown.add_row(
            escape(f"{one.first} / {one.second}"),
            str(one.first_wins),
            str(one.second_wins),
            str(one.ties),
            str(one.order_changed),
            p_value(one.p),
        )
    return shown


def _table(*columns: str) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        if name.startswith("#"):
            shown.add_column(name[1:], justify="right", no_wrap=True)
        else:
            shown.add_column(name, overflow="fold")
    return shown
