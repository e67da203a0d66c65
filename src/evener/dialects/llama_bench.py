"""What we ask llama-bench, and what its `-o json` prints. Pure; knows columns, not what they mean for a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from evener.errors import EngineError
from evener.records.speed import BenchRow

SIZES = ("-p", "-n", "-pg", "-d", "-r", "-o")


def measure_argv(
    binary: str, model: str, *, device: str, threads: int | None, prompt: int, output: int, repetitions: int
) -> tuple[str, ...]:
    """llama-bench's argv for one model, whole, on one device: a prompt, then `output` tokens one by one.

    `device` is the engine's name on that host; "CPU" has none there. Flash attention is on, as in every plan.
    """
    on_cpu = device == "CPU"
    return (
        binary,
        "-m", model,
        *(("-dev", "none", "-ngl", "0") if on_cpu else ("-dev", device, "-ngl", "999")),
        *(("-t", str(threads)) if threads else ()),
        "-fa", "on", "-p", str(prompt), "-n", str(output), "-r", str(repetitions), "-o", "json",
    )  # fmt: skip


def sized_argv(
    argv: Sequence[str],
    *,
    prompts: Sequence[int],
    outputs: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    depths: Sequence[int],
    repetitions: int,
) -> tuple[str, ...]:
    """A plan's llama-bench command with other tests: every prompt, output and pair of both at every depth, as JSON.

    An empty list is the 0 that llama-bench leaves out.
    """
    program, *words = argv
    kept = [word for pair in zip(words[::2], words[1::2], strict=True) if pair[0] not in SIZES for word in pair]
    return (
        program,
        *kept,
        "-p", ",".join(map(str, prompts)) or "0",
        "-n", ",".join(map(str, outputs)) or "0",
        *(word for prompt, output in pairs for word in ("-pg", f"{prompt},{output}")),
        "-d", ",".join(map(str, depths)),
        "-r", str(repetitions),
        "-o", "json",
    )  # fmt: skip


def rows(text: str, *, source: str = "llama-bench") -> tuple[BenchRow, ...]:
    """The rows in the order they were run. `source` names the output in error lines.

    Raises EngineError when the text is not the array that llama-bench prints, or a row lacks what every build writes.
    """
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise EngineError(f"{source}: no JSON: {error}", hint="run llama-bench with -o json") from error
    if not isinstance(parsed, list):
        raise EngineError(f"{source}: no list of rows", hint="run llama-bench with -o json")
    return tuple(_row(entry, source, number) for number, entry in enumerate(parsed, start=1))


def _row(entry: Any, source: str, number: int) -> BenchRow:
    try:
        return _read(entry)
    except (KeyError, TypeError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise EngineError(f"{source}: row {number} {what}", hint="is it the output of llama-bench -o json?") from error


def _read(entry: Mapping[str, Any]) -> BenchRow:
    return BenchRow(
        model=PurePath(str(entry["model_filename"])).name,
        model_bytes=int(entry["model_size"]),
        model_parameters=int(entry["model_n_params"]),
        devices=str(entry.get("devices", "auto")),
        threads=int(entry["n_threads"]),
        ubatch=int(entry["n_ubatch"]),
        kv_type_k=str(entry["type_k"]),
        kv_type_v=str(entry["type_v"]),
        prompt_tokens=int(entry["n_prompt"]),
        output_tokens=int(entry["n_gen"]),
        depth=int(entry.get("n_depth", 0)),
        tokens_per_s=tuple(float(value) for value in entry["samples_ts"]),
        taken_at=_time(entry.get("test_time")),
        build=int(entry["build_number"]) if entry.get("build_number") else None,
        backends=str(entry.get("backends", "")),
        cpu=str(entry.get("cpu_info", "")),
        gpu=str(entry.get("gpu_info", "")),
    )


def _time(text: object) -> datetime | None:
    """Its time stamp ("2026-11-30T21:20:27Z"); None for another form."""
    try:
        return datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
