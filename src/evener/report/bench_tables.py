"""Tables of the terminal for speed rows and ceilings of the context. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evener.records.context_limits import Ceiling, ContextLength, ContextResult, Scored
from evener.records.speed_rows import Repeated, SpeedResult, SpeedRow
from evener.report import cells
from evener.report.context_rows import heat
from evener.report.headlines import repeated
from evener.report.words import UNKNOWN, kilo

_SHADES = ((1.0, "bold green"), (0.75, "green"), (0.5, "yellow"), (0.0, "red"))  # by share of right answers


def speed_table(result: SpeedResult, width: int | None = None) -> RenderableType:
    """One row per test: the client's view, the server's, and llama-bench's where it ran. tok/s, mean ± sd."""
    struck = None if result.validity == "valid" else "dim strike"
    bench = any(row.llama_bench for row in result.rows)

    def build(dropped: Collection[str]) -> Table:
        names = [name for name in ("server", "llama-bench", "TTFT ms") if name not in dropped]
        names = [name for name in names if bench or name != "llama-bench"]
        table = cells.table("test", "#client", *(f"#{name}" for name in names), "#n")
        table.columns[0].min_width = 14
        if struck:
            table.caption = cells.text((f"invalid, not to be used: {result.validity}", "bold red"))
            table.caption_justify = "left"
        for row in result.rows:
            views = {"server": row.server, "llama-bench": row.llama_bench, "TTFT ms": row.ttft_ms}
            figures = (_figure(views[name]) for name in names)
            table.add_row(_test(row), _figure(row.client), *figures, str(row.client.n), style=struck)
        return table

    return cells.Fitted(build, ("TTFT ms", "server"), width=width)


def _figure(figure: Repeated | None) -> str:
    return repeated(figure).partition(" (n=")[0]  # n has a column


def _test(row: SpeedRow) -> Text:
    return cells.text(row.test, *([("\n" + row.note, "dim")] if row.note else []))


def ceilings_table(ceilings: Sequence[Ceiling], binding: str | None) -> Table:
    """The four ceilings in tokens, the one that binds marked."""
    table = cells.table("ceiling", "#tokens", "how it is known")
    table.columns[0].no_wrap = True
    for ceiling in ceilings:
        mark = ("bold cyan", " binds") if ceiling.name == binding else ("", "")
        tokens = "unknown" if ceiling.tokens is None else str(ceiling.tokens)
        least = "at least " if ceiling.at_least and ceiling.tokens is not None else ""
        table.add_row(cells.text((f"{ceiling.name}{mark[1]}", mark[0])), least + tokens, cells.text(ceiling.why))
    return table


def lengths_table(lengths: Sequence[ContextLength], width: int | None = None) -> RenderableType:
    """Speed and right answers at each length."""

    def build(dropped: Collection[str]) -> Table:
        names = [n for n in ("TTFT ms", "prompt tok/s", "answer tok/s", "needles", "together") if n not in dropped]
        table = cells.table("#tokens", *(f"#{name}" for name in names))
        for length in lengths:
            row = dict(
                zip(("TTFT ms", "prompt tok/s", "answer tok/s", "needles", "together"), _of(length), strict=True)
            )
            table.add_row(str(length.tokens), *(row[name] for name in names))
        return table

    return cells.Fitted(build, ("TTFT ms", "prompt tok/s"), width=width)


def _of(length: ContextLength) -> Iterator[str]:
    for figure in (length.ttft_ms, length.prefill_tokens_per_s, length.decode_tokens_per_s):
        yield repeated(figure)
    for scored in (length.needles, length.reasoning):
        yield f"{scored.right}/{scored.n}" if scored.n else UNKNOWN


def heat_table(lengths: Sequence[ContextLength]) -> Table:
    """Right answers by place of the fact (rows) and length of the prompt (columns)."""
    strip = heat(lengths)
    table = cells.table("the fact was", *(f"#{kilo(tokens)}" for tokens in strip.tokens))
    for name, row in strip.rows:
        table.add_row(name, *(_shade(cell.share, cell.scored) for cell in row))
    return table


def _shade(share: float | None, scored: Scored | None) -> Text:
    if share is None or scored is None:
        return cells.text(UNKNOWN)
    style = next(style for least, style in _SHADES if share >= least)
    return cells.text((f"{scored.right}/{scored.n}", style))


def context_parts(result: ContextResult) -> Iterator[RenderableType]:
    """Every table of a `bench context`."""
    yield ceilings_table(result.ceilings, result.binding)
    if result.lengths:
        yield heat_table(result.lengths)
        yield lengths_table(result.lengths)
    if result.reloads:
        table = cells.table("#loaded", "held", "#load", "why not")
        for r in result.reloads:
            load = UNKNOWN if r.load_s is None else f"{r.load_s:.1f} s"
            table.add_row(str(r.context), "yes" if r.held else "no", load, cells.text(r.why or ""))
        yield table
