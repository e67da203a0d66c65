"""Ask the engine itself what a candidate will hold: its no-alloc dry run against stand-in workers. Moves no weight.

Every device, also one of the head's own, is asked about as a device of a stand-in worker of its card's kind: where
local GPUs and workers are mixed the real engine may differ by some MiB, which is not tested.

Two runs. The first, on the model as it is, is the engine's own figure; its compute buffers assume that every token of
a micro-batch is output (512 rows of logits). llama-server outputs one row per user, so the second run is made on the
same model with its vocabulary cut to `vocabulary x outputs / 512` rows: the same bytes of logits as the server's.
Less what only dry runs count on a boundary (`memory.boundary_bytes`), that is what llama-server allocates: checked
against llama-server on eighteen architectures cut to a few blocks: at most 6 % above it, nowhere 10 MiB below.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from evener.dialects import llama_flags as flags
from evener.dialects.llama_flags import EVERYTHING, Offload
from evener.dialects.llama_log import failure_of, read_fit
from evener.dialects.rpc_answers import PretendDevice, pretend
from evener.errors import EngineError
from evener.plan import memory
from evener.ports import Shell
from evener.records.plan import Candidate, Command, DevicePlan, DryRun, Workload
from evener.records.weights import Weights

MIB = 1 << 20
WITHIN_S = 20.0
ROOM_BYTES = 1 << 40  # a stand-in offers more than any model needs: the dry run answers how much, not whether
MOST_DEVICES = 15  # -ts takes no more values

Rows = Mapping[str, tuple[int, int, int]]  # device -> weights, context, compute in MiB


class StandIns(Protocol):
    """Workers of any size that hold nothing."""

    def serving(self, devices: Sequence[PretendDevice]) -> AbstractAsyncContextManager[str]:
        """Serve `devices`; the block gets the endpoint."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a dry run is made with. `full` and `short` are paths of header-only files (models.sparse)."""

    shell: Shell
    stand_ins: StandIns
    program: str
    full: str
    short: str


