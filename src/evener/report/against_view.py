"""Two runs side by side in the terminal, as Markdown and as CSV. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evener.report import cells
from evener.report.against_parts import Against, Figure, RunSide, SideFigure
from evener.report.plain_tables import csv_text, escaped, markdown_table
from evener.report.words import UNKNOWN, number, percent, signed_percent

_TONES = {"B is better": "green", "B is worse": "red", "not comparable": "bold red"}
_CSV = (
    "figure", "about", "unit", "a", "a_low", "a_high", "a_n", "b", "b_low", "b_high", "b_n", "basis", "change",
    "outcome",
)  # fmt: skip


def view(found: Against) -> RenderableType:
    """What must be known first, then the figures, then what differs."""
    lines: list[RenderableType] = [_side("A", found.a), _side("B", found.b)]
    lines += [cells.bullet("✕" if c.grave else "!", c.text, "red" if c.grave else "yellow") for c in found.cautions]
    lines += [cells.text((f"{found.sentence}.", "bold cyan"))]
    if found.figures:
        lines += [Text(), cells.Fitted(lambda dropped: _figures(found, dropped), ("change",))]
    return Group(*lines, *_differing(found))


def _side(name: str, run: RunSide) -> RenderableType:
    when = f"  {run.started_at:%Y-%m-%d %H:%M} UTC, {run.state}"
    return cells.text((f"{name} ", "bold cyan"), (run.title, "bold"), when, (f"  {run.id}", "dim"))


def _figures(found: Against, dropped: Collection[str]) -> Table:
    names = [name for name in ("A", "B", "change") if name not in dropped]
    table = cells.table("figure", "of", *(f"#{name}" for name in names), "outcome")
    table.columns[-1].min_width = 10
    table.columns[0].min_width, table.columns[1].min_width = 11, 8
    for figure in found.figures:
        row = {"A": _measured(figure.a, figure.unit), "B": _measured(figure.b, figure.unit)}
        row["change"] = UNKNOWN if figure.change is None else signed_percent(figure.change)
        outcome = cells.text((figure.outcome, _TONES.get(figure.outcome, "")))
        table.add_row(
            cells.text(f"{figure.name}, {figure.unit}"),
            cells.text(figure.about),
            *(row[name] for name in names),
            outcome,
        )
    return table


def _measured(value: SideFigure, unit: str) -> RenderableType:
    if value.value is None:
        return UNKNOWN
    ends = f"{written(value.interval[0], unit)}-{written(value.interval[1], unit)}" if value.interval else ""
    return cells.text(written(value.value, unit), *([("\n" + ends, "dim")] if ends else []))


def written(value: float | None, unit: str) -> str:
    """A figure: shares in percent, counts whole."""
    if value is None:
        return UNKNOWN
    return percent(value) if unit == "share" else f"{value:.0f}" if unit in _WHOLE else number(value)


_WHOLE = ("tokens", "people", "users")


def _differing(found: Against) -> Iterator[RenderableType]:
    yield Text()
    if found.differing:
        table = cells.table("conditions that differ", "A", "B")
        for one in found.differing:
            table.add_row(cells.text(one.name), cells.text(one.a), cells.text(one.b))
        yield table
    else:
        yield cells.text("No condition is known to differ.")
    if found.unknown:
        yield cells.text((f"Not known of A or of B: {', '.join(found.unknown)}.", "dim"))


def markdown(found: Against) -> str:
    """The same, to paste into a forum or an issue."""
    parts = [
        _markdown_side("A", found.a) + _markdown_side("B", found.b),
        "".join(f"- **{escaped(c.text)}**\n" if c.grave else f"- {escaped(c.text)}\n" for c in found.cautions),
        f"**{escaped(found.sentence)}.**\n",
    ]
    if found.figures:
        rows = [_markdown_row(figure) for figure in found.figures]
        parts.append(markdown_table(("figure", "of", "#A", "#B", "#change", "outcome"), rows))
    if found.differing:
        differing = [(one.name, escaped(one.a), escaped(one.b)) for one in found.differing]
        parts.append(markdown_table(("conditions that differ", "A", "B"), differing))
    if found.unknown:
        parts.append(f"Not known of A or of B: {escaped(', '.join(found.unknown))}.\n")
    return "\n".join(part for part in parts if part)


def _markdown_side(name: str, run: RunSide) -> str:
    when = f"{run.started_at:%Y-%m-%d %H:%M} UTC, {run.state}"
    return f"- **{name}**: {escaped(run.title)}, {when}, {escaped(run.id)}\n"


def _markdown_row(figure: Figure) -> tuple[str, ...]:
    change = UNKNOWN if figure.change is None else signed_percent(figure.change)
    name = f"{escaped(figure.name)}, {figure.unit}"
    sides = (_one_line(figure.a, figure.unit), _one_line(figure.b, figure.unit))
    return (name, escaped(figure.about), *sides, change, figure.outcome)


def _one_line(value: SideFigure, unit: str) -> str:
    if value.interval is None:
        return written(value.value, unit)
    low, high = (written(end, unit) for end in value.interval)
    return f"{written(value.value, unit)} ({low} to {high})"


def csv(found: Against) -> str:
    """One figure per line; unknown is an empty cell."""
    return csv_text(_CSV, [_csv_row(figure) for figure in found.figures])


def _csv_row(figure: Figure) -> tuple[object, ...]:
    sides = [(x.value, *(x.interval or (None, None)), x.n) for x in (figure.a, figure.b)]
    about = (figure.name, figure.about, figure.unit)
    return (*about, *sides[0], *sides[1], figure.a.basis, figure.change, figure.outcome)
