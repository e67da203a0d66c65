"""Several runs side by side in the terminal, as Markdown and as CSV. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from evener.records.foreign import ForeignBench
from evener.report import against_view, cells, verdict_view, verdict_written
from evener.report.against_parts import RunSide
from evener.report.beside_parts import Beside, BesideCell, BesideColumn, BesideRow, BesideTable
from evener.report.plain_tables import csv_text, escaped, markdown_table
from evener.report.words import UNKNOWN, number, signed_percent, size

_NAMES, _FIGURE, _AIR = 11 + 9 + 10, 12, 2  # the least width of what is no figure, of a figure, and between two
_TONES = {"better": "green", "worse": "red", "not comparable": "bold red", "foreign": "dim"}
_CSV = (
    "table", "figure", "about", "unit", "column", "label", "run", "foreign", "value", "low", "high", "sd", "n", "basis",
    "outcome", "change", "may_be_best", "marked",
)  # fmt: skip
# Of what a foreign file states, what a reader asks first; all of it is in the JSON.
_KNOWN = (
    ("gpu_info", "{}"), ("cpu_info", "{}"), ("devices", "devices {}"), ("n_gpu_layers", "-ngl {}"),
    ("n_threads", "threads {}"), ("type_k", "K {}"), ("type_v", "V {}"), ("n_ubatch", "ubatch {}"),
    ("flash_attn", "flash attention {}"),
)  # fmt: skip
_LEFT_TO_IT = (None, "auto", "-1")  # of which nobody knows what became


def view(found: Beside) -> RenderableType:
    """What must be known first, then a table per thing measured, then what differs."""
    lines: list[RenderableType] = [
        cells.text(
            (f"{one.name} ", "bold cyan"), (one.run.title, "bold"), f"  {when(one.run)}", (f"  {one.run.id}", "dim")
        )
        for one in found.runs
    ]
    lines += [cells.text((f"{one.name} ", "bold cyan"), (stated(one.bench), "dim")) for one in found.foreign]
    lines += [cells.bullet("✕" if c.grave else "!", c.text, "red" if c.grave else "yellow") for c in found.cautions]
    lines += [cells.bullet("✕", text, "red") for text in refusals(found)]
    for table in found.tables:
        lines += [Text(), *_table(table)]
    if found.evaluations:
        lines += [Text(), verdict_view.view(found.evaluations)]
    return Group(*lines, *_differing(found))


def when(run: RunSide) -> str:
    return f"{run.started_at:%Y-%m-%d %H:%M} UTC, {run.state}"


def stated(bench: ForeignBench) -> str:
    """One line of what a foreign file says of a setting."""
    known = [what.format(bench.stated[name]) for name, what in _KNOWN if bench.stated.get(name) not in _LEFT_TO_IT]
    about = [
        bench.model + (f" ({size(bench.model_bytes)})" if bench.model_bytes else ""),
        f"llama.cpp {bench.build}" if bench.build else "build unknown",
        bench.backends or "backend unknown",
    ]
    taken = [f"taken {bench.taken_at}"] if bench.taken_at else []
    return f"{bench.file}, foreign: {', '.join([*about, *known, *taken])}; conditions unknown, never ranked"


def refusals(found: Beside) -> list[str]:
    """A line per column that is left out."""
    return [f"{one.name} is left out of {one.table}: {one.why} (--anyway shows it, marked)" for one in found.refused]


def _table(table: BesideTable) -> Iterator[RenderableType]:
    yield cells.text((table.name, "bold"), ": ", (f"{table.sentence}.", "cyan"))
    if labels := labelled(table):
        yield cells.text((labels, "dim"))
    yield _Blocks(table)
    yield from (cells.text((note, "dim")) for note in (f"{table.about}.", *(f"{note}." for note in table.notes)))


def labelled(table: BesideTable) -> str:
    """ "A1: alpha alone; A2: alpha + beta". Where all of ours are called alike, their letters say whose they are."""
    return "; ".join(f"{column.name}: {told}" for column in table.columns if (told := label(column, table)))


def label(column: BesideColumn, table: BesideTable) -> str:
    """ "" where all of ours are called alike."""
    ours = [each for each in table.columns if not each.foreign]
    alike = len({each.label for each in ours}) == 1 < len(ours)
    return column.label if column.foreign or not alike else ""


class _Blocks:
    """As many columns beside each other as have room; the first one stands in each block."""

    def __init__(self, table: BesideTable) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        each = max(2, (options.max_width - _NAMES - 2 * _AIR) // (_FIGURE + _AIR))
        first, *others = range(len(self._table.columns))
        if len(others) < each:
            yield _block(self._table, [first, *others])
            return
        for start in range(0, len(others), each - 1):
            yield _block(self._table, [first, *others[start : start + each - 1]])


def _block(table: BesideTable, shown: Sequence[int]) -> RenderableType:
    compares = sum(column.marked is None and not column.foreign for column in table.columns) > 1
    heads = [f"#{head(table.columns[n])}" for n in shown]
    made = cells.table("figure", "of", *heads, *(["best"] if compares else []))
    made.columns[0].min_width, made.columns[1].min_width = 11, 8
    if compares:
        made.columns[-1].min_width = 10
    for row in table.rows:
        figures = [_cell(row.cells[n], row.unit) for n in shown]
        made.add_row(
            cells.text(named(row)), cells.text(row.about), *figures, *([cells.text(best(row))] if compares else [])
        )
    return made


def head(column: BesideColumn) -> str:
    return f"{column.name}\nforeign" if column.foreign else f"{column.name} ✕" if column.marked else column.name


def named(row: BesideRow) -> str:
    return row.name if row.unit == "change" else f"{row.name}, {row.unit}"


def best(row: BesideRow) -> str:
    """Who may be best, or why nobody can say."""
    return " or ".join(row.best) if row.told == "told apart" else UNKNOWN if row.told == "unknown" else row.told


def _cell(cell: BesideCell | None, unit: str) -> Text:
    if cell is None or cell.figure.value is None:
        return cells.text(UNKNOWN)
    tone = _TONES.get(cell.outcome, "")
    by = [(f" {signed_percent(cell.change)}", tone)] if cell.change is not None else []
    below = [("\n" + behind, "dim")] if (behind := company(cell, unit)) else []
    return cells.text((value(cell, unit), tone if cell.outcome in ("not comparable", "foreign") else ""), *by, *below)


def value(cell: BesideCell | None, unit: str) -> str:
    """The figure; a foreign one with the deviation that its file states."""
    if cell is None or cell.figure.value is None:
        return UNKNOWN
    if cell.outcome == "foreign":
        return f"{cell.figure.value:.2f}" + (f" ± {cell.sd:.2f}" if cell.sd is not None else "")
    return written(cell.figure.value, unit)


def written(figure: float, unit: str) -> str:
    if unit == "change":
        return signed_percent(figure)
    return number(figure) if unit in ("s", "GiB") else against_view.written(figure, unit)


def company(cell: BesideCell, unit: str) -> str:
    """What stands behind a figure: its interval or range, and n."""
    ends = cell.figure.interval
    between = (
        f"{written(ends[0], unit)}{' to ' if unit in ('change', 'share') else '-'}{written(ends[1], unit)}"
        if ends
        else ""
    )
    n = f"n={cell.figure.n}" if cell.figure.n is not None else "n unknown" if cell.outcome == "foreign" else ""
    return " ".join(part for part in (between, n) if part)


def _differing(found: Beside) -> Iterator[RenderableType]:
    if len(found.runs) < 2:
        return
    yield Text()
    if found.differing:
        table = cells.table("conditions that differ", *(one.name for one in found.runs))
        for one in found.differing:
            table.add_row(cells.text(one.name), *(cells.text(one.values[x.name] or UNKNOWN) for x in found.runs))
        yield table
    else:
        yield cells.text("No condition is known to differ.")
    if found.unknown:
        yield cells.text((f"Not known of every run: {', '.join(found.unknown)}.", "dim"))


def markdown(found: Beside) -> str:
    """The same, to paste into a forum or an issue."""
    parts = [
        "".join(
            f"- **{one.name}**: {escaped(one.run.title)}, {when(one.run)}, {escaped(one.run.id)}\n"
            for one in found.runs
        )
        + "".join(f"- **{one.name}**: {escaped(stated(one.bench))}\n" for one in found.foreign),
        "".join(f"- **{escaped(c.text)}**\n" if c.grave else f"- {escaped(c.text)}\n" for c in found.cautions)
        + "".join(f"- **{escaped(text)}**\n" for text in refusals(found)),
        *(part for table in found.tables for part in markdown_of(table)),
        verdict_written.markdown(found.evaluations) if found.evaluations else "",
        conditions_markdown(found),
    ]
    return "\n".join(part for part in parts if part)


def markdown_of(table: BesideTable) -> Iterator[str]:
    """One table with what it rests on."""
    yield f"#### {escaped(table.name)}\n"
    yield f"**{escaped(table.sentence)}.**\n"
    compares = sum(column.marked is None and not column.foreign for column in table.columns) > 1
    heads = ["figure", "of", *(f"#{escaped(' '.join(head(column).split()))}" for column in table.columns)]
    rows = [
        [escaped(named(row)), escaped(row.about), *(one_line(cell, row.unit) for cell in row.cells)]
        + ([best(row)] if compares else [])
        for row in table.rows
    ]
    yield markdown_table([*heads, *(["best"] if compares else [])], rows)
    told = "; ".join(text for text in (labelled(table), table.about, *table.notes) if text)
    yield f"{escaped(told)}.\n"


def one_line(cell: BesideCell | None, unit: str) -> str:
    if cell is None or cell.figure.value is None:
        return UNKNOWN
    behind = company(cell, unit)
    by = f" {signed_percent(cell.change)}" if cell.change is not None else ""
    return value(cell, unit) + by + (f" ({behind})" if behind else "")


def conditions_markdown(found: Beside) -> str:
    if len(found.runs) < 2:
        return ""
    lines = ["No condition is known to differ.\n"]
    if found.differing:
        rows = [[one.name, *(escaped(one.values[x.name] or UNKNOWN) for x in found.runs)] for one in found.differing]
        lines = [markdown_table(("conditions that differ", *(one.name for one in found.runs)), rows)]
    if found.unknown:
        lines.append(f"Not known of every run: {escaped(', '.join(found.unknown))}.\n")
    return "\n".join(lines)


def csv(found: Beside) -> str:
    """One figure of one column per line; unknown is an empty cell. Evaluations are evener verdict's: -o csv there."""
    ids = {one.name: one.run.id for one in found.runs}
    return csv_text(_CSV, [line for table in found.tables for line in _lines(table, ids)])


def _lines(table: BesideTable, ids: dict[str, str]) -> Iterator[tuple[object, ...]]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is None:
                continue
            low, high = cell.figure.interval or (None, None)
            may_be = (
                None
                if row.told == "unknown" or column.foreign or column.marked
                else ("yes" if row.told != "told apart" or column.name in row.best else "no")
            )
            yield (
                table.name, row.name, row.about, row.unit, column.name, column.label,
                ids.get(column.of), "yes" if column.foreign else "no", cell.figure.value, low,
                high, cell.sd, cell.figure.n, cell.figure.basis, cell.outcome, cell.change, may_be, column.marked,
            )  # fmt: skip
