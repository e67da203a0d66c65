"""The log of llama-server (`--log-jsonl -lv 5`): lines to facts. Knows no process and no plan.

Shapes as of build 11434: src/llama-model.cpp, llama-context.cpp, llama-kv-cache.cpp, llama.cpp.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from evener.records.deployment import Buffer, BufferKind, Loaded, UsedDevice

MIB = 1 << 20
MOST_UNACCOUNTED_MIB = 1 << 24  # 16 TiB: beyond it, an unsigned subtraction went below zero

_PROJECTOR = re.compile(r"\[mtmd\] adding ([\d.]+) MiB to fit_params_target for device (\S+)")
_USING = re.compile(r"using device (\S+) \((.*)\) \(([^()]*)\) - (\d+) MiB free")
_LAYER = re.compile(r"load_tensors: layer\s+(\d+) assigned to device (\S+?),")
_BUFFER = re.compile(r":\s+(\S.*?)\s+(model|KV|RS|compute|output) buffer size =\s*([\d.]+) MiB")
_RPC_BUFFER = re.compile(r"RPC(\d+)\[(.+)\]$")
# Files beside the model say the same things of themselves: server-context.cpp and clip.cpp.
_DRAFT, _PROJECTOR_BUFFER = "loading draft model", "reserve_compute_meta:"
_ROW = re.compile(
    r"\|\s+-\s+(.+?)\s*\|\s*(?:(\d+) = (\d+) \+ \()?\s*(\d+) =\s*(\d+) \+\s*(\d+) \+\s*(\d+)\)?(?:\s*\+\s*(-?\d+))?"
)
_KIND: dict[str, BufferKind] = {
    "model": "weights",
    "KV": "kv",
    "RS": "recurrent",
    "compute": "compute",
    "output": "output",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the log. `level` is "info", "debug", ..., or None for a line that is no JSON record."""

    text: str
    level: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownRow:
    """One row of the engine's memory table, in MiB. Host rows have no total, free or unaccounted.

    `unaccounted_mib` is None when the engine's unsigned arithmetic went below zero: then nobody knows.
    """

    name: str
    total_mib: int | None
    free_mib: int | None
    model_mib: int
    context_mib: int
    compute_mib: int
    unaccounted_mib: int | None


def read_line(raw: str) -> Line:
    """A raw output line. Anything that is not a log record is kept as its own text: aborts print plainly."""
    if raw.startswith("{"):
        try:
            record = json.loads(raw)
        except ValueError:
            return Line(text=raw, level=None)
        if isinstance(record, dict) and record.get("type") == "log":
            return Line(text=str(record.get("msg", "")).rstrip("\n"), level=str(record.get("level")))
    return Line(text=raw, level=None)


def worth_keeping(line: Line) -> bool:
    """Debug lines fill disks and hold prompts; of these only the layer assignment is a fact we need."""
    return line.level != "debug" or _LAYER.search(line.text) is not None


def read_loaded(lines: Iterable[str]) -> Loaded:
    """Gather what a load said, from the texts of its lines in order.

    Devices and layers are the model's own; buffers are all there are, those of a draft model and a projector too.
    """
    devices: list[UsedDevice] = []
    layers: dict[int, str] = {}
    sizes: dict[tuple[str, BufferKind], float] = {}
    beside: dict[str, dict[tuple[str, BufferKind], float]] = {"draft": {}, "projector": {}}
    drafting = False
    for text in lines:
        drafting = drafting or _DRAFT in text
        if found := _BUFFER.search(text):
            whose = beside["projector"] if _PROJECTOR_BUFFER in text else beside["draft"] if drafting else sizes
            if "does not match" not in text:
                _add(whose, found[1].strip(), _KIND[found[2]], float(found[3]))
        elif drafting:
            continue
        elif found := _USING.search(text):
            devices.append(_used(*found.groups()))
        elif found := _LAYER.search(text):
            layers[int(found[1])] = found[2]
    for place, mib in (one for its in beside.values() for one in its.items()):
        sizes[place] = sizes.get(place, 0.0) + mib
    return Loaded(
        devices=tuple(devices),
        layers=dict(Counter(layers.values())),
        buffers=tuple(
            Buffer(device=_device_of(place, devices), kind=kind, bytes=round(mib * MIB))
            for (place, kind), mib in sizes.items()
        ),
    )


