"""Candidates, complete: what each device holds, RAM beside it, predicted speed, command lines, or why not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from evener.plan import copies, memory, ram, reach
from evener.plan.commands import bench_command, commands
from evener.plan.placing import Chain, Placed, besides, context_held, needed, placed, shortage, stages
from evener.plan.question import Question
from evener.plan.routes import route
from evener.plan.runs import Load
from evener.plan.seats import Seat, Used, names_at_head, speed_of
from evener.plan.speed import predict
from evener.plan.speed_stage import Stage
from evener.plan.words import gib
from evener.records.card import Card, Scan
from evener.records.plan import Candidate, CandidateKind, DevicePlan, Predicted
from evener.records.rig import Host

MOST_STRIDE_BYTES = 1 << 32


def built(name: str, kind: CandidateKind, chain: Chain, load: Load, question: Question) -> Candidate:
    """The candidate that uses the seats of `chain` best, or why it does not fit."""
    done = placed(chain, load)
    if done is not None:
        return built_as(name, kind, chain, done, question)
    short = shortage(chain, load)
    return refused(name, kind, chain.hosts, short_bytes=short.bytes, why=_why(chain, load))


def built_as(name: str, kind: CandidateKind, chain: Chain, done: Placed, question: Question) -> Candidate:
    """The candidate of a cut that somebody has chosen."""
    most_free = replace(done.load, spare=0.0)
    over = [(needed(done.load, seat, a, b) - most_free.room_bytes(seat), seat) for seat, a, b in done.runs()]
    most, worst = max(over, key=lambda pair: pair[0])
    if most > 0:
        why = f"{worst.name} ({worst.card.name}) would be {gib(most)} over"
        return refused(name, kind, chain.hosts, short_bytes=most, why=why)
    held = {seat.host.name for seat, _ in done.parts} | {chain.head}
    hosts = tuple(host.name for host in question.rig.hosts if host.name in held)
    host_bytes = {host: ram.ram_bytes(host, chain, done) for host in hosts}
    devices = tuple(_devices(chain, done, question.scan))
    short_bytes, why_not = ram.short_of_ram(host_bytes, devices, question.scan)
    if why_not := why_not or reach.why_not(chain.head, done, question):
        return replace(refused(name, kind, hosts, short_bytes=short_bytes, why=why_not), host_bytes=host_bytes)
    used = [
        Used(seat=seat, slots=b - a, compute_bytes=done.load.compute_bytes(a, b), overhead_bytes=seat.overhead_bytes)
        for seat, a, b in done.runs()
    ]
    host = question.rig.host(chain.head) or done.parts[-1][0].host
    written = commands(
        used, done.load.weights, done.load.workload, head=host, serve=question.rig.serve, tools=question.tools,
        routes={one.name: route(host, one, question.rig, question.scan) for one in question.rig.hosts},
        experts_in_ram=done.load.experts_in_ram, begin=done.load.begin, copies=done.load.copies,
        is_first=host == question.rig.head, beside_on=done.load.beside_on,
    )  # fmt: skip
    return Candidate(
        name=name, kind=kind, hosts=hosts, fits=True, short_bytes=0, devices=devices, host_bytes=host_bytes,
        servers=(written.server,), workers=written.workers, tunnels=written.tunnels,
        predicted=predicted_of(chain, done, question), bench=(bench_command(written.server, done.load.workload),),
        marginal=not done.load.spare,
        longest_context=context_held(done) if done.load.workload.aim == "context" else None,
        warnings=(
            *ram.checkpoint_warnings(chain.head, done.load, host_bytes, devices, question.scan),
            *_beside_warnings(host, done.load, question),
            *_stride_warnings(chain, done),
        ),
    )  # fmt: skip


def built_experts_in_ram(chain: Chain, load: Load, question: Question) -> Candidate | None:
    """A host's cards with the experts of as few blocks as possible in its RAM; None for a model without any."""
    blocks = [block for block, size in enumerate(load.expert_bytes) if size]
    if not blocks:
        return None
    name = f"{chain.head}-experts-in-ram"
    done = _least(1, blocks[-1] + 1, lambda n: placed(chain, replace(load, experts_in_ram=n, copies=False)))
    if done is None:
        everything = replace(load, experts_in_ram=blocks[-1] + 1, copies=False)
        short = shortage(chain, everything)
        why = f"even with all experts in RAM, {_why(chain, everything)}"
        return refused(name, "experts-in-ram", (chain.head,), short_bytes=short.bytes, why=why)
    return built_as(name, "experts-in-ram", chain, done, question)


