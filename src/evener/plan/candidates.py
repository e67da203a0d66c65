"""Candidates and the verdict: the single machine first, then the cluster. Pure: rig, scan and model in, Plan out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evener.plan import layers, memory
from evener.plan.commands import Tools, commands
from evener.plan.seats import Seat, Used, names_at_head, seats_of
from evener.plan.verdict import gib, verdict_for
from evener.records.card import Scan
from evener.records.plan import Candidate, CandidateKind, DevicePlan, ModelSummary, Plan, Workload
from evener.records.rig import Rig
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a plan depends on."""

    rig: Rig
    scan: Scan
    weights: Weights
    workload: Workload
    tools: Tools


def make_plan(question: Question, *, layout: str = "auto") -> Plan:
    """All candidates (each card, each host, the cluster) and the verdict for `layout`.

    `layout` is "auto", a host's name, "cluster", or any candidate's name. Raises NameUnknown for any other, and
    ModelError where the model's cache is not known.
    """
    candidates = tuple(_candidates(question))
    return Plan(
        model=_summary(question.weights),
        workload=question.workload,
        verdict=verdict_for(candidates, question.weights, question.workload, layout),
        candidates=candidates,
    )


def _summary(weights: Weights) -> ModelSummary:
    return ModelSummary(
        name=weights.name,
        architecture=weights.architecture,
        quantisation=weights.quantisation,
        file_bytes=weights.file_bytes,
        layers=weights.layers,
        parameters=weights.parameters,
        active_parameters=weights.active_parameters,
        context_train=weights.context_train,
    )


def _candidates(question: Question) -> Iterator[Candidate]:
    seats = {host.name: seats_of(host, question.scan) for host in question.rig.hosts}
    for host, mine in seats.items():
        if mine and mine[0].endpoint:
            continue  # llama-server cannot be started there
        if len(mine) > 1:
            for seat in sorted(mine, key=lambda s: -s.offered_bytes):
                yield _candidate(f"{host}/{seat.device}", "card", [seat], question)
        if mine:
            yield _candidate(host, "host", mine, question)
    with_cards = [host for host, mine in seats.items() if mine]
    if len(with_cards) > 1 and not seats[with_cards[0]][0].endpoint:
        # The head's cards come last: they own the output head, so logits do not cross the link.
        ordered = [*with_cards[1:], with_cards[0]]
        yield _candidate("cluster", "cluster", [s for host in ordered for s in seats[host]], question)


def _candidate(name: str, kind: CandidateKind, seats: Sequence[Seat], question: Question) -> Candidate:
    weights, workload = question.weights, question.workload
    caches = memory.cache_bytes(weights, workload)
    slots = [held + cache for held, cache in zip(memory.held_bytes(weights), caches, strict=True)]
    beside = [_beside(seat, i, len(seats), question) for i, seat in enumerate(seats)]
    rooms = [max(0, s.offered_bytes - compute - overhead) for s, (compute, overhead) in zip(seats, beside, strict=True)]
    counts = layers.fill(slots, rooms)
    hosts = tuple(h.name for h in question.rig.hosts if any(s.host.name == h.name for s in seats))
    host_bytes = {host: _ram_bytes(host, seats, question) for host in hosts}
    short_bytes, why_not = _short_of_ram(host_bytes, question.scan)
    if counts is None:
        short_bytes, why_not = max(1, sum(slots) - sum(rooms)), _short_sentence(seats, slots, rooms)
    why_not = why_not or _no_copy(seats[-1].host.name, question)
    if counts is None or why_not:
        return Candidate(
            name=name, kind=kind, hosts=hosts, fits=False, short_bytes=short_bytes, devices=(),
            host_bytes=host_bytes, servers=(), workers=(), why_not=why_not,
        )  # fmt: skip
    used = [
        Used(seat=seat, slots=count, compute_bytes=compute, overhead_bytes=overhead)
        for seat, count, (compute, overhead) in zip(seats, counts, beside, strict=True)
        if count  # a device without a slot would still cost buffers and a connection
    ]
    workers, server = commands(
        used, weights, workload, head=seats[-1].host, serve=question.rig.serve, tools=question.tools
    )
    devices = tuple(_devices(used, weights, caches, server.host))
    return Candidate(
        name=name, kind=kind, hosts=hosts, fits=True, short_bytes=0, devices=devices,
        host_bytes=host_bytes, servers=(server,), workers=workers,
    )  # fmt: skip


def _beside(seat: Seat, position: int, devices: int, question: Question) -> tuple[int, int]:
    """(compute, overhead) of one card, in bytes."""
    compute = memory.compute_bytes(question.weights, question.workload, devices=devices, position=position)
    return compute, memory.OVERHEAD_BYTES.get(seat.card.kind, 0)


def _ram_bytes(host: str, seats: Sequence[Seat], question: Question) -> int:
    if host == seats[-1].host.name:
        return memory.host_bytes(question.weights, question.workload)
    return memory.worker_host_bytes(question.weights)


def _short_of_ram(host_bytes: Mapping[str, int], scan: Scan) -> tuple[int, str | None]:
    for name, needed in host_bytes.items():
        seen = scan.host(name)
        available = seen.memory_available_bytes if seen else None
        if available is not None and needed > available:
            why = f"{name} needs {gib(needed)} of RAM beside its cards and has {gib(available)} available"
            return needed - available, why
    return 0, None


def _no_copy(host: str, question: Question) -> str | None:
    """Why llama-server cannot be started on a far host: workers get the model over the cable, a server reads it."""
    if question.tools.models.get(host, "") is not None:
        return None
    model = shlex.quote(question.weights.paths[0])
    return f"{host} has no copy of the model; evener models push {model} {host} brings it there"


def _short_sentence(seats: Sequence[Seat], slots: Sequence[int], rooms: Sequence[int]) -> str:
    offered = sum(s.offered_bytes for s in seats)
    needed = sum(slots) + offered - sum(rooms)
    if needed > offered:
        who = f"{seats[0].host.name}/{seats[0].device} offers" if len(seats) == 1 else f"its {len(seats)} cards offer"
        return f"needs {gib(needed)} but {who} {gib(offered)}"
    return f"{gib(needed)} would fit the sum of the cards, but no cut between layers fits each of them"


def _devices(used: Sequence[Used], weights: Weights, caches: Sequence[int], head: str) -> Iterator[DevicePlan]:
    names = names_at_head([u.seat for u in used], head)
    start = 0
    for position, one in enumerate(used):
        mine = slice(start, start + one.slots)
        start += one.slots
        held, kv = sum(memory.held_bytes(weights)[mine]), sum(caches[mine])
        yield DevicePlan(
            host=one.seat.host.name,
            card=one.seat.card.id,
            card_name=one.seat.card.name,
            device=names[position],
            position=position,
            layers=one.slots,
            weights_bytes=held,
            kv_bytes=kv,
            compute_bytes=one.compute_bytes,
            overhead_bytes=one.overhead_bytes,
            total_bytes=held + kv + one.compute_bytes + one.overhead_bytes,
            free_bytes=one.seat.card.free_bytes,
            offered_bytes=one.seat.offered_bytes,
        )
