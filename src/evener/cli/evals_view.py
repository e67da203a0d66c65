"""What `evener eval` shows of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError, Interrupted, ResultInvalid
from evener.records.evaluation import EvalPlan, EvalResult, SuiteResult
from evener.records.verdicts import Standing

if TYPE_CHECKING:
    from evener.api.evals import Evaluated

UNKNOWN = "-"
SHOWN_OUTCOMES = 3


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


def show(found: Evaluated, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(found.result) | {"conditions": to_data(found.conditions), "run": str(found.path)})
        return
    result = found.result
    out.print(f"[bold]{escape(result.candidate)}[/] ({escape(result.model or 'unnamed model')})")
    out.print(table(result))
    for line in remarks(result):
        out.print(escape(line), soft_wrap=True)
    out.print(f"run: {escape(str(found.path))}", soft_wrap=True)


def show_plan(plan: EvalPlan, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(plan))
        return
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("suite")
    for name in ("questions", "clusters", "answers", "minutes"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column(f"with {plan.models} candidates", overflow="fold")
    for row in plan.suites:
        minutes = UNKNOWN if row.minutes is None else f"{row.minutes:.0f}"
        shown.add_row(
            escape(row.suite), str(row.questions), str(row.clusters), str(row.answers), minutes, escape(row.sentence)
        )
    out.print(shown)
    for note in plan.notes:
        out.print(escape(note), soft_wrap=True)


def table(result: EvalResult) -> Table:
    """One row per suite and arm, its categories below it."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("suite", overflow="fold")
    for name in ("score", "95 %", "n", "clusters", "unscored"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("other outcomes", overflow="fold", style="dim")
    for one in result.results:
        name = one.suite if one.arm == "single" else f"{one.suite} ({one.arm})"
        shown.add_row(f"[bold]{escape(name)}[/]", *_cells(one.standing), _others(one.standing))
        if one.arm == "single" and len(one.categories) > 1:
            for category, standing in one.categories.items():
                shown.add_row(f"  {escape(category)}", *_cells(standing), "")
    return shown


def remarks(result: EvalResult) -> list[str]:
    """Everything a reader must know beside the table, one line each."""
    lines = [line for one in result.results for line in _suite_remarks(one)]
    lines += result.notes
    thinking = {True: "on", False: "off", None: "left to the model"}[result.thinking_asked]
    epochs = "1 epoch" if result.epochs == 1 else f"{result.epochs} epochs"
    lines.append(
        f"{epochs}, temperature {result.temperature:g}, seed {result.seed}, thinking {thinking}, "
        f"{result.parallel} at once; 95 % intervals by cluster"
    )
    if result.partial:
        lines.append(f"partial: {result.partial}")
    return lines


def raise_unless_valid(found: Evaluated) -> None:
    """Exit code 4 for figures that must not be used, after they have been shown."""
    kept = f"evener eval --resume {found.path.name} goes on from there"
    if found.result.partial == "interrupted":
        raise Interrupted("interrupted", hint=kept)
    if found.result.partial is not None:
        raise ResultInvalid(f"incomplete: {found.result.partial}", hint=kept)
    if found.result.validity != "valid":
        raise ResultInvalid(f"these figures must not be used: {found.result.validity}")


def _cells(standing: Standing) -> tuple[str, ...]:
    low_high = UNKNOWN
    if standing.interval is not None:
        low_high = f"{standing.interval[0] * 100:.0f}-{standing.interval[1] * 100:.0f}"
    return (
        UNKNOWN if standing.mean is None else f"{standing.mean * 100:.1f}",
        low_high,
        str(standing.n),
        str(standing.clusters),
        str(standing.unscored) if standing.unscored else UNKNOWN,
    )


def _others(standing: Standing) -> str:
    """The most frequent outcomes beside "ok"."""
    others = sorted(((n, name) for name, n in standing.outcomes.items() if name != "ok"), reverse=True)
    return ", ".join(f"{n} {name}" for n, name in others[:SHOWN_OUTCOMES])


def _suite_remarks(one: SuiteResult) -> list[str]:
    lines = []
    if one.measures:
        known = [f"{name} {value:.2f}" for name, value in one.measures.items() if value is not None]
        lines.append(f"{one.suite}: {', '.join(known)}")
    if one.standing.reasons:
        why = ", ".join(f"{n} {reason}" for reason, n in one.standing.reasons.items())
        lines.append(f"{one.suite}: unscored: {why}")
    if one.harmed is not None:
        tokens = "" if one.tokens is None else f", {one.tokens} tokens"
        lines.append(
            f"{one.suite} ({one.arm}): {one.healed} wrong answers healed, {one.harmed} right ones spoiled"
            f"{tokens}, {one.seconds:.0f} s"
        )
    return lines
