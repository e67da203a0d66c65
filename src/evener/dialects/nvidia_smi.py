"""nvidia-smi's CSV, in both directions. It knows nothing of engine device numbers: cards are keyed by UUID and bus id.

Columns are found by the header, so an answer with fewer or other columns than asked for is read as far as it goes.
Whatever is not a number, such as "[N/A]", "N/A", "[Not Supported]" or "[Insufficient Permissions]", is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evener.records.card import Card
from evener.records.telemetry import CardSample

PROGRAM = "nvidia-smi"
GPU_FIELDS = (
    "index", "name", "uuid", "pci.bus_id", "driver_version", "memory.total", "memory.used", "memory.free",
    "temperature.gpu", "power.limit", "enforced.power.limit", "compute_cap", "display_active",
)  # fmt: skip
HEALTH_FIELDS = (
    "uuid", "pci.bus_id", "pstate", "persistence_mode", "pcie.link.gen.current", "pcie.link.gen.max",
    "pcie.link.width.current", "pcie.link.width.max", "clocks_throttle_reasons.active",
)  # fmt: skip
OLD_REASONS, NEW_REASONS = "clocks_throttle_reasons.active", "clocks_event_reasons.active"
# The first two name the card and tell its row from a process's, whose second column is a pid.
WATCH_FIELDS = (
    "uuid", "pci.bus_id", "name", "utilization.gpu", "memory.used", "memory.total", "power.draw", "power.limit",
    "enforced.power.limit", "temperature.gpu", "clocks.sm", "clocks.mem", OLD_REASONS,
)  # fmt: skip
APP_FIELDS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")
# The GPU of these is a part of the processor and shares its memory; the driver reports no memory of its own for them.
INTEGRATED = re.compile(r"\b(GB10|N1X|Orin|Thor|Xavier|Tegra)\b")
# Bits of nvml.h that slow a card down for a reason. The others are idleness and clocks that somebody chose.
SLOWED = {
    0x04: "its power limit", 0x08: "the hardware's slowdown", 0x20: "heat", 0x40: "heat, by the hardware itself",
    0x80: "the power supply's brake",
}  # fmt: skip
IDLE_FROM = 8  # P8 and beyond: an idle card saves power, on its PCIe link too
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process with a compute context on a GPU. `bytes` is None where the driver does not say (Windows, containers).

    Programs that only draw, such as a desktop, are not among them.
    """

    gpu_uuid: str
    pid: int
    name: str | None
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHealth:
    """How a card is doing at this moment. `id` is that of its Card. `slowed_by` is None where the driver hides it."""

    id: str
    idle: bool | None
    persistent: bool | None
    link_generation: int | None
    link_generation_most: int | None
    link_width: int | None
    link_width_most: int | None
    slowed_by: tuple[str, ...] | None


def gpu_query(fields: Sequence[str] = GPU_FIELDS) -> list[str]:
    return [PROGRAM, f"--query-gpu={','.join(fields)}", "--format=csv,nounits"]


def app_query() -> list[str]:
    return [PROGRAM, f"--query-compute-apps={','.join(APP_FIELDS)}", "--format=csv,nounits"]


def health_query(fields: Sequence[str] = HEALTH_FIELDS) -> list[str]:
    return [PROGRAM, f"--query-gpu={','.join(fields)}", "--format=csv,nounits"]


def watch_query(fields: Sequence[str] = WATCH_FIELDS) -> list[str]:
    """One look, to learn which of these fields a driver knows. Watching repeats it, without the header."""
    return [PROGRAM, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]


def without(fields: Sequence[str], refused: str) -> tuple[str, ...]:
    """These fields without the one that a driver refused; throttle reasons under their newer name first."""
    other = {OLD_REASONS: NEW_REASONS}.get(refused)
    return tuple(name for field in fields if (name := other if field == refused else field))


def watched(line: str, fields: Sequence[str] = WATCH_FIELDS) -> CardSample | None:
    """One card at one moment; None for a line that is no such row, e.g. one that was cut short.

    Commas beyond the fields' belong to the name.
    """
    row = _row(line, fields, free_text="name")
    if row is None or not (uuid := _said(row.get("uuid"))) or ":" not in row.get("pci.bus_id", ""):
        return None
    return CardSample(
        card=uuid,
        name=_said(row.get("name")) or "NVIDIA GPU",
        utilisation_percent=_number(row.get("utilization.gpu")),
        memory_used_bytes=_mib(row.get("memory.used")),
        memory_total_bytes=_mib(row.get("memory.total")),
        power_w=_number(row.get("power.draw")),
        power_limit_asked_w=_number(row.get("power.limit")),
        power_limit_effective_w=_number(row.get("enforced.power.limit")),
        temperature_c=_number(row.get("temperature.gpu")),
        clock_mhz=_number(row.get("clocks.sm")),
        memory_clock_mhz=_number(row.get("clocks.mem")),
        slowed_by=slowed_by(row),
    )


def watched_app(line: str) -> GpuProcess | None:
    """A process on a card, without a header; None for a line that is no such row."""
    row = _row(line, APP_FIELDS, free_text="process_name")
    if row is None or not row["gpu_uuid"].startswith("GPU-") or not row["pid"].isdigit():
        return None
    return GpuProcess(
        gpu_uuid=row["gpu_uuid"],
        pid=int(row["pid"]),
        name=_said(row["process_name"]),
        bytes=_mib(row["used_gpu_memory"]),
    )


