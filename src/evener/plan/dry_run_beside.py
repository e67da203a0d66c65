"""Ask the engine what stands beside a model: its projector, its draft model. Moves no weight.

Before llama-server loads anything it works out what a projector's largest image takes (mtmd_get_memory_usage), from the
header alone: started with a model that is not there it says so and ends, in a twentieth of a second. A draft model is
asked about as any other model on one device, with the context and the users of the model it drafts for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evener.dialects import llama_flags as flags
from evener.dialects.llama_log import read_projector
from evener.dialects.rpc_answers import pretend
from evener.errors import EngineError
from evener.plan import memory
from evener.plan.dry_run import MIB, ROOM_BYTES, WITHIN_S, Asking, ask, nearer, served_by, within_room
from evener.records.plan import Candidate, DevicePlan, DryRun, Workload
from evener.records.weights import Projector, Weights

DEVICE = "RPC0"


async def measured_projector(projector: Projector, asking: Asking, *, server: str) -> Projector:
    """The projector with the engine's own figures of a card and of the RAM beside. `server` is llama-server's path.

    Raises EngineError when the engine cannot read it, HostError.
    """
    async with asking.stand_ins.serving([pretend("cuda", ROOM_BYTES, ROOM_BYTES)]) as endpoint:
        argv = flags.projector_argv(server, projector.path, endpoint=endpoint, device=DEVICE)
        done = await asking.shell.run(argv, within_s=WITHIN_S, env=flags.ENGINE_ENVIRONMENT)
    held = read_projector(f"{done.stdout}\n{done.stderr}".splitlines())
    if DEVICE not in held:
        raise EngineError(f"{projector.name}: the engine cannot say what this projector takes")
    return replace(projector, dry_run_bytes=held[DEVICE], host_bytes=held.get("CPU", 0))


async def with_draft(
    candidate: Candidate, draft: Weights, workload: Workload, asking: Asking, *, kinds: Mapping[str, str]
) -> Candidate:
    """The candidate with the engine's figures of the draft model on each device that holds it whole.

    `asking` is made of the draft model's own files, `kinds` maps card ids to their kind.
    """
    users = {server.host: served_by(server, workload) for server in candidate.servers}
    devices = [
        await _drafted(device, draft, users.get(device.host, workload), asking, kinds.get(device.card, "cuda"))
        if device.draft_bytes
        else device
        for device in candidate.devices
    ]
    return within_room(replace(candidate, devices=tuple(devices))) if devices else candidate


async def _drafted(device: DevicePlan, draft: Weights, workload: Workload, asking: Asking, kind: str) -> DevicePlan:
    asked, counts = memory.drafting(workload), [draft.layers + 1]
    full = await ask(asking, asking.full, asked, counts=counts, kinds=[kind])
    short = await ask(asking, asking.short, asked, counts=counts, kinds=[kind])
    held, kv, compute = (mib * MIB for mib in full[DEVICE])
    size = (
        nearer(sum(memory.held_bytes(draft, kind=kind)), held)
        + nearer(sum(memory.cache_bytes(draft, asked)), kv)
        + short[DEVICE][2] * MIB
    )
    return replace(
        device,
        draft_bytes=size,
        total_bytes=device.total_bytes - device.draft_bytes + size,
        draft_dry_run=DryRun(weights_bytes=held, kv_bytes=kv, compute_bytes=compute),
    )
