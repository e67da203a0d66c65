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
from typing import Protocol

from evener.dialects import llama_flags as flags
from evener.dialects.llama_log import failure_of, read_fit
from evener.dialects.rpc_answers import PretendDevice, pretend
from evener.errors import EngineError
from evener.plan import memory
from evener.ports import Shell
from evener.records.plan import Candidate, DevicePlan, DryRun, Workload
from evener.records.weights import Weights

MIB = 1 << 20
WITHIN_S = 20.0
ROOM_BYTES = 1 << 40  # a stand-in offers more than any model needs: the dry run answers how much, not whether
MOST_DEVICES = 15  # -ts takes no more values

# A stand-in copies nothing from RAM to its cards, and replicas are several servers.
NOT_ASKED = ("experts-in-ram", "partial-offload", "replicas")

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
    """The candidate with the engine's own figures. `kinds` maps card ids to their kind.

    A candidate that fits nowhere comes back as it is, and so does one that drafts: llama-fit-params knows no
    speculation. Raises EngineError when the engine refuses the model.
    """
    if not candidate.devices or workload.drafts or candidate.kind in NOT_ASKED:
        return candidate
    counts = [device.layers for device in candidate.devices]
    of_kind = [kinds.get(device.card, "cuda") for device in candidate.devices]
    full, short = await asyncio.gather(
        ask(asking, asking.full, workload, counts=counts, kinds=of_kind, copies=has_copies(candidate)),
        ask(asking, asking.short, workload, counts=counts, kinds=of_kind, copies=has_copies(candidate)),
    )
    return confirmed(candidate, weights, workload, full, short)


def has_copies(candidate: Candidate) -> bool:
    """Whether the candidate's server keeps pipeline copies: several devices, and no tensor override."""
    argv = candidate.servers[0].argv if candidate.servers else ()
    return len(candidate.devices) > 1 and "-ot" not in argv and "--override-tensor" not in argv


async def ask(
    asking: Asking,
    model: str,
    workload: Workload,
    *,
    counts: Sequence[int],
    kinds: Sequence[str],
    copies: bool = True,
) -> Rows:
    """One dry run: what each device, in order, and the host would hold. Raises EngineError, HostError."""
    if list(kinds) == ["cpu"]:
        return await _run(asking, model, workload, endpoint=None, counts=counts, copies=True)
    devices = [pretend(kind, ROOM_BYTES, ROOM_BYTES) for kind in kinds]
    async with asking.stand_ins.serving(devices) as endpoint:
        return await _run(asking, model, workload, endpoint=endpoint, counts=counts, copies=copies)


async def _run(
    asking: Asking, model: str, workload: Workload, *, endpoint: str | None, counts: Sequence[int], copies: bool
) -> Rows:
    argv = flags.dry_run_argv(asking.program, model, workload=workload, endpoint=endpoint, counts=counts, copies=copies)
    done = await asking.shell.run(argv, within_s=WITHIN_S, env=flags.ENGINE_ENVIRONMENT)
    rows = read_fit(done.stdout)
    if done.code or "Host" not in rows:
        why = failure_of(done.stderr.splitlines()) or f"exit code {done.code}"
        raise EngineError(f"the engine's dry run failed: {why}", hint="plan without --exact; the fit is an estimate")
    return rows


def confirmed(candidate: Candidate, weights: Weights, workload: Workload, full: Rows, short: Rows) -> Candidate:
    """The candidate with both runs' figures in its devices. One that outgrows what its card offers does not fit."""
    devices = tuple(_devices(candidate, weights, workload, full, short))
    worst = max(devices, key=_over)
    if (short_bytes := _over(worst)) <= 0:
        return replace(candidate, devices=devices)
    why = f"by the engine's own dry run {worst.host}/{worst.card_name} would be {-(-short_bytes // MIB)} MiB over"
    return replace(candidate, devices=devices, fits=False, short_bytes=short_bytes, why_not=why)


def _over(device: DevicePlan) -> int:
    """Bytes beyond what the rig's rules let a plan use of the card; beyond its free memory where no rule is known."""
    room = device.free_bytes if device.offered_bytes is None else device.offered_bytes
    return 0 if room is None else device.total_bytes - room


def _devices(
    candidate: Candidate, weights: Weights, workload: Workload, full: Rows, short: Rows
) -> Iterator[DevicePlan]:
    piped = has_copies(candidate)
    for position, device in enumerate(candidate.devices):
        on_host = f"RPC{position}" not in full
        name = "Host" if on_host else f"RPC{position}"
        held, kv, compute = (mib * MIB for mib in full[name])
        if on_host:  # the embedding, which we count as the host's where it is not the head's too
            held -= (weights.host_bytes - weights.tied_bytes) // MIB * MIB
        dry = DryRun(weights_bytes=held, kv_bytes=kv, compute_bytes=compute)
        boundary = memory.boundary_bytes(weights, position=position, piped=piped)
        yield _with(device, dry, compute_bytes=max(0, short[name][2] * MIB - boundary), pooled=workload.unified)


def _with(device: DevicePlan, dry: DryRun, *, compute_bytes: int, pooled: bool) -> DevicePlan:
    """Where the engine and our closed forms differ by more than rounding, the engine is right.

    But not about a pool's cache, which the dry run has to ask for as one sequence.
    """
    kv = device.kv_bytes if pooled else _nearer(device.kv_bytes, dry.kv_bytes)
    held = _nearer(device.weights_bytes, dry.weights_bytes)
    return replace(
        device,
        weights_bytes=held,
        kv_bytes=kv,
        compute_bytes=compute_bytes,
        compute_estimated=False,
        total_bytes=held + kv + compute_bytes + device.overhead_bytes,
        dry_run=dry,
    )


def _nearer(ours: int, engines: int) -> int:
    """Ours to the byte where it rounds to the engine's MiB."""
    return ours if abs(ours // MIB - engines // MIB) <= 1 else engines


async def measured_caches(weights: Weights, workload: Workload, asking: Asking) -> tuple[int, ...]:
    """Cache bytes per slot for an architecture without a closed form, to the MiB in sum: a few dry runs.

    Each gives one slot to each of thirteen devices, and the others to one before and one behind. The engine cuts each
    figure down to a MiB: what that takes away is given back in equal parts.
    """
    slots = weights.layers + 1
    found: list[int] = []
    while len(found) < slots:
        single = min(MOST_DEVICES - 2, slots - len(found))
        rest = [len(found), *(1,) * single, slots - len(found) - single]
        rows = await ask(asking, asking.short, workload, counts=rest, kinds=["cuda"] * len(rest), copies=False)
        found += [rows[f"RPC{1 + i}"][1] * MIB for i in range(single)]
    whole = await ask(asking, asking.short, workload, counts=[slots], kinds=["cuda"])
    holding = sum(size > 0 for size in found)
    lost = max(0, whole["RPC0"][1] * MIB - sum(found)) // holding if holding else 0
    return tuple(size + lost if size else 0 for size in found)
