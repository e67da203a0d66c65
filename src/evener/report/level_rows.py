"""The levels of a result as flat rows, for spreadsheets and other programs. Pure; unknown is None."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from evener.records.load import Level, Spread, UsersResult
from evener.report.plain_tables import csv_text, escaped, markdown_table
from evener.report.words import UNKNOWN, model_file, number

Form = Literal["md", "csv", "json", "jsonl"]
# The columns of a table that people read; csv, json and jsonl have all. After each percentile its interval.
_READ = (
    "users", "people", "completed", "failed", "total_tokens_per_s", "user_tokens_per_s_p50", "ttft_ms_p50",
    "ttft_ms_p90", "ttft_ms_p95", "tpot_ms_p50", "itl_ms_p50", "goodput", "comfort",
)  # fmt: skip


def level_rows(result: UsersResult) -> list[dict[str, Any]]:
    """One flat row per level. Failures have a column per class."""
    about = {
        "model": result.model,
        "validity": result.validity,
        "partial": result.partial,
        "prompt_tokens": result.prompt_tokens_asked,
        "output_tokens": result.output_tokens_asked,
    }
    return [about | {name: _short(value) for name, value in level_row(level).items()} for level in result.levels]


def written(result: UsersResult, form: Form) -> str:
    """The rows as a Markdown table with what they hold for, CSV, a JSON list, or a JSON document per line."""
    rows = level_rows(result)
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if form == "json":
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    if form == "csv":
        return _csv(rows) if rows else ""
    return (_markdown(rows) if rows else "") + f"\n{escaped(_holds_for(result))}\n"


def _short(value: object) -> object:
    """Six digits: no clock here has more."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def level_row(level: Level) -> dict[str, Any]:
    """One user count, flat. Of each spread its mean, percentiles with their 95 % intervals, greatest value and n."""
    requests = level.requests
    row: dict[str, Any] = {
        "mode": level.mode,
        "users": level.users,
        "people": level.people,
        "completed": requests.completed,
        "failed": requests.errored + requests.invalid,
        "duration_s": level.duration_s,
        "total_tokens_per_s": level.total_tokens_per_s,
        "requests_per_s": level.requests_per_s,
    }
    spreads = {
        "user_tokens_per_s": level.per_user_tokens_per_s,
        "ttft_ms": level.ttft_ms,
        "ttfa_ms": level.ttfa_ms,
        "tpot_ms": level.tpot_ms,
        "itl_ms": level.itl_ms,
    }
    for name, spread in spreads.items():
        row |= {f"{name}_{key}": value for key, value in _figures(spread).items()}
    row |= {"goodput": level.goodput, "degradation": level.degradation, "comfort": level.comfort, "note": level.note}
    return row | {"by_class": " ".join(f"{name}={n}" for name, n in requests.by_class.items()) or None}


def _figures(spread: Spread | None) -> dict[str, float | int | None]:
    figures: dict[str, float | int | None] = {
        "n": spread.n if spread else None,
        "mean": spread.mean if spread else None,
    }
    for name, of, between in (
        ("p50", spread.p50 if spread else None, spread.interval if spread else None),
        ("p90", spread.p90 if spread else None, spread.p90_interval if spread else None),
        ("p95", spread.p95 if spread else None, spread.p95_interval if spread else None),
    ):
        low, high = between or (None, None)
        figures |= {name: of, f"{name}_low": low, f"{name}_high": high}
    return figures | {"most": spread.most if spread else None}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0]) if rows else []
    return csv_text(names, [[row[name] for name in names] for row in rows])


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    names = [name for name in _READ if any(row[name] is not None for row in rows)]
    return markdown_table([f"#{name}" for name in names], [[_read(row, name) for name in names] for row in rows])


def _read(row: Mapping[str, Any], name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    between = f" ({number(low)}-{number(high)})" if low is not None and high is not None else ""
    return _cell(row[name]) + between


def _holds_for(result: UsersResult) -> str:
    """Model, load and validity, for whoever sees the table without the run."""
    model = model_file(result.model) if result.model else "unnamed model"
    prompts = "as recorded" if result.prompt_tokens_asked is None else result.prompt_tokens_asked
    return (
        f"{model} at {result.url}, {result.mode}, prompts {prompts} and answers "
        f"{result.output_tokens_asked} tokens; n = completed; (95 % intervals)"
        + ("" if result.validity == "valid" else f"; not to be used: {result.validity}")
        + (f"; partial: {result.partial}" if result.partial else "")
    )


def _cell(value: object) -> str:
    if value is None:
        return UNKNOWN
    return number(value) if isinstance(value, float) else escaped(str(value))
