"""What two layouts in turns gave, as one table and one sentence, the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from evener.records.pair import Difference, Metric, PairResult
from evener.report import cells
from evener.report.words import UNKNOWN, number

METRICS: dict[Metric, str] = {
    "per_user_tokens_per_s": "each, tok/s",
    "total_tokens_per_s": "total, tok/s",
    "ttft_ms": "TTFT, ms",
}
_TONES = {"B is faster": "green", "B is slower": "red"}
# Dropped in this order where there is no room.
_OPTIONAL = ("pairs", "users")


def pair_view(result: PairResult) -> RenderableType:
    """The verdict, what it stands on, the table, and what a reader must know beside them."""
    tone = _TONES.get(result.outcome, "yellow")
    lines: list[RenderableType] = [
        cells.text((f"{result.sentence}.", f"bold {tone}")),
        cells.text((f"{result.basis}.", "dim")),
        pair_table(result.differences, invalid=None if result.validity == "valid" else result.validity),
    ]
    if result.differing:
        lines.append(cells.text(f"differing conditions: {_listed(result.differing)}"))
    if result.unknown:
        lines.append(cells.text((f"not known of both sides: {_listed(result.unknown)}", "dim")))
    lines += [cells.text((note, "yellow")) for note in result.notes]
    if result.partial:
        lines.append(cells.text((f"partial: {result.partial}", "red")))
    return Group(*lines)


def pair_table(
    differences: Sequence[Difference], *, invalid: str | None = None, width: int | None = None
) -> RenderableType:
    """One row per figure and user count; under a change its 95 % interval."""

    def build(dropped: Collection[str]) -> Table:
        columns = {name: write for name, write in _COLUMNS.items() if name not in dropped}
        table = cells.table(*(name if name in ("figure", "verdict") else f"#{name}" for name in columns))
        if invalid:
            table.caption = cells.text((f"invalid, not to be used: {invalid}", "bold red"))
            table.caption_justify = "left"
        for one in differences:
            table.add_row(*(write(one) for write in columns.values()), style="dim strike" if invalid else None)
        return table

    return cells.Fitted(build, _OPTIONAL, width=width)


def change(found: Difference) -> RenderableType:
    """The change with its 95 % interval below it."""
    if found.change is None:
        return cells.text(UNKNOWN)
    below = f"{found.interval[0]:+.1%} to {found.interval[1]:+.1%}" if found.interval else "too few pairs"
    return cells.text(f"{found.change:+.1%}", "\n", (below, "dim"))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)


_COLUMNS: dict[str, Callable[[Difference], RenderableType]] = {
    "figure": lambda one: cells.text(METRICS[one.metric]),
    "users": lambda one: str(one.users),
    "A": lambda one: number(one.a),
    "B": lambda one: number(one.b),
    "B against A": change,
    "pairs": lambda one: str(len(one.pairs)),
    "verdict": lambda one: cells.text((one.outcome.removeprefix("B is "), _TONES.get(one.outcome, ""))),
}
