"""AMD's driver tools, amd-smi (JSON) and the older rocm-smi (JSON or CSV), read as one. It knows no engine numbers.

Numbers come as text or as {"value", "unit"}; "N/A" is unknown. Both tools say MB and mean MiB. Warnings may stand
before the document.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evener.records.card import Card

ROCM_SMI, AMD_SMI = "rocm-smi", "amd-smi"
MIB = 1 << 20
# Graphics that are a part of a processor, by architecture.
INTEGRATED = (
    "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103",
    "gfx1150", "gfx1151", "gfx1152", "gfx1153",
)  # fmt: skip
LEAST_DISCRETE_BYTES = 1 << 30  # no discrete card that the engine can use has less


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """The two kinds of memory an AMD GPU can use, in bytes: its own, and what it may take of main memory (GTT)."""

    vram_total: int | None = None
    vram_used: int | None = None
    gtt_total: int | None = None
    gtt_used: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdCard:
    """A card with its own memory filled in, both pools beside it, and the kernel's number for it (`kfd`)."""

    card: Card
    pools: Pools
    kfd: str | None = None


def rocm_query() -> list[str]:
    return [
        ROCM_SMI, "--showproductname", "--showuniqueid", "--showbus", "--showmeminfo", "all", "--showtemp",
        "--showmaxpower", "--showdriverversion", "--json",
    ]  # fmt: skip


def static_query() -> list[str]:
    return [AMD_SMI, "static", "--asic", "--bus", "--vram", "--driver", "--limit", "--json"]


def metric_query() -> list[str]:
    return [AMD_SMI, "metric", "--mem-usage", "--temperature", "--json"]


def list_query() -> list[str]:
    """Which kernel number each GPU has: that is how the kernel counts processes' memory."""
    return [AMD_SMI, "list", "--json"]


def parse_rocm(text: str) -> tuple[AmdCard, ...]:
    """rocm-smi's JSON or CSV, in its own order. Rows that name no card are no cards."""
    rows = _rocm_json(text) or _rocm_csv(text)
    driver = _said(rows.get("system", {}).get("Driver version"))
    return tuple(_rocm_card(name, row, driver) for name, row in rows.items() if re.fullmatch(r"card\d+", name) and row)


def parse_amd(static: str, metric: str, listing: str = "") -> tuple[AmdCard, ...]:
    """amd-smi's three documents, by GPU number. Without the first there are no cards; the others may be missing."""
    metrics, numbers = _by_gpu(metric), _by_gpu(listing)
    return tuple(
        _amd_card(gpu, one, metrics.get(gpu, {}), numbers.get(gpu, {})) for gpu, one in _by_gpu(static).items()
    )


def parse_kfd(grepped: str) -> tuple[tuple[str, int, int], ...]:
    """(kernel number of the GPU, pid, bytes) from `grep -Hs . /sys/class/kfd/kfd/proc/*/vram_*`."""
    found = re.findall(r"/kfd/proc/(\d+)/vram_(\d+):(\d+)$", grepped, re.MULTILINE)
    return tuple((kfd, int(pid), int(held)) for pid, kfd, held in found)


# ---- rocm-smi


def _rocm_json(text: str) -> dict[str, dict[str, Any]]:
    document = _document(text)
    return {k: v for k, v in document.items() if isinstance(v, dict)} if isinstance(document, dict) else {}


def _rocm_csv(text: str) -> dict[str, dict[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("device,")), len(lines))
    return {row.pop("device"): row for row in csv.DictReader(lines[start:])}


def _rocm_card(name: str, row: Mapping[str, Any], driver: str | None) -> AmdCard:
    pools = Pools(
        vram_total=_int(row.get("VRAM Total Memory (B)")),
        vram_used=_int(row.get("VRAM Total Used Memory (B)")),
        gtt_total=_int(row.get("GTT Total Memory (B)")),
        gtt_used=_int(row.get("GTT Total Used Memory (B)")),
    )
    gfx = _said(row.get("GFX Version"))
    heat = next((_float(v) for k, v in row.items() if k.startswith("Temperature (Sensor edge)")), None)
    card = _card(
        fallback_id=name,
        names=(row.get("Card Series"), row.get("Card series"), row.get("Device Name")),
        unique=row.get("Unique ID"),
        bus_id=row.get("PCI Bus"),
        gfx=gfx,
        driver=driver,
        temperature_c=heat,
        power_w=_float(row.get("Max Graphics Package Power (W)")),
        pools=pools,
    )
    return AmdCard(card=card, pools=pools, kfd=_said(row.get("GUID")))