def short_rows(weights: Weights, workload: Workload) -> int:
    """Rows of the vocabulary for which 512 outputs take as many bytes as the server's few outputs of the whole."""
    return max(1, weights.vocabulary * memory.outputs(workload) // memory.UBATCH)


async def confirm(
    candidate: Candidate, weights: Weights, workload: Workload, asking: Asking, *, kinds: Mapping[str, str]
) -> Candidate:
    """The candidate with the engine's own figures, of each of its servers. `kinds` maps card ids to their kind.

    A candidate that fits nowhere comes back as it is, and so does one that drafts with its own MTP blocks:
    llama-fit-params knows no speculation. Raises EngineError when the engine refuses the model.
    """
    if not candidate.devices or memory.mtp_drafts(weights, workload):
        return candidate
    if len(candidate.servers) < 2:
        return await _confirm_one(candidate, weights, workload, asking, kinds)
    parts = [_replica(candidate, server, workload) for server in candidate.servers]
    each = await asyncio.gather(*(_confirm_one(one, weights, users, asking, kinds) for one, users in parts))
    return _together(candidate, each)


async def _confirm_one(
    candidate: Candidate, weights: Weights, workload: Workload, asking: Asking, kinds: Mapping[str, str]
) -> Candidate:
    on_devices = [device for device in candidate.devices if device.position >= 0]
    counts = [device.layers for device in on_devices]
    of_kind = [kinds.get(device.card, "cuda") for device in on_devices]
    full, short = await asyncio.gather(
        *(
            ask(asking, file, workload, counts=counts, kinds=of_kind, offload=offload_of(candidate))
            for file in (asking.full, asking.short)
        )
    )
    return confirmed(candidate, weights, workload, full, short)


def _replica(candidate: Candidate, server: Command, workload: Workload) -> tuple[Candidate, Workload]:
    """One server of several as a candidate of its own, with the users that it is for.

    All are asked with one short vocabulary, that of all users: a replica's few MiB of logits are a little too many.
    """
    devices = tuple(device for device in candidate.devices if device.host == server.host)
    own = replace(candidate, servers=(server,), devices=devices)
    return own, served_by(server, workload)


def served_by(server: Command, workload: Workload) -> Workload:
    """The workload of one server: of several, each has some of the users."""
    return replace(workload, users=int(dict(pairwise(server.argv)).get("-np", workload.users)))


def _together(candidate: Candidate, each: Sequence[Candidate]) -> Candidate:
    """The replicas' figures in one candidate; it fits where all of them do."""
    short = max(each, key=lambda one: one.short_bytes)
    return replace(
        candidate,
        devices=tuple(device for one in each for device in one.devices),
        host_bytes={host: size for one in each for host, size in one.host_bytes.items()},
        host_dry_run={host: dry for one in each for host, dry in one.host_dry_run.items()},
        fits=short.fits,
        short_bytes=short.short_bytes,
        why_not=short.why_not,
    )


def offload_of(candidate: Candidate) -> Offload:
    """What the candidate's server gives to its devices."""
    argv = candidate.servers[0].argv if candidate.servers else ()
    given = dict(pairwise(argv))
    slots = int(given.get("-ngl", 999))
    in_part = 0 < slots < 999
    overridden = any(flag in argv for flag in ("-ot", "--override-tensor", "-cmoe", "-ncmoe"))
    return Offload(
        slots=slots if in_part else None,
        experts_in_ram=int(given.get("-ncmoe", "-cmoe" in argv)),
        all_experts_in_ram="-cmoe" in argv,
        copies=len(candidate.devices) > 1 and not overridden and not in_part,
    )


async def ask(
    asking: Asking,
    model: str,
    workload: Workload,
    *,
    counts: Sequence[int],
    kinds: Sequence[str],
    offload: Offload = EVERYTHING,
) -> Rows:
    """One dry run: what each device, in order, and the host would hold. Raises EngineError, HostError."""
    if list(kinds) == ["cpu"]:
        return await _run(asking, model, workload, endpoint=None, counts=counts, offload=EVERYTHING)
    devices = [pretend(kind, ROOM_BYTES, ROOM_BYTES) for kind in kinds]
    async with asking.stand_ins.serving(devices) as endpoint:
        return await _run(asking, model, workload, endpoint=endpoint, counts=counts, offload=offload)


async def _run(
    asking: Asking, model: str, workload: Workload, *, endpoint: str | None, counts: Sequence[int], offload: Offload
) -> Rows:
    argv = flags.dry_run_argv(
        asking.program, model, workload=workload, endpoint=endpoint, counts=counts, offload=offload
    )
    done = await asking.shell.run(argv, within_s=WITHIN_S, env=flags.ENGINE_ENVIRONMENT)
    rows = read_fit(done.stdout)
    if done.code or "Host" not in rows:
        why = failure_of(done.stderr.splitlines()) or f"exit code {done.code}"
        raise EngineError(f"the engine's dry run failed: {why}", hint="plan without --exact; the fit is an estimate")
    return rows


def confirmed(candidate: Candidate, weights: Weights, workload: Workload, full: Rows, short: Rows) -> Candidate:
    """The candidate with both runs' figures in its devices. One that outgrows what its card offers does not fit."""
    devices = tuple(_devices(candidate, weights, workload, full, short))
    return within_room(_with_ram(replace(candidate, devices=devices), weights, workload, full, short))


def within_room(candidate: Candidate) -> Candidate:
    """The candidate as it is where every card has room for what it is given, else one that does not fit, and why."""
    worst = max(candidate.devices, key=_over)
    if (short_bytes := _over(worst)) <= 0:
        return candidate
    why = f"by the engine's own dry run {worst.host}/{worst.card_name} would be {-(-short_bytes // MIB)} MiB over"
    return replace(candidate, fits=False, short_bytes=short_bytes, why_not=why)


def _over(device: DevicePlan) -> int:
    """Bytes beyond what the rig's rules let a plan use of the card; beyond its free memory where no rule is known.

    What is left to the CPU beside cards is RAM, which plan/ram.py has compared with what the host has.
    """
    if device.position < 0:
        return 0
    room = device.free_bytes if device.offered_bytes is None else device.offered_bytes
    return 0 if room is None else device.total_bytes - room


def _devices(
    candidate: Candidate, weights: Weights, workload: Workload, full: Rows, short: Rows
) -> Iterator[DevicePlan]:
    offload = offload_of(candidate)
    for device in candidate.devices:
        on_host, left_to_cpu = f"RPC{device.position}" not in full, device.position < 0
        name = "Host" if on_host else f"RPC{device.position}"
        held, kv, compute = (mib * MIB for mib in full[name])
        if on_host:  # the embedding, which we count as the host's where it is not the head's too
            held -= (weights.host_bytes - (0 if left_to_cpu else weights.tied_bytes)) // MIB * MIB
        beside = 0 if device.position else _copied(weights, offload)
        boundary = memory.boundary_bytes(weights, position=device.position, piped=offload.copies)
        # layers beside cards have no compute buffer of their own: theirs is the host's
        allocated = 0 if left_to_cpu else max(0, short[name][2] * MIB - boundary) + beside
        dry = DryRun(weights_bytes=held, kv_bytes=kv, compute_bytes=0 if left_to_cpu else compute)
        done = _with(device, dry, compute_bytes=allocated, pooled=workload.unified)
        yield replace(done, compute_estimated=beside > 0)


def _copied(weights: Weights, offload: Offload) -> int:
    """What the first card copies from RAM for a prompt: a stand-in copies nothing, so no dry run shows it."""
    return memory.offloaded_bytes(
        weights,
        experts_in_ram=weights.layers if offload.all_experts_in_ram else offload.experts_in_ram,
        layers_in_ram=0 if offload.slots is None else weights.layers + 1 - offload.slots,
    )


def _with_ram(candidate: Candidate, weights: Weights, workload: Workload, full: Rows, short: Rows) -> Candidate:
    """The head's RAM with the engine's figures: what it holds beside its cards, and one compute buffer."""
    head = candidate.servers[0].host if candidate.servers else None
    if head not in candidate.host_bytes or "RPC0" not in full:
        return candidate
    held, kv, compute = (mib * MIB for mib in full["Host"])
    on_cpu = [device for device in candidate.devices if device.position < 0]
    held -= sum(device.dry_run.weights_bytes for device in on_cpu if device.dry_run)
    kv -= sum(device.dry_run.kv_bytes for device in on_cpu if device.dry_run)
    offload, devices = offload_of(candidate), len(candidate.devices) - len(on_cpu)
    blocks = weights.layers if offload.all_experts_in_ram else offload.experts_in_ram
    ours = weights.host_bytes + sum(weights.slot_expert_bytes[:blocks])
    at_work = bool(offload.experts_in_ram or offload.slots)
    estimated = memory.host_compute_bytes(weights, workload, devices=devices, copies=offload.copies, at_work=at_work)
    size = candidate.host_bytes[head] - ours - estimated + nearer(ours, held) + short["Host"][2] * MIB
    dry = DryRun(weights_bytes=held, kv_bytes=kv, compute_bytes=compute)
    return replace(
        candidate,
        host_bytes=candidate.host_bytes | {head: size},
        host_dry_run=candidate.host_dry_run | {head: dry},
    )


def _with(device: DevicePlan, dry: DryRun, *, compute_bytes: int, pooled: bool) -> DevicePlan:
    """Where the engine and our closed forms differ by more than rounding, the engine is right.

    But not about a pool's cache, which the dry run has to ask for as one sequence.
    """
    kv = device.kv_bytes if pooled else nearer(device.kv_bytes, dry.kv_bytes)
    held = nearer(device.weights_bytes, dry.weights_bytes)
    return replace(
        device,
        weights_bytes=held,
        kv_bytes=kv,
        compute_bytes=compute_bytes,
        total_bytes=held + kv + compute_bytes + device.overhead_bytes + device.projector_bytes + device.draft_bytes,
        dry_run=dry,
    )


def nearer(ours: int, engines: int) -> int:
    """Ours to the byte where it rounds to the engine's MiB."""
    return ours if abs(ours // MIB - engines // MIB) <= 1 else engines


async def measured_caches(weights: Weights, workload: Workload, asking: Asking) -> tuple[int, ...]:
    """Cache bytes per slot for an architecture without a closed form, to the MiB in sum: a few dry runs.

    Each gives one slot to each of thirteen devices, and the others to one before and one behind. The engine cuts each
    figure down to a MiB: what that takes away is given back in equal parts.
    """
    slots, whole_model = weights.layers + 1, Offload(copies=False)
    found: list[int] = []
    while len(found) < slots:
        single = min(MOST_DEVICES - 2, slots - len(found))
        rest = [len(found), *(1,) * single, slots - len(found) - single]
        rows = await ask(asking, asking.short, workload, counts=rest, kinds=["cuda"] * len(rest), offload=whole_model)
        found += [rows[f"RPC{1 + i}"][1] * MIB for i in range(single)]
    whole = await ask(asking, asking.short, workload, counts=[slots], kinds=["cuda"])
    holding = sum(size > 0 for size in found)
    lost = max(0, whole["RPC0"][1] * MIB - sum(found)) // holding if holding else 0
    return tuple(size + lost if size else 0 for size in found)
