"""What `evener bench` reads from its options and shows of a result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ConfigurationError, Interrupted, ResultInvalid
from evener.records.load import Level, Spread, UsersResult

if TYPE_CHECKING:
    from evener.api.bench_users import Measured

NOTHING = "-"


def user_counts(text: str) -> tuple[int, ...]:
    """ "1,2,4" to counts. Raises ConfigurationError."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(f"{text!r} are no user counts", hint="e.g. --concurrency 1,2,4") from None


def json_object(text: str | None, *, option: str) -> dict[str, Any]:
    """A JSON object for request bodies, given as an option; empty for None. Raises ConfigurationError."""
    try:
        data = json.loads(text) if text else {}
    except ValueError as error:
        raise ConfigurationError(f"{option}: {error}") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{option} is no JSON object", hint="""e.g. '{"reasoning_effort": "none"}'""")
    if ours := [name for name in ("stream", "messages") if name in data]:
        raise ConfigurationError(f"{option} decides {ours[0]!r}, which the measurement depends on")
    return data


def show(measured: Measured, *, as_json: bool) -> None:
    if as_json:
        where = None if measured.path is None else str(measured.path)
        show_json(to_data(measured.result) | {"conditions": to_data(measured.conditions), "run": where})
        return
    result = measured.result
    out.print(f"[bold]{escape(result.model or 'unnamed model')}[/] at {escape(result.url)}")
    out.print(table(result))
    for line in remarks(result):
        out.print(escape(line), soft_wrap=True)
    if measured.path is not None:
        out.print(f"run: {escape(str(measured.path))}", soft_wrap=True)


def raise_unless_valid(measured: Measured) -> None:
    """Exit code 4 for figures that must not be used, after they have been shown."""
    result = measured.result
    kept = f"what was measured is kept: {measured.path}" if measured.path else None
    if result.partial == "interrupted":
        raise Interrupted("interrupted", hint=kept)
    if result.partial is not None:
        raise ResultInvalid(f"incomplete: {result.partial}", hint=kept)
    if result.validity != "valid":
        raise ResultInvalid(f"these figures must not be used: {result.validity}", hint=kept)


def table(result: UsersResult) -> Table:
    """One row per user count. n is the number of completed requests; under a median stands its 95 % interval."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("users", "ok/err", "TTFT p50 ms", "TTFT p90", "user tok/s", "total tok/s", "ITL ms", "vs 1 user"):
        shown.add_column(name, justify="right", no_wrap=True)
    for level in result.levels:
        shown.add_row(*_cells(level))
    return shown


def remarks(result: UsersResult) -> list[str]:
    """Everything a reader must know beside the table, one line each."""
    lines = [f"{_users(level)}: {note}" for level in result.levels for note in _level_remarks(level)]
    lines += result.notes
    n = sum(level.requests.completed for level in result.levels)
    client = result.client
    late = "" if client.lag_p95_ms is None else f", its loop {client.lag_p95_ms:g} ms late (p95)"
    lines.append(
        f"n={n} answers; prompts {result.prompt_tokens_asked}, answers {result.output_tokens_asked} tokens;"
        f" under a median its 95 % interval; p90 from n=29, else the greatest value"
    )
    lines.append(f"client: {client.cpu_s:.2f} CPU s{late}, {client.retries} requests sent again on a closed connection")
    if result.partial:
        lines.append(f"partial: {result.partial}")
    return lines


def _users(level: Level) -> str:
    return "1 user" if level.users == 1 else f"{level.users} users"


def _cells(level: Level) -> tuple[str, ...]:
    failed = level.requests.errored + level.requests.invalid
    return (
        str(level.users),
        f"{level.requests.completed}/{failed}",
        _median(level.ttft_ms, ".0f"),
        _tail(level.ttft_ms, ".0f"),
        _median(level.per_user_tokens_per_s, ".1f"),
        _number(level.total_tokens_per_s, ".1f"),
        _number(level.itl_ms.p50, ".1f"),
        NOTHING if level.degradation is None else f"{level.degradation:.0%}",
    )


def _level_remarks(level: Level) -> list[str]:
    failed = ", ".join(f"{count} {name}" for name, count in level.requests.by_class.items())
    return [line for line in (f"failed: {failed}" if failed else "", level.note or "") if line]


def _median(spread: Spread, form: str) -> str:
    if spread.p50 is None:
        return NOTHING
    interval = f"\n{spread.interval[0]:{form}}-{spread.interval[1]:{form}}" if spread.interval else ""
    return f"{spread.p50:{form}}{interval}"


def _tail(spread: Spread, form: str) -> str:
    if spread.p90 is not None:
        return f"{spread.p90:{form}}"
    return NOTHING if spread.most is None or spread.n < 2 else f"max {spread.most:{form}}"


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None else f"{value:{form}}"