# ---- amd-smi


def _by_gpu(text: str) -> dict[int, dict[str, Any]]:
    document = _document(text)
    rows = document.get("gpu_data", []) if isinstance(document, dict) else document
    return {row["gpu"]: row for row in _dicts(rows) if isinstance(row.get("gpu"), int)}


def _amd_card(gpu: int, static: Mapping[str, Any], metric: Mapping[str, Any], listed: Mapping[str, Any]) -> AmdCard:
    asic, usage = _part(static, "asic"), _part(metric, "mem_usage")
    pools = Pools(
        vram_total=_mib(usage.get("total_vram")) or _mib(_part(static, "vram").get("size")),
        vram_used=_mib(usage.get("used_vram")),
        gtt_total=_mib(usage.get("total_gtt")),
        gtt_used=_mib(usage.get("used_gtt")),
    )
    limits = _part(static, "limit")
    card = _card(
        fallback_id=f"card{gpu}",
        names=(asic.get("market_name"),),
        unique=listed.get("uuid"),
        bus_id=_part(static, "bus").get("bdf") or listed.get("bdf"),
        gfx=_said(asic.get("target_graphics_version")),
        driver=_said(_part(static, "driver").get("version")),
        temperature_c=_value(_part(metric, "temperature").get("edge")),
        power_w=_value(limits.get("socket_power") or limits.get("max_power")),
        pools=pools,
    )
    kfd = listed.get("kfd_id")
    return AmdCard(card=card, pools=pools, kfd=None if kfd in (None, "N/A") else str(kfd))


def _part(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table of a table; a tool says "N/A" in its place."""
    value = row.get(key)
    return value if isinstance(value, dict) else {}


# ---- both


def _card(
    *,
    fallback_id: str,
    names: Sequence[Any],
    unique: Any,
    bus_id: Any,
    gfx: str | None,
    driver: str | None,
    temperature_c: float | None,
    power_w: float | None,
    pools: Pools,
) -> Card:
    bus, uuid = _said(bus_id), _unique(unique)
    total, used = pools.vram_total, pools.vram_used
    unnamed = f"AMD {gfx}" if gfx else "AMD GPU"
    return Card(
        id=uuid or bus or fallback_id,
        kind="rocm",
        name=next((said for name in names if (said := _said(name)) and not said.startswith("0x")), unnamed),
        bus_id=bus,
        uuid=uuid,
        total_bytes=total,
        used_bytes=used,
        free_bytes=None if total is None or used is None else total - used,
        driver=driver if driver is None or len(driver) < 40 else driver[:39] + "…",  # some hold the whole kernel banner
        compute_capability=gfx,
        temperature_c=temperature_c,
        power_limit_asked_w=power_w,
        integrated=gfx in INTEGRATED or (total is not None and total < LEAST_DISCRETE_BYTES),
    )


def _document(text: str) -> Any:
    """The JSON document in a tool's output, None when there is none."""
    for start in (i for i, c in enumerate(text) if c in "{["):
        try:
            return json.JSONDecoder().raw_decode(text, start)[0]
        except ValueError:
            continue
    return None


def _dicts(rows: Any) -> Iterator[dict[str, Any]]:
    if isinstance(rows, list):
        yield from (row for row in rows if isinstance(row, dict))


def _said(value: Any) -> str | None:
    text = str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    return None if text in ("", "N/A", "None") else text


def _unique(value: Any) -> str | None:
    """A card without a number of its own says N/A or zero."""
    text = _said(value)
    return None if text is None or not re.search(r"[1-9a-fA-F]", text.removeprefix("0x")) else text


def _int(value: Any) -> int | None:
    text = _said(value) or ""
    return int(text) if text.isdigit() else None


def _float(value: Any) -> float | None:
    found = re.match(r"\d+(\.\d+)?", _said(value) or "")
    return float(found[0]) if found else None


def _value(quantity: Any) -> float | None:
    """{"value": 54, "unit": "C"}, or a bare number."""
    inner = quantity.get("value") if isinstance(quantity, dict) else quantity
    return float(inner) if isinstance(inner, (int, float)) and not isinstance(inner, bool) else None


def _mib(quantity: Any) -> int | None:
    value = _value(quantity)
    return None if value is None else int(value) * MIB
