"""What `evener bench context` reads from its options and shows of a result: the ceilings, then a row per length."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.bench_speed_view import NOTHING, around, client_line, raise_unless_valid, spread
from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError

if TYPE_CHECKING:
    from evener.api.bench_context import Measured
    from evener.records.context_limits import Ceiling, ContextLength, ContextResult, Scored

LENGTH = re.compile(r"(\d+)(k?)", re.IGNORECASE)


def lengths(text: str) -> tuple[int, ...]:
    """ "1k,4096" to tokens, 1k being 1024. Raises ConfigurationError."""
    found = [LENGTH.fullmatch(part.strip()) for part in text.split(",")]
    if not all(found):
        raise ConfigurationError(f"--lengths {text}: not a list of lengths", hint="e.g. --lengths 1k,4k,16k")
    return tuple(int(one[1]) * (1024 if one[2] else 1) for one in found if one is not None)


def show(measured: Measured, *, as_json: bool) -> None:
    """The answer; then the exit code 4 of one that is partial or must not be used."""
    result, path = measured.result, measured.path
    if as_json:
        show_json(to_data(result) | around(measured))
    else:
        out.print(f"[bold]{escape(result.model or 'unnamed model')}[/] at {escape(result.url)}", soft_wrap=True)
        out.print(ceilings(result))
        out.print(f"[bold]{escape(result.sentence)}[/]", soft_wrap=True)
        out.print()
        out.print(table(result))
        for line in remarks(result):
            out.print(escape(line), soft_wrap=True)
        if path is not None:
            out.print(f"run: {escape(str(path))}", soft_wrap=True)
    raise_unless_valid(result.partial, result.validity, path)


def ceilings(result: ContextResult) -> Table:
    """One row per ceiling; the binding one is marked."""
    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column(no_wrap=True)
    shown.add_column(justify="right", no_wrap=True)
    shown.add_column(overflow="fold")
    for one in result.ceilings:
        mark = "[bold yellow]binds[/]" if one.name == result.binding else ""
        shown.add_row(one.name, f"{tokens(one)} {mark}".rstrip(), escape(one.why))
    return shown


def tokens(one: Ceiling) -> str:
    if one.tokens is None:
        return "unknown"
    return f"≥ {one.tokens}" if one.at_least else str(one.tokens)


def table(result: ContextResult) -> Table:
    """One row per length: right answers of how many and their 95 % interval, then TTFT and decode rate."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("tokens", "needles", "put together", "TTFT ms", "prompt t/s", "decode t/s"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in result.lengths:
        shown.add_row(
            _counted(row), _scored(row.needles), _scored(row.reasoning), spread(row.ttft_ms, ".0f"),
            spread(row.prefill_tokens_per_s, ".1f"), spread(row.decode_tokens_per_s, ".1f"),
        )  # fmt: skip
    return shown


def remarks(result: ContextResult) -> list[str]:
    """Everything a reader must know beside the tables, one line each."""
    lines = [f"{row.tokens} tokens: {note}" for row in result.lengths for note in _row_remarks(row)]
    lines += [
        f"loaded {one.context} tokens per user: {'held' if one.held else f'not held: {one.why}'}"
        + (f", {one.load_s:.1f} s" if one.load_s is not None else "")
        for one in result.reloads
    ]
    lines += result.notes
    lines.append("needles: one code of four in the text, at five places; put together: three facts far apart")
    lines.append("right/asked and the share's 95 % interval; mean ± standard deviation")
    lines.append(client_line(result.client))
    if result.partial:
        lines.append(f"partial: {result.partial}")
    return lines


def _counted(row: ContextLength) -> str:
    seen = row.prompt_tokens
    exact = seen is None or seen == (row.tokens, row.tokens)
    return str(row.tokens) if exact or seen is None else f"{row.tokens} (was {seen[0]}-{seen[1]})"


def _scored(one: Scored) -> str:
    if one.interval is None:
        return NOTHING
    return f"{one.right}/{one.n} {one.interval[0] * 100:.0f}-{one.interval[1]:.0%}"


def _row_remarks(row: ContextLength) -> list[str]:
    failed = ", ".join(f"{count} {name}" for name, count in row.by_class.items())
    missed = [f"{one.depth:.0%}" for one in row.depths if one.scored.n and not one.scored.right]
    places = f"no needle found at {', '.join(missed)} of the prompt" if missed else ""
    return [line for line in (f"failed: {failed}" if failed else "", places, row.note or "") if line]
