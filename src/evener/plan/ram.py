"""What a candidate takes of its hosts' RAM, and where that is too much. Pure; bytes throughout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evener.plan import memory
from evener.plan.placing import Chain, Placed
from evener.plan.runs import Load
from evener.plan.words import gib
from evener.records.card import Scan
from evener.records.plan import Candidate, DevicePlan


def ram_bytes(host: str, chain: Chain, done: Placed) -> int:
    """RAM beside the cards of a host. Each of its workers buffers one tensor; the head has what it computes itself."""
    weights, workload = done.load.weights, done.load.workload
    if host != chain.head:
        workers = {seat.worker for seat, _ in done.parts if seat.host.name == host}
        return len(workers) * memory.worker_host_bytes(weights)
    experts = sum(done.load.expert_bytes[: done.load.experts_in_ram])
    alone = [seat.card.kind for seat, _ in done.parts] == ["cpu"] and not chain.served
    beside = memory.beside_host_bytes(weights, workload, on_card=done.load.beside_on is not None)
    return experts + beside + memory.host_bytes(
        weights, workload, devices=len(done.parts), copies=done.load.copies, alone=alone,
        at_work=bool(done.load.experts_in_ram or done.load.begin),
    )  # fmt: skip


def short_of_ram(host_bytes: Mapping[str, int], devices: Sequence[DevicePlan], scan: Scan) -> tuple[int, str | None]:
    """How much is missing on the first host that has too little, and the reason in a line."""
    for name in host_bytes:
        needed_bytes, available = _ram(name, host_bytes, devices, scan)
        if available is not None and needed_bytes > available:
            why = f"{name} needs {gib(needed_bytes)} of RAM beside its cards and has {gib(available)} available"
            return needed_bytes - available, why
    return 0, None


def within_ram(candidate: Candidate, scan: Scan) -> Candidate:
    """The candidate as it is where its hosts have the RAM that it takes by now, else one that does not fit, and why."""
    short_bytes, why = short_of_ram(candidate.host_bytes, candidate.devices, scan)
    if why is None or not candidate.fits:
        return candidate
    return replace(candidate, fits=False, short_bytes=short_bytes, why_not=f"by the engine's own dry run {why}")


def _ram(
    name: str, host_bytes: Mapping[str, int], devices: Sequence[DevicePlan], scan: Scan
) -> tuple[int, int | None]:  # fmt: skip
    """What a host needs beside its cards, and what is available there."""
    seen = scan.host(name)
    processors = {card.id for card in seen.cards if card.kind == "cpu"} if seen else set()
    on_cpu = sum(d.total_bytes for d in devices if d.host == name and (d.position < 0 or d.card in processors))
    return host_bytes[name] + on_cpu, seen.memory_available_bytes if seen else None


def checkpoint_warnings(
    head: str, load: Load, host_bytes: Mapping[str, int], devices: Sequence[DevicePlan], scan: Scan
) -> Iterator[str]:
    """Where long conversations would outgrow the head's RAM: how many checkpoints a slot may keep."""
    most = memory.checkpoint_bytes(load.weights, load.workload)
    needed_bytes, available = _ram(head, host_bytes, devices, scan)
    if not most or available is None or needed_bytes + most <= available:
        return
    left = available - needed_bytes
    kept = left * memory.checkpoints(load.workload) // most
    yield (
        f"full contexts may take {gib(most)} of RAM for checkpoints and {gib(left)} are left on {head}; "
        f"-ctxcp {kept} keeps fewer"
    )
