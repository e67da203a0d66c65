"""nvidia-smi's output as people paste it: its CSV with any columns, or the table. Holders where it names them.

A row without UUID and bus id is a card too here: there is nobody to ask again. Who holds memory is known only as far
as the processes' rows go; no rows are no proof that nobody does, since Windows, WSL and containers hide them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from evener.dialects import nvidia_smi
from evener.records.card import Card, Holder

MIB = 1 << 20
# "|   0  NVIDIA GeForce RTX 5090        Off |   00000000:01:00.0 Off |                  N/A |"; Windows: WDDM for Off
_NAME_ROW = re.compile(
    r"^\|\s+(\d+)\s+(\S.*?)\s+(On|Off|WDDM|TCC|MCDM|N/A)\s*\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)"
    r"\s+(On|Off|N/A)\s*\|"
)
_MEMORY = re.compile(r"(\d+)MiB\s*/\s*(\d+)MiB")
_LIMIT = re.compile(r"/\s*(\d+)W\b")
_HEAT = re.compile(r"\b(\d+)C\b")
_DRIVER = re.compile(r"(?:Driver|KMD) Version:\s*([\d.]+)")
# "|    0   N/A  N/A            1234      C   ...ython                       1234MiB |"
_PROCESS = re.compile(r"^\|\s+(\d+)\s+(?:\S+\s+\S+\s+)?(\d+)\s+[CGM+]+\s+(\S.*?)\s+(\d+MiB|N/A)\s*\|\s*$", re.MULTILINE)


def parse(text: str) -> tuple[Card, ...]:
    """Cards of a pasted CSV or table, in its own order; empty when it is neither."""
    return _table(text) or _csv(text)


def _csv(text: str) -> tuple[Card, ...]:
    cards = nvidia_smi.parse_gpus(text, keyed=False)
    apps = nvidia_smi.parse_apps(text)
    numbered = [replace(card, id=card.id or f"pasted{i}") for i, card in enumerate(cards)]
    return tuple(
        replace(card, holders=_holders([(a.pid, a.name, a.bytes) for a in apps if a.gpu_uuid == card.uuid]))
        for card in numbered
    )


def _table(text: str) -> tuple[Card, ...]:
    lines = text.splitlines()
    driver = _DRIVER.search(text)
    held: dict[str, list[tuple[int, str | None, int | None]]] = {}
    for gpu, pid, name, mib in _PROCESS.findall(text):
        held.setdefault(gpu, []).append((int(pid), name, None if mib == "N/A" else int(mib[:-3]) * MIB))
    cards = []
    for i, line in enumerate(lines):
        if (found := _NAME_ROW.match(line)) and i + 1 < len(lines):
            card = _card(found, lines[i + 1], driver[1] if driver else None)
            cards.append(replace(card, holders=_holders(held.get(found[1], []))))
    return tuple(cards)


def _card(row: re.Match[str], below: str, driver: str | None) -> Card:
    """One card's two lines: name and bus id, then temperature, power and memory."""
    memory, limit, heat = _MEMORY.search(below), _LIMIT.search(below), _HEAT.search(below)
    used, total = (int(memory[1]) * MIB, int(memory[2]) * MIB) if memory else (None, None)
    return Card(
        id=row[4],
        kind="cuda",
        name=row[2],
        bus_id=row[4],
        total_bytes=total,
        used_bytes=used,
        free_bytes=None if total is None or used is None else total - used,
        driver=driver,
        temperature_c=float(heat[1]) if heat else None,
        power_limit_asked_w=float(limit[1]) if limit else None,
        integrated=bool(nvidia_smi.INTEGRATED.search(row[2])),
        drives_display={"On": True, "Off": False}.get(row[5]),
    )


def _holders(rows: list[tuple[int, str | None, int | None]]) -> tuple[Holder, ...] | None:
    if not rows:
        return None
    return tuple(Holder(kind="process", bytes=held, pid=pid, command=name) for pid, name, held in rows)
