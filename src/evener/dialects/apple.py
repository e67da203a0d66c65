"""What a Mac says of itself: system_profiler's JSON, `sysctl`, `vm_stat`. Processor and GPU share one memory."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from evener.dialects.proc import Cpu, Memory
from evener.records.telemetry import CardSample

GIB = 1 << 30
SYSCTL_KEYS = (
    "hw.memsize", "hw.physicalcpu", "hw.logicalcpu", "machdep.cpu.brand_string", "kern.bootsessionuuid",
    "kern.osproductversion", "iogpu.wired_limit_mb",
)  # fmt: skip
# recommendedMaxWorkingSetSize: 0.67 to 0.78 of RAM in public reports (11456 MiB of 16 GiB, 49152 of 64 GiB).
SMALL_BYTES, SMALL_SHARE, LARGE_SHARE = 36 * GIB, 2 / 3, 3 / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """`cores` are the GPU's."""

    name: str
    cores: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSet:
    """How much of the memory the GPU may use. `assumed` unless the owner has set a limit."""

    bytes: int
    assumed: bool


def profiler_query() -> list[str]:
    return ["system_profiler", "SPDisplaysDataType", "SPHardwareDataType", "-json"]


def sysctl_query() -> list[str]:
    """Without -n: an unknown key is then left out, and no line takes another's place."""
    return ["sysctl", *SYSCTL_KEYS]


def gpus(profile: str) -> tuple[Gpu, ...]:
    """Apple's own GPUs. An Intel Mac's AMD or Intel graphics are none that llama.cpp's Metal backend is good for."""
    return tuple(
        Gpu(name=str(row.get("sppci_model") or row.get("_name")), cores=_int(row.get("sppci_cores")))
        for row in _table(profile, "SPDisplaysDataType")
        if "apple" in str(row.get("spdisplays_vendor", row.get("_name", ""))).lower()
    )


def facts(sysctl: str) -> dict[str, str]:
    """`sysctl`'s lines by key."""
    return dict(re.findall(r"^([\w.]+): (.+)$", sysctl, re.MULTILINE))


def memory(facts: dict[str, str], vm_stat: str, profile: str) -> Memory:
    """All of it, and what can be had without swapping: free, speculative and inactive pages (as psutil counts)."""
    total = _int(facts.get("hw.memsize")) or _physical(profile)
    size = re.search(r"page size of (\d+) bytes", vm_stat)
    pages = dict(re.findall(r"^Pages (free|inactive|speculative):\s+(\d+)\.$", vm_stat, re.MULTILINE))
    available = sum(map(int, pages.values())) * int(size[1]) if size and len(pages) == 3 else None
    return Memory(total_bytes=total, available_bytes=available)


def cpu(facts: dict[str, str], profile: str) -> Cpu:
    hardware = next(iter(_table(profile, "SPHardwareDataType")), {})
    return Cpu(
        model=facts.get("machdep.cpu.brand_string") or hardware.get("chip_type"),
        cores=_int(facts.get("hw.physicalcpu")),
        threads=_int(facts.get("hw.logicalcpu")),
    )


def working_set(facts: dict[str, str], total_bytes: int) -> WorkingSet:
    """The owner's limit (`iogpu.wired_limit_mb`) where one is set, else Apple's usual share of the memory."""
    limit = _int(facts.get("iogpu.wired_limit_mb"))
    if limit:
        return WorkingSet(bytes=min(limit << 20, total_bytes), assumed=False)
    share = SMALL_SHARE if total_bytes <= SMALL_BYTES else LARGE_SHARE
    return WorkingSet(bytes=int(total_bytes * share), assumed=True)


def watched(text: str) -> CardSample | None:
    """The GPU at one moment, from `ioreg`'s performance statistics of the accelerator; None where it says nothing.

    Memory is what the GPU uses of main memory. Power and temperature are for root only, and so unknown.
    """
    busy = re.search(r'"Device Utilization %"=(\d+)', text)
    used = re.search(r'"In use system memory"=(\d+)', text)
    if not busy and not used:
        return None
    return CardSample(
        card="metal0",
        name="Apple GPU",
        utilisation_percent=float(busy[1]) if busy else None,
        memory_used_bytes=int(used[1]) if used else None,
    )


def interfaces(netstat: str) -> dict[str, tuple[int, int]]:
    """(received, sent) bytes by interface, from the link rows of `netstat -ibn`; an idle or virtual one is left out.

    A row may lack its address, so columns are counted from the right: Ibytes Opkts Oerrs Obytes Coll.
    """
    rows = [line.split() for line in netstat.splitlines() if "<Link#" in line]
    found = {
        row[0]: (int(row[-5]), int(row[-2])) for row in rows if len(row) > 7 and row[-5].isdigit() and row[-2].isdigit()
    }
    return {name: counts for name, counts in found.items() if any(counts) and not name.startswith("lo")}


def _physical(profile: str) -> int | None:
    """ "16 GB" of SPHardwareDataType, which means GiB."""
    for row in _table(profile, "SPHardwareDataType"):
        if found := re.fullmatch(r"(\d+) GB", str(row.get("physical_memory", ""))):
            return int(found[1]) * GIB
    return None


def _table(profile: str, name: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(profile)[name]
    except (ValueError, LookupError, TypeError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _int(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.strip().isdigit() else None
