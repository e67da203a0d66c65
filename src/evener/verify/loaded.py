"""Compare promised and measured memory, card by card, after a load. Pure.

Thresholds: a card is "under" when less than its weights and caches (less 2 %) can be found there, and "over" when more
than its planned total and `slack` is: 5 % of the total, at least 64 MiB. A planned device that the engine does not
use, or that holds another number of slots, is "missing" whatever the memory says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evener.records.card import Scan
from evener.records.deployment import Loaded, Process
from evener.records.plan import Candidate, DevicePlan
from evener.records.verification import CardCheck, CardVerdict

LEAST_SLACK_BYTES = 64 << 20
SLACK = 0.05
FLOOR = 0.98
HOST_DEVICES = ("CPU",)  # the head's own CPU is no device in its log


def check_loaded(
    candidate: Candidate, loaded: Loaded, during: Scan, processes: Sequence[Process]
) -> tuple[CardCheck, ...]:
    """One check per planned device, in the engine's order."""
    return tuple(_check(device, loaded, during, processes) for device in candidate.devices)


def _check(plan: DevicePlan, loaded: Loaded, during: Scan, processes: Sequence[Process]) -> CardCheck:
    on_host = plan.device in HOST_DEVICES
    used = on_host or any(d.name == plan.device for d in loaded.devices)
    seen = loaded.layers.get(plan.device, 0) if loaded.layers else None
    reported = loaded.bytes_on("host" if on_host else plan.device) if used else None
    measured = held_bytes(plan, during, processes)
    floor = int((plan.weights_bytes + plan.kv_bytes) * FLOOR)
    ceiling = plan.total_bytes + max(LEAST_SLACK_BYTES, int(plan.total_bytes * SLACK))
    verdict, why = _verdict(plan, used, seen, [reported, measured], floor, ceiling)
    return CardCheck(
        host=plan.host,
        card=plan.card,
        card_name=plan.card_name,
        device=plan.device,
        layers_planned=plan.layers,
        layers_seen=seen,
        planned_bytes=plan.total_bytes,
        reported_bytes=reported,
        measured_bytes=measured,
        floor_bytes=floor,
        ceiling_bytes=ceiling,
        verdict=verdict,
        why=why,
    )


def held_bytes(plan: DevicePlan, during: Scan, processes: Iterable[Process]) -> int | None:
    """What our processes of the plan's host hold on its card, None where nobody could look."""
    host = during.host(plan.host)
    card = host.card(plan.card) if host else None
    if card is None or card.holders is None:
        return None
    serving = "worker" if plan.device.startswith("RPC") else "head"
    pids = {p.pid for p in processes if p.host == plan.host and p.role == serving}
    held = [h.bytes for h in card.holders if h.pid in pids]
    known = [b for b in held if b is not None]
    return sum(known) if held and len(known) == len(held) else None


def _verdict(
    plan: DevicePlan,
    used: bool,
    seen: int | None,
    figures: Sequence[int | None],
    floor: int,
    ceiling: int,
) -> tuple[CardVerdict, str | None]:
    if not used:
        return "missing", f"the engine does not use {plan.device}"
    if seen is not None and seen != plan.layers:
        return "missing", f"{seen} of {plan.layers} planned layers are there"
    known = [f for f in figures if f is not None]
    if any(f > ceiling for f in known):
        return "over", f"{max(known) - plan.total_bytes >> 20} MiB more than planned"
    if any(f < floor for f in known):
        return "under", f"{floor - min(known) >> 20} MiB less than its weights and caches"
    if figures[-1] is None:
        return "unknown", "the driver does not say what the process holds"
    return "as planned", None
