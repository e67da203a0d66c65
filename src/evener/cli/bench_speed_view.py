"""What `evener bench speed` reads from its options and shows of a result: a table, or rows in llama-bench's forms."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError, Interrupted, ResultInvalid
from evener.report.plain_tables import csv_text, escaped, markdown_table

if TYPE_CHECKING:
    from pathlib import Path

    from evener.api.bench_context import Measured as ContextMeasured
    from evener.api.bench_speed import Measured
    from evener.records.load import ClientCost
    from evener.records.speed_rows import Repeated, SpeedResult, SpeedRow

NOTHING = "-"


def sizes(text: str, *, option: str) -> tuple[int, ...]:
    """ "512,2048" to sizes. Raises ConfigurationError."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(f"{option} {text}: not a list of sizes", hint=f"e.g. {option} 512,2048") from None


def pair(text: str) -> tuple[int, int]:
    """ "512,128" to a prompt and its answer. Raises ConfigurationError."""
    found = sizes(text, option="-pg")
    if len(found) != 2:
        raise ConfigurationError(f"-pg {text}: a prompt and an answer", hint="e.g. -pg 512,128")
    return found[0], found[1]


def show(measured: Measured, *, form: str | None) -> None:
    """The answer in that form; then the exit code 4 of one that is partial or must not be used."""
    result, path = measured.result, measured.path
    if form == "whole":
        show_json(to_data(result) | around(measured))
    elif form is not None:
        sys.stdout.write(written(result, form))
    else:
        out.print(f"[bold]{escape(result.model or 'unnamed model')}[/] at {escape(result.url)}", soft_wrap=True)
        out.print(table(result))
        for line in remarks(result):
            out.print(escape(line), soft_wrap=True)
        if path is not None:
            out.print(f"run: {escape(str(path))}", soft_wrap=True)
    raise_unless_valid(result.partial, result.validity, path)


def around(measured: Measured | ContextMeasured) -> dict[str, Any]:
    """What `--json` says beside the result."""
    return {
        "conditions": to_data(measured.conditions),
        "telemetry": to_data(measured.telemetry) if measured.telemetry else None,
        "run": None if measured.path is None else str(measured.path),
    }


def raise_unless_valid(partial: str | None, validity: str, path: Path | None) -> None:
    """Exit code 4 for figures that are not all, or must not be used, after they have been shown."""
    kept = f"what was measured is kept: {path}" if path else None
    if partial:
        kind = Interrupted if partial == "interrupted" else ResultInvalid
        raise kind(f"incomplete: {partial}", hint=kept)
    if validity != "valid":
        raise ResultInvalid(f"these figures must not be used: {validity}", hint=kept)


def agreed(name: str, *, option: str) -> None:
    """Ask whether `name` may be stopped for a while. Raises ConfigurationError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise ConfigurationError(f"{option} takes {name} away from its users for a while", hint="--yes agrees to that")
    typer.confirm(f"{name} will not answer for a while, and then comes back. Go on?", abort=True, err=True)


def table(result: SpeedResult) -> Table:
    """One row per test, in tokens per second: mean and standard deviation; n is what the client's figure stands on."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("test", no_wrap=True)
    names = ["client t/s", "server t/s", *(["llama-bench t/s"] if result.llama_bench_argv else []), "TTFT ms", "n"]
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    for row in result.rows:
        views = [spread(view) for view in _views(row)[: 3 if result.llama_bench_argv else 2]]
        shown.add_row(escape(row.test), *views, spread(row.ttft_ms, ".1f"), str(row.client.n))
    return shown


def remarks(result: SpeedResult) -> list[str]:
    """Everything a reader must know beside the table, one line each."""
    lines = [f"{row.test}: {note}" for row in result.rows for note in _row_remarks(row)]
    lines += result.notes
    lines.append(result.gaps)
    rtt = "not known" if result.rtt_ms is None else f"{result.rtt_ms:.2f} ms"
    lines.append(f"mean ± standard deviation of n repetitions, the first one dropped; round trip {rtt}")
    lines.append(client_line(result.client))
    if result.partial:
        lines.append(f"partial: {result.partial}")
    return lines


def client_line(client: ClientCost) -> str:
    """What measuring cost, and added: "client: 0.02 CPU s, its loop 0.3 ms late (p95), adds 0.4 ms to TTFT"."""
    late = "" if client.lag_p95_ms is None else f", its loop {client.lag_p95_ms:g} ms late (p95)"
    adds = "" if client.added_ttft_ms is None else f", adds {client.added_ttft_ms:.1f} ms to TTFT"
    return f"client: {client.cpu_s:.2f} CPU s{late}{adds}"


def spread(figure: Repeated | None, form: str = ".2f") -> str:
    """ "132.19 ± 0.55"; without a deviation where one value has none."""
    if figure is None or figure.mean is None:
        return NOTHING
    return f"{figure.mean:{form}}" + (f" ± {figure.sd:{form}}" if figure.sd is not None else "")


def written(result: SpeedResult, form: str) -> str:
    """The rows as `md`, `csv`, `json` or `jsonl`, with llama-bench's own names where it has some."""
    if form == "md":
        return _markdown(result)
    rows = [flat(row, result) for row in result.rows]
    if form == "json":
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    names = [name for name in flat_names() if not name.endswith("samples_ts")]
    return csv_text(names, [[row[name] for name in names] for row in rows])


def flat(row: SpeedRow, result: SpeedResult) -> dict[str, Any]:
    """A row as llama-bench's JSON names it: `avg_ts` is the client's figure, the other views carry their name."""
    found: dict[str, Any] = {
        "model": result.model,
        "test": row.test,
        "n_prompt": row.prompt_tokens,
        "n_gen": row.output_tokens,
        "n_depth": row.depth,
    }
    for name, figure in zip(("", "server_", "llama_bench_"), _views(row), strict=True):
        found |= {
            f"{name}avg_ts": figure.mean if figure else None,
            f"{name}stddev_ts": figure.sd if figure else None,
            f"{name}samples_ts": list(figure.values) if figure else [],
        }
    return found


def flat_names() -> list[str]:
    views = [f"{name}{what}_ts" for name in ("", "server_", "llama_bench_") for what in ("avg", "stddev", "samples")]
    return ["model", "test", "n_prompt", "n_gen", "n_depth", *views]


def _views(row: SpeedRow) -> tuple[Repeated | None, ...]:
    return row.client, row.server, row.llama_bench


def _markdown(result: SpeedResult) -> str:
    heads = ("model", "#test", "#t/s (client)", "#t/s (server)", "#t/s (llama-bench)", "#n")
    model = escaped(result.model or NOTHING)
    rows = [(model, escaped(row.test), *map(spread, _views(row)), str(row.client.n)) for row in result.rows]
    return markdown_table(heads, rows)


def _row_remarks(row: SpeedRow) -> list[str]:
    failed = ", ".join(f"{count} {name}" for name, count in row.by_class.items())
    left_out = f"left out, the cache held something else: {row.excluded}" if row.excluded else ""
    return [line for line in (f"failed: {failed}" if failed else "", left_out, row.note or "") if line]