def _used(name: str, description: str, device_id: str, free_mib: str) -> UsedDevice:
    known = None if device_id.startswith("unknown") else device_id
    return UsedDevice(name=name, description=description, bus_id=known, free_bytes=int(free_mib) * MIB)


def _add(sizes: dict[tuple[str, BufferKind], float], place: str, kind: BufferKind, mib: float) -> None:
    """Caches of several kinds add up; a compute buffer is reserved again and the last reservation stands."""
    before = 0.0 if kind == "compute" else sizes.get((place, kind), 0.0)
    sizes[place, kind] = before + mib


def _device_of(place: str, devices: list[UsedDevice]) -> str:
    """Buffer names count per endpoint: the RPC0 of "RPC0[10.0.0.2:50052]" need not be device RPC0."""
    if rpc := _RPC_BUFFER.match(place):
        behind = [d.name for d in devices if d.description == rpc[2]]
        index = int(rpc[1])
        return behind[index] if index < len(behind) else place
    return next((d.name for d in devices if d.name == place or place == f"{d.name}_Mapped"), "host")


def read_breakdown_row(text: str) -> BreakdownRow | None:
    """A row of `common_memory_breakdown_print`, None for any other line."""
    found = _ROW.search(text)
    if found is None:
        return None
    name, total, free, _self, model, context, compute, unaccounted = found.groups()
    return BreakdownRow(
        name=name,
        total_mib=None if total is None else int(total),
        free_mib=None if free is None else int(free),
        model_mib=int(model),
        context_mib=int(context),
        compute_mib=int(compute),
        unaccounted_mib=_plausible(unaccounted),
    )


def _plausible(unaccounted: str | None) -> int | None:
    if unaccounted is None or abs(int(unaccounted)) > MOST_UNACCOUNTED_MIB:
        return None
    return int(unaccounted)


def read_fit(stdout: str) -> dict[str, tuple[int, int, int]]:
    """`llama-fit-params --fit-print on`: device or "Host" -> (weights, context, compute) in MiB, floored."""
    rows: dict[str, tuple[int, int, int]] = {}
    for line in stdout.splitlines():
        parts = line.split()
        if len(parts) == 4 and all(p.isdigit() for p in parts[1:]):
            rows[parts[0]] = (int(parts[1]), int(parts[2]), int(parts[3]))
    return rows


def read_projector(lines: Iterable[str]) -> dict[str, int]:
    """What llama-server -lv 5 says that a projector takes on each device: device -> bytes."""
    found = (_PROJECTOR.search(line) for line in lines)
    return {one[2]: round(float(one[1]) * (1 << 20)) for one in found if one}


def failure_of(texts: Iterable[str]) -> str | None:
    """The line that best says why the engine gave up, None when none does."""
    found: tuple[int, str] | None = None
    for line in (line for text in texts for line in text.splitlines()):
        for rank, sign in enumerate(_SIGNS):
            if sign in line and (found is None or rank < found[0]):
                found = rank, line.strip()
    return found[1] if found else None


_SIGNS = (  # most telling first: engine-facts H
    "Failed to connect to",
    "Cannot resolve host",
    "Failed to parse endpoint",
    "RPC server version mismatch",
    "RPC handshake failed",
    "failed to allocate buffer for kv cache",
    "unable to allocate",
    "failed to allocate compute",
    "Failed to allocate",
    "failed to allocate",
    "model is corrupted",
    "unknown model architecture",
    "mismatch between text model",
    "Failed to load CLIP model",
    "failed to load draft model",
    "invalid device",
    "error loading model",
    "couldn't bind HTTP server socket",
    "error: invalid argument",
    "error while handling argument",
    "Remote RPC server crashed",
    "GGML_ASSERT",
    "fatal error",
    "exiting due to model loading error",
    "error:",
)
