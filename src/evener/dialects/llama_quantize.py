"""What llama-quantize says: which tensor it is at, and how large the model becomes. Pure text; build 11434."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from evener.records.events import Progress

# QUANT_OPTIONS of tools/quantize/quantize.cpp, without COPY, which quantises nothing.
TYPES: Final = (
    "Q1_0", "Q2_0", "Q4_0", "Q4_1", "MXFP4_MOE", "Q5_0", "Q5_1", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ1_S",
    "IQ1_M", "TQ1_0", "TQ2_0", "Q2_K", "Q2_K_S", "IQ3_XXS", "IQ3_S", "IQ3_M", "Q3_K", "IQ3_XS", "Q3_K_S", "Q3_K_M",
    "Q3_K_L", "IQ4_NL", "IQ4_XS", "Q4_K", "Q4_K_S", "Q4_K_M", "Q5_K", "Q5_K_S", "Q5_K_M", "Q6_K", "Q8_0", "F16",
    "BF16", "F32",
)  # fmt: skip

_TENSOR = re.compile(r"\[ *(?P<done>\d+)/ *(?P<of>\d+)\] +(?P<name>\S+)")
_SIZE = re.compile(r"quant size += +(?P<mib>[\d.]+) MiB")


def argv(program: str, source: str, target: str, kind: str) -> list[str]:
    """The command that writes `target`. What is quantised already may be quantised again: the caller says so."""
    return [program, "--allow-requantize", source, target, kind]


def dry_run_argv(program: str, source: str, kind: str) -> list[str]:
    """The command that only says how large it becomes."""
    return [program, "--dry-run", "--allow-requantize", source, kind]


def progress(line: str, *, what: str) -> Progress | None:
    """How far it is, None for a line that does not say.

    >>> progress("[  12/ 272]  blk.0.attn_q.weight - [  576,  576,    1,    1], type = q4_1, ...", what="quantise").done
    12.0
    """
    at = _TENSOR.match(line)
    return Progress(what=what, done=float(at["done"]), of=float(at["of"]), detail=at["name"]) if at else None


def size_bytes(lines: Iterable[str]) -> int | None:
    """The tensors' size as it was announced, to 0.01 MiB; None where nothing was said."""
    found = next((said for line in lines if (said := _SIZE.search(line))), None)
    return round(float(found["mib"]) * (1 << 20)) if found else None


def complaint(lines: Iterable[str]) -> str | None:
    """The line that best says why it failed."""
    said = [line.strip() for line in lines if line.strip() and not _TENSOR.match(line)]
    telling = [line for line in said if "failed" in line or "error" in line.lower() or "requires" in line]
    return next(iter(telling or said[-1:]), None)
