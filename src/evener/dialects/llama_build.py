"""What llama.cpp's programs say about themselves: version, flags, devices, banner. Pure; it never runs them.

Written against build 11434; the older version line (`version: 4321 (abcdef0)`) is read as well.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from evener.records.capability import Capability, EngineDevice

SERVER: Final = "llama-server"
WORKER: Final = "ggml-rpc-server"
FIT: Final = "llama-fit-params"
BENCH: Final = "llama-bench"
QUANTIZE: Final = "llama-quantize"
PROGRAMS: Final = (SERVER, WORKER, FIT, BENCH, QUANTIZE)

# The minimum. Each flag is one that a plan's command lines or a verification stand on.
NEEDED_SERVER: Final = (
    "--rpc", "--device", "--list-devices", "--tensor-split", "-ngl", "--fit", "--parallel", "--ctx-size",
    "--kv-unified", "--cache-type-k", "--cache-type-v", "--cache-ram", "--metrics", "--verbosity", "--log-jsonl",
)  # fmt: skip
NEEDED_FIT: Final = ("--rpc", "--device", "--tensor-split", "--fit-print", "--log-jsonl")
NEEDED_WORKER: Final = ("--device", "--host", "--port", "--threads")
NEEDED_PROTOCOL_MAJOR: Final = 7

_VERSION = re.compile(r"^version: .*?\(build (\d+), commit (\w+)\)|^version: (\d+) \((\w+)\)", re.MULTILINE)
_COMPILER = re.compile(r"^built with (.+?)(?: for .*)?$", re.MULTILINE)
_FLAG = r"--?[A-Za-z][\w-]*"
_FLAG_LINE = re.compile(rf"^ {{0,2}}({_FLAG}(?:,\s*{_FLAG})*)", re.MULTILINE)
_PROTOCOL = re.compile(r"^Starting RPC server v(\d+\.\d+\.\d+)", re.MULTILINE)
_DEVICE = re.compile(r"^ +([A-Za-z]+\d*): (.*) \((\d+) MiB, (\d+) MiB free\)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """`--version`. `build` and `commit` are None where the build did not know: it then says 0 and "unknown"."""

    build: int | None
    commit: str | None
    compiler: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """What a worker prints before it listens. `protocol` is None for a worker too old to say."""

    protocol: str | None
    devices: tuple[EngineDevice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """The part of a llama-bench row that a smoke test reads. `backends` as the engine names them ("CPU", "CUDA")."""

    backends: tuple[str, ...]
    token_ms: float


def version(text: str) -> Version | None:
    """Read the output of `--version` (either stream); None when it is no such output."""
    found = _VERSION.search(text)
    if found is None:
        return None
    build, commit = int(found[1] or found[3]), found[2] or found[4]
    compiler = _COMPILER.search(text)
    return Version(
        build=build or None,
        commit=None if commit == "unknown" else commit,
        compiler=compiler[1] if compiler else None,
    )


def flags(help_text: str) -> frozenset[str]:
    """Every spelling of every flag that a `--help` text defines; flags mentioned in its prose do not count."""
    return frozenset(flag for line in _FLAG_LINE.findall(help_text) for flag in re.findall(_FLAG, line))


def devices(text: str) -> tuple[EngineDevice, ...]:
    """Read `--list-devices`, or the device list of a worker's banner, in the engine's own order.

    Not those without memory: BLAS stands there too, and helps the CPU. Free memory beyond the total is unknown: on
    unified memory a build may print "32106 MiB, 55372 MiB free" (ggml-org/llama.cpp#17536).
    """
    return tuple(
        EngineDevice(
            name=name,
            description=description,
            total_bytes=int(total) << 20,
            free_bytes=int(free) << 20 if int(free) <= int(total) else None,
        )
        for name, description, total, free in _DEVICE.findall(text)
        if int(total)
    )


def banner(text: str) -> Banner:
    """Read what a worker prints at its start."""
    found = _PROTOCOL.search(text)
    return Banner(protocol=found[1] if found else None, devices=devices(text))


def bench_row(text: str) -> BenchRow | None:
    """Read the first row of `llama-bench -o json`; None when there is none."""
    try:
        row = json.loads(text)[0]
        return BenchRow(backends=tuple(row["backends"].split(",")), token_ms=row["avg_ns"] / 1e6)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def lacks(
    *,
    programs: frozenset[str],
    server: frozenset[str],
    fit: frozenset[str],
    worker: frozenset[str],
    protocol: str | None,
) -> tuple[str, ...]:
    """What the minimum demands and a build has not, in words; empty when it may be used."""
    absent = tuple(f"{name} (not in the folder)" for name in PROGRAMS if name not in programs and name != QUANTIZE)
    unknown = tuple(
        f"{program} {flag}"
        for program, needed, has in (
            (SERVER, NEEDED_SERVER, server),
            (FIT, NEEDED_FIT, fit),
            (WORKER, NEEDED_WORKER, worker),
        )
        for flag in needed
        if program in programs and flag not in has
    )
    wrong = WORKER in programs and (protocol is None or int(protocol.split(".")[0]) != NEEDED_PROTOCOL_MAJOR)
    return (
        absent
        + unknown
        + (
            (f"RPC protocol {NEEDED_PROTOCOL_MAJOR} (its worker speaks {protocol or 'none it names'})",)
            if wrong
            else ()
        )
    )


def engine_name(capability: Capability) -> str:
    """ "b11434 (b0a2feb)", for people and for the conditions of a run."""
    build = f"b{capability.build}" if capability.build else "unknown build"
    return f"{build} ({capability.commit})" if capability.commit else build
