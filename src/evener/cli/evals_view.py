"""What `evener eval` shows of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError, Interrupted, ResultInvalid
from evener.records.evaluation import EvalPlan, EvalResult
from evener.report import evals_rows, evals_view
from evener.report.words import count, plain

if TYPE_CHECKING:
    from evener.api.evals import Evaluated

UNKNOWN = "-"


def suites(named: list[str] | None) -> list[str]:
    """Raises ConfigurationError when none is named."""
    if not named:
        raise ConfigurationError(
            "which questions?", hint="evener eval translation restraint coding instructions --quick"
        )
    return named


def refuse_with_resume(named: list[str] | None, url: str | None) -> None:
    if named or url:
        raise ConfigurationError("--resume RUN goes on with what that run was asked: name nothing else")


def require_plan(*, plan: bool, within: float | None, shown_by: list[str] | None) -> None:
    """Whoever asks is not planning."""
    if not plan and (within is not None or shown_by):
        raise ConfigurationError("--within and --from are about a plan", hint="add --plan: it asks nobody")


def show(found: Evaluated, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(found.result) | {"conditions": to_data(found.conditions), "run": str(found.path)})
        return
    result = found.result
    model = plain(result.model or "unnamed model")
    out.print(f"[bold]{escape(plain(result.candidate))}[/] ({escape(model)})")
    out.print(evals_view.scores_table(result))
    for line in remarks(result):
        out.print(escape(plain(line)), soft_wrap=True)
    if (measured := evals_view.measures_table(result)) is not None:
        out.print(measured)
    out.print(f"run: {escape(str(found.path))}", soft_wrap=True)


def show_plan(plan: EvalPlan, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(plan))
        return
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("suite")
    for name in ("questions", "clusters", "answers", "minutes", "best split"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column(f"with {count(plan.models, 'candidate')}", overflow="fold")
    for row in plan.suites:
        minutes = UNKNOWN if row.minutes is None else f"{row.minutes:.0f}"
        split = UNKNOWN if row.split is None else f"{row.split.questions} x {row.split.epochs}"
        never = f"; never {' or '.join(row.never)}" if row.never and row.sweep is not None else ""
        figures = (str(row.questions), str(row.clusters), str(row.answers), minutes, split)
        shown.add_row(escape(row.suite), *figures, escape(row.sentence + never))
    out.print(shown)
    for note in plan.notes:
        out.print(escape(note), soft_wrap=True)


def remarks(result: EvalResult) -> list[str]:
    """Everything a reader must know beside the table, one line each."""
    lines = [line for one in result.results for line in evals_rows.remarks(one)]
    lines += [*result.notes, evals_rows.how(result)]
    return [*lines, f"partial: {result.partial}"] if result.partial else lines


def raise_unless_valid(found: Evaluated) -> None:
    """Exit code 4 for figures that must not be used, after they have been shown."""
    kept = f"evener eval --resume {found.path.name} goes on from there"
    if found.result.partial == "interrupted":
        raise Interrupted("interrupted", hint=kept)
    if found.result.partial is not None:
        raise ResultInvalid(f"incomplete: {found.result.partial}", hint=kept)
    if found.result.validity != "valid":
        raise ResultInvalid(f"these figures must not be used: {found.result.validity}")