def slowed_by(row: Mapping[str, str]) -> tuple[str, ...] | None:
    """What holds the clocks back, None where the driver hides it. Newer drivers say event reasons."""
    reasons = row.get(OLD_REASONS) or row.get(NEW_REASONS) or ""
    if not re.fullmatch(r"0x[0-9A-Fa-f]+", reasons):
        return None
    bits = int(reasons, 16)
    return tuple(what for bit, what in SLOWED.items() if bits & bit)


def refused_field(answer: str) -> str | None:
    """The field a driver does not know, when that is why it refused the whole query."""
    found = re.search(r'Field "([^"]+)" is not a valid field to query', answer)
    return found[1] if found else None


def parse_gpus(text: str, *, keyed: bool = True) -> tuple[Card, ...]:
    """Cards in the order of the answer, holders and offer still unknown.

    A row without UUID and bus id is no card, unless `keyed` is False: then one with a name and memory is.
    """
    return tuple(
        _card(row)
        for row in _rows(text, free_text="name")
        if row.get("uuid") or row.get("pci.bus_id") or (not keyed and row.get("name") and row.get("memory.total"))
    )


def parse_apps(text: str) -> tuple[GpuProcess, ...]:
    """Processes of every card. A row without UUID or pid says nothing about anybody and is dropped."""
    return tuple(
        GpuProcess(
            gpu_uuid=uuid,
            pid=int(pid),
            name=_said(row.get("process_name")),
            bytes=_mib(row.get("used_gpu_memory")),
        )
        for row in _rows(text, free_text="process_name")
        if (uuid := _said(row.get("gpu_uuid"))) and (pid := row.get("pid", "")).isdigit()
    )


def parse_health(text: str) -> tuple[GpuHealth, ...]:
    """One per card, in the order of the answer."""
    return tuple(_health(row) for row in _rows(text, free_text="uuid") if row.get("uuid") or row.get("pci.bus_id"))


def _health(row: Mapping[str, str]) -> GpuHealth:
    state = re.fullmatch(r"P(\d+)", row.get("pstate", ""))
    return GpuHealth(
        id=_said(row.get("uuid")) or _said(row.get("pci.bus_id")) or "",
        idle=int(state[1]) >= IDLE_FROM if state else None,
        persistent={"Enabled": True, "Disabled": False}.get(row.get("persistence_mode", "")),
        link_generation=_count(row.get("pcie.link.gen.current")),
        link_generation_most=_count(row.get("pcie.link.gen.max")),
        link_width=_count(row.get("pcie.link.width.current")),
        link_width_most=_count(row.get("pcie.link.width.max")),
        slowed_by=slowed_by(row),
    )


def _count(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


def _card(row: Mapping[str, str]) -> Card:
    uuid, bus_id = _said(row.get("uuid")), _said(row.get("pci.bus_id"))
    name = _said(row.get("name")) or "NVIDIA GPU"
    display = row.get("display_active", "")
    return Card(
        id=uuid or bus_id or "",
        kind="cuda",
        name=name,
        uuid=uuid,
        bus_id=bus_id,
        total_bytes=_mib(row.get("memory.total")),
        used_bytes=_mib(row.get("memory.used")),
        free_bytes=_mib(row.get("memory.free")),
        driver=_said(row.get("driver_version")),
        compute_capability=_said(row.get("compute_cap")),
        temperature_c=_number(row.get("temperature.gpu")),
        power_limit_asked_w=_number(row.get("power.limit")),
        power_limit_effective_w=_number(row.get("enforced.power.limit")),
        integrated=bool(INTEGRATED.search(name)),
        drives_display={"Enabled": True, "Disabled": False}.get(display),
    )


def _rows(text: str, *, free_text: str) -> Iterator[dict[str, str]]:
    """Rows by column name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    header = next((i for i, line in enumerate(lines) if _columns(line) is not None), None)
    if header is None:
        return
    columns = _columns(lines[header]) or []
    for line in lines[header + 1 :]:
        row = _row(line, columns, free_text=free_text)
        if row is not None:
            yield row


def _row(line: str, columns: Sequence[str], *, free_text: str) -> dict[str, str] | None:
    """Cells by column; None for a line with too few. Commas beyond the columns' belong to the one with free text."""
    at = columns.index(free_text) if free_text in columns else len(columns) - 1
    cells = line.split(",")
    surplus = len(cells) - len(columns)
    if surplus < 0:
        return None
    cells[at : at + surplus + 1] = [",".join(cells[at : at + surplus + 1])]
    return {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}


def _columns(line: str) -> list[str] | None:
    """The column names of a header line, without their units; None for any other line."""
    names = [re.sub(r" \[.*\]$", "", cell.strip()) for cell in line.split(",")]
    return names if {"name", "uuid", "pid", "gpu_uuid"} & set(names) else None


def _said(text: str | None) -> str | None:
    """The text, unless it is one of the driver's ways to say nothing."""
    if not text or text == "N/A" or (text.startswith("[") and text.endswith("]")) or text.startswith("Requested func"):
        return None
    return text


def _number(text: str | None) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: \S+)?", text or "")
    return float(found[1]) if found else None


def _mib(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number * MIB)
