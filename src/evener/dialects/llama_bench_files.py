"""A file that somebody's llama-bench wrote, as JSON, JSONL, CSV or SQL. Pure; SQL is read and never run.

CSV and SQL hold no repetitions one by one: how many there were is unknown then.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import PureWindowsPath
from typing import Any

from evener.errors import ConfigurationError
from evener.records.foreign import ForeignBench, ForeignRow

Entry = Mapping[str, Any]

_HINT = "evener report reads what llama-bench -o json, jsonl, csv or sql has written"
_INSERT = re.compile(r"^INSERT INTO \w+ \(([^)]*)\) VALUES \('(.*)'\);$", re.MULTILINE)
_BYTES = re.compile(r"[0-9]{1,18}")
# What differs from test to test of one setting.
_OF_A_TEST = (
    "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns",
    "samples_ts",
)  # fmt: skip


def settings(text: str, *, file: str) -> tuple[ForeignBench, ...]:
    """One per setting, in the order of the file, which `file` names. A test that comes twice begins another one.

    Raises ConfigurationError for anything that llama-bench did not write, naming the row.
    """
    found: dict[tuple[object, ...], list[Entry]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    for number, entry in enumerate(_entries(text.removeprefix("\N{BOM}").replace("\r\n", "\n"), file), start=1):
        setting = tuple(_stated(entry).items())
        test = _checked(entry, file, number).test
        found.setdefault((setting, seen[setting, test]), []).append(entry)
        seen[setting, test] += 1
    if not found:
        raise ConfigurationError(f"{file}: llama-bench wrote no row", hint=_HINT)
    return tuple(_setting(entries, file) for entries in found.values())


def _entries(text: str, file: str) -> Iterator[Entry]:
    begins = text.lstrip()[:1]
    if begins == "[":
        yield from _json(text, file)
    elif begins == "{":
        for line in filter(str.strip, text.splitlines()):
            yield from _json(f"[{line}]", file)
    elif "INSERT INTO" in text or "CREATE TABLE" in text:
        yield from _sql(text)
    else:
        yield from _csv(text, file)


def _json(text: str, file: str) -> Iterator[Entry]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file}: no JSON: {error}", hint=_HINT) from None
    for row in rows:
        if not isinstance(row, dict):
            raise ConfigurationError(f"{file}: no list of rows", hint=_HINT)
        yield row


def _csv(text: str, file: str) -> Iterator[Entry]:
    try:
        yield from csv.DictReader(io.StringIO(text))
    except csv.Error as error:
        raise ConfigurationError(f"{file}: no CSV: {error}", hint=_HINT) from None


def _sql(text: str) -> Iterator[Entry]:
    """llama-bench quotes every value and escapes none: an apostrophe in a name ends nothing."""
    for names, values in _INSERT.findall(text):
        yield dict(zip(names.split(", "), values.split("', '"), strict=False))


def _checked(entry: Entry, file: str, number: int) -> ForeignRow:
    try:
        return _row(entry)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"lacks {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise ConfigurationError(f"{file}: row {number} {what}", hint=_HINT) from None


def _row(entry: Entry) -> ForeignRow:
    samples = entry.get("samples_ts")
    n = len(samples) if isinstance(samples, list) and samples else None
    mean, sd = (_rate(entry, name) for name in ("avg_ts", "stddev_ts"))
    # Of one repetition llama-bench writes a deviation of 0, which there is none of.
    return ForeignRow(test=_test(entry), mean=mean, sd=sd if sd and n != 1 else None, n=n)


def _rate(entry: Entry, name: str) -> float:
    value = float(entry[name])
    if not isfinite(value) or value < 0:
        raise ValueError(f"says {name} {value}")
    return value


def _test(entry: Entry) -> str:
    """As llama-bench's own table names it."""
    prompt, output, depth = int(entry["n_prompt"]), int(entry["n_gen"]), int(entry.get("n_depth") or 0)
    parts = ([f"pp{prompt}"] if prompt else []) + ([f"tg{output}"] if output else [])
    if not parts:
        raise ValueError("tests neither a prompt nor an answer")
    return "+".join(parts) + (f" @ d{depth}" if depth else "")


def _setting(entries: Sequence[Entry], file: str) -> ForeignBench:
    first = _stated(entries[0])
    number, commit = first.get("build_number"), first.get("build_commit")
    model_file = PureWindowsPath(first.get("model_filename", "")).name  # of any system: both kinds of slash
    return ForeignBench(
        file=file,
        model=first.get("model_type") or model_file or "unnamed model",
        build=f"{number} ({commit})" if number and commit else number or commit,
        model_bytes=int(size) if _BYTES.fullmatch(size := first.get("model_size", "")) else None,
        backends=first.get("backends"),
        rows=tuple(_row(entry) for entry in entries),
        stated=first | ({"model_filename": model_file} if model_file else {}),
        taken_at=str(entries[0]["test_time"]) if entries[0].get("test_time") else None,
    )


def _stated(entry: Entry) -> dict[str, str]:
    """What it says of its setting, as text; what is empty is not said."""
    said = {str(name): _as_written(value) for name, value in entry.items() if name and name not in _OF_A_TEST}
    return {name: value for name, value in said.items() if value}


def _as_written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))  # as CSV and SQL have it
    return "" if value is None else str(value)
