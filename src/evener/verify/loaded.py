"""Compare promised and measured memory, card by card, after a load. Pure.

Thresholds: a card is "under" when less than its weights and caches (less 2 %) can be found there, and "over" when more
than its planned total and `slack` is: 5 % of the total, at least 64 MiB. The total has room for a projector and a draft
model where these are on the card. A planned device that the engine does not use, or that holds another number of slots,
is "missing" whatever the memory says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evener.records.card import Scan
from evener.records.deployment import Loaded, Process, UsedDevice
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
    return tuple(_check(candidate, device, loaded, during, processes) for device in candidate.devices)


def _check(
    candidate: Candidate, plan: DevicePlan, loaded: Loaded, during: Scan, processes: Sequence[Process]
) -> CardCheck:
    on_host = plan.device in HOST_DEVICES
    used = next((d for d in loaded.devices if d.name == plan.device), None)
    seen = loaded.layers.get(plan.device, 0)
    reported = loaded.bytes_on("host" if on_host else plan.device) if used or on_host else None
    measured = held_bytes(plan, during, processes)
    floor = int((plan.weights_bytes + plan.kv_bytes) * FLOOR)
    # The CPU as a device shares its memory with what the head holds anyway: inputs, logits, a draft model.
    beside = candidate.host_bytes.get(plan.host, 0) if on_host else 0
    ceiling = plan.total_bytes + beside + max(LEAST_SLACK_BYTES, int(plan.total_bytes * SLACK))
    if used is None and not on_host:
        verdict, why = _missing(f"the engine does not use {plan.device}")
    elif seen != plan.layers:
        verdict, why = _missing(f"{seen} of {plan.layers} planned layers are there")
    elif elsewhere := _elsewhere(plan, used, during, processes):
        verdict, why = _missing(elsewhere)
    else:
        verdict, why = _memory_verdict(plan, reported, measured, floor, ceiling)
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


def _missing(why: str) -> tuple[CardVerdict, str | None]:
    return "missing", why


def _elsewhere(plan: DevicePlan, used: UsedDevice | None, during: Scan, processes: Iterable[Process]) -> str | None:
    """Why the device is another card than planned: by its bus id, or since our process holds memory only elsewhere."""
    host = during.host(plan.host)
    card = host.card(plan.card) if host else None
    if host is None or card is None:
        return None
    if used and used.bus_id and card.bus_id and _bus(used.bus_id) != _bus(card.bus_id):
        return f"the engine's {plan.device} is the card at {used.bus_id}, not {card.bus_id}"
    pids = _serving_pids(plan, processes)
    if card.holders is None or any(h.pid in pids for h in card.holders):
        return None
    other = next((c for c in host.cards if c.kind != "cpu" and any(h.pid in pids for h in c.holders or ())), None)
    return f"our process holds memory on {other.name} ({other.id}) instead" if other and card.kind != "cpu" else None


def _bus(bus_id: str) -> str:
    """The driver writes an eight-digit domain, the engine a four-digit one."""
    return bus_id.lower()[-12:]


def _serving_pids(plan: DevicePlan, processes: Iterable[Process]) -> set[int]:
    serving = "worker" if plan.device.startswith("RPC") else "head"
    return {p.pid for p in processes if p.host == plan.host and p.role == serving}


def held_bytes(plan: DevicePlan, during: Scan, processes: Iterable[Process]) -> int | None:
    """What our processes of the plan's host hold on its card, None where nobody could look."""
    host = during.host(plan.host)
    card = host.card(plan.card) if host else None
    if card is None or card.holders is None:
        return None
    pids = _serving_pids(plan, processes)
    held = [h.bytes for h in card.holders if h.pid in pids]
    known = [b for b in held if b is not None]
    return sum(known) if held and len(known) == len(held) else None


def _memory_verdict(
    plan: DevicePlan, reported: int | None, measured: int | None, floor: int, ceiling: int
) -> tuple[CardVerdict, str | None]:
    known = [figure for figure in (reported, measured) if figure is not None]
    if any(figure > ceiling for figure in known):
        return "over", f"{max(known) - plan.total_bytes >> 20} MiB more than planned"
    if any(figure < floor for figure in known):
        return "under", f"{floor - min(known) >> 20} MiB less than its weights and caches"
    if measured is None:
        return "unknown", "the driver does not say what the process holds"
    return "as planned", None