def built_partial(chain: Chain, load: Load, question: Question) -> Candidate | None:
    """A host's cards with as few of the first blocks as possible left to its CPU; None where that is most of them."""
    done = _least(1, load.slots // 2, lambda n: placed(chain, replace(load, begin=n, copies=False)))
    if done is None:
        return None
    return built_as(f"{chain.head}-partial-offload", "partial-offload", chain, done, question)


def _least(low: int, high: int, found: Callable[[int], Placed | None]) -> Placed | None:
    """What the smallest number gives that gives anything: more of it always fits too."""
    if (best := found(high)) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        if (one := found(middle)) is None:
            low = middle + 1
        else:
            best, high = one, middle
    return best


def refused(
    name: str, kind: CandidateKind, hosts: Sequence[str], *, short_bytes: int, why: str
) -> Candidate:  # fmt: skip
    return Candidate(
        name=name, kind=kind, hosts=tuple(hosts), fits=False, short_bytes=short_bytes, devices=(), host_bytes={},
        servers=(), workers=(), why_not=why,
    )  # fmt: skip


def _why(chain: Chain, load: Load) -> str:
    """Which card is short, and by how much."""
    short, seats = shortage(chain, load), chain.seats
    offered = sum(seat.offered_bytes for seat in seats)
    beside = sum(seat.overhead_bytes for seat in seats) + len(seats) * load.compute_bytes(load.begin, load.slots)
    beside += sum(next(besides(chain, load)).beside_bytes(seat) for seat in seats)
    who = f"{seats[0].name} offers" if len(seats) == 1 else f"its {len(seats)} cards offer"
    sentence = f"needs {gib(short.needs_bytes + beside)} but {who} {gib(offered)}"
    if short.needs_bytes + beside <= offered:
        sentence = f"{gib(short.needs_bytes + beside)} would fit the sum of the cards, but no cut between layers does"
    if len(seats) == 1:
        return f"{sentence}: {gib(short.bytes)} short"
    return f"{sentence}: with the others full, {short.seat.name} ({short.seat.card.name}) is {gib(short.bytes)} over"


# ---- devices


def _devices(chain: Chain, done: Placed, scan: Scan) -> Iterator[DevicePlan]:
    load = done.load
    if load.begin:
        yield _left_to_cpu(chain.head, load, scan)
    names = names_at_head([seat for seat, _ in done.parts], chain.head)
    for position, (seat, a, b) in enumerate(done.runs()):
        held = _device(
            seat.host.name, seat.card, load, a, b, device=names[position], position=position,
            compute=load.compute_bytes(a, b), overhead=seat.overhead_bytes, offered=seat.offered_bytes,
        )  # fmt: skip
        yield _with_beside(held, seat, load)


def _with_beside(device: DevicePlan, seat: Seat, load: Load) -> DevicePlan:
    """The device with the projector and the draft model that stand on it."""
    if not (beside := load.beside_bytes(seat)):
        return device
    seeing, projector = memory.projector_bytes(load.weights), load.weights.projector
    return replace(
        device,
        projector_bytes=seeing,
        projector_dry_run_bytes=projector.dry_run_bytes if projector else None,
        draft_bytes=beside - seeing,
        total_bytes=device.total_bytes + beside,
    )


def _beside_warnings(head: Host, load: Load, question: Question) -> Iterator[str]:
    """What is different where the files beside the model are."""
    for what, path in reach.beside_files(load.weights).items():
        if load.beside_on is None:
            yield f"the {what} is on {head.name}'s processor: {head.name} has no card of its own in this layout"
        if head != question.rig.head and (head.name, path) not in question.tools.beside:
            yield f"the {what} must be on {head.name} too, at {path}"


def _stride_warnings(chain: Chain, done: Placed) -> Iterator[str]:
    """Where a cache on a worker is larger than RPC can address (ggml-rpc.cpp: rpc_tensor.nb; read, never tried)."""
    stride = memory.longest_stride_bytes(done.load.weights, done.load.workload)
    if stride >= MOST_STRIDE_BYTES and any(seat.host.name in chain.served for seat, _ in done.parts):
        yield (
            f"a layer's cache of one user takes {gib(stride)} and RPC counts it in 32 bits: answers may be wrong from "
            f"{gib(MOST_STRIDE_BYTES)} on; take a shorter context or --kv q8_0"
        )


def _left_to_cpu(host: str, load: Load, scan: Scan) -> DevicePlan:
    card = _cpu_of(host, scan) or Card(id="cpu", kind="cpu", name="CPU")
    return _device(host, card, load, 0, load.begin, device="CPU", position=-1, compute=0, overhead=0,
                   offered=card.offered_bytes)  # fmt: skip


def _device(
    host: str, card: Card, load: Load, start: int, stop: int, *, device: str, position: int, compute: int,
    overhead: int, offered: int | None,
) -> DevicePlan:  # fmt: skip
    held, kv = sum(load.held(card.kind)[start:stop]), sum(load.caches[start:stop])
    return DevicePlan(
        host=host, card=card.id, card_name=card.name, device=device, position=position, layers=stop - start,
        weights_bytes=held, kv_bytes=kv, compute_bytes=compute, overhead_bytes=overhead,
        total_bytes=held + kv + compute + overhead, free_bytes=card.free_bytes, offered_bytes=offered,
    )  # fmt: skip


def _cpu_of(host: str, scan: Scan) -> Card | None:
    seen = scan.host(host)
    return next((c for c in seen.cards if c.kind == "cpu"), None) if seen else None


# ---- speed


def predicted_of(chain: Chain, done: Placed, question: Question) -> Predicted | None:
    """How fast a cut will be. None where the speed of a device is not known."""
    load = done.load
    passed = [*_in_ram(chain, load, question), *stages(chain, done)]
    served = [seat.host.name in chain.served for seat, _ in done.parts]
    overlap = load.build.prompts_overlap and copies.overlap(served, copies=load.copies)
    build = replace(load.build, prompts_overlap=overlap)
    found = predict(passed, load.weights, load.workload, depth=load.depth, build=build)
    return None if found.decode_tokens_per_s is None else found


def _in_ram(chain: Chain, load: Load, question: Question) -> Iterator[Stage]:
    """What the head's CPU does: the first blocks, or the experts of these."""
    card = _cpu_of(chain.head, question.scan)
    speed = speed_of(chain.head, card, question.measured) if card else None
    if load.begin:
        yield Stage(host=chain.head, card="CPU", speed=speed, start=0, count=load.begin)
    if load.experts_in_ram:
        yield Stage(host=chain.head, card="CPU", speed=speed, start=0, count=load.experts_in_ram, part="experts")
