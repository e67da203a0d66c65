"""The same layout at another context: what each device would hold, and the longest that they all hold. Pure.

Weights stay where they are; caches and compute buffers grow with the context. What a dry run has said of compute
buffers stays, and only the estimated growth is added. Knows no other layout: "how long" is always under one allocation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evener.plan.memory import PADDING, draft_bytes
from evener.plan.runs import Load
from evener.records.plan import Candidate, Command, DevicePlan, Workload
from evener.records.weights import Weights


def at_context(candidate: Candidate, weights: Weights, workload: Workload, context: int) -> Candidate:
    """`candidate`, made for `workload`, with `context` tokens per user: same layers, other sizes, other `-c`.

    Raises ModelError for an architecture whose cache has no closed form.
    """
    longer = replace(workload, context=context)
    devices = tuple(_grown(candidate, weights, workload, longer))
    servers = tuple(_with_context(server, longer) for server in candidate.servers)
    return replace(candidate, devices=devices, servers=servers)


def longest_held(candidate: Candidate, weights: Weights, workload: Workload) -> int | None:
    """The most tokens per user that every device still offers room for, up to the trained window.

    None where that is not known: caches that were measured for one context, or a device that offers nobody knows what.
    Raises ModelError as `at_context` does.
    """
    if weights.slot_cache_bytes or any(device.offered_bytes is None for device in candidate.devices):
        return None
    low = workload.context // PADDING
    high = max(low, (weights.context_train or workload.context) // PADDING)
    while low < high:
        middle = (low + high + 1) // 2
        grown = at_context(candidate, weights, workload, middle * PADDING)
        low, high = (middle, high) if _holds(grown) else (low, middle - 1)
    return low * PADDING


def _holds(candidate: Candidate) -> bool:
    return all(device.total_bytes <= (device.offered_bytes or 0) for device in candidate.devices)


def _grown(candidate: Candidate, weights: Weights, now: Workload, longer: Workload) -> Iterator[DevicePlan]:
    on_cpu = sum(device.layers for device in candidate.devices if device.position < 0)
    before, after = (_load(candidate, weights, workload, begin=on_cpu) for workload in (now, longer))
    start = on_cpu
    for device in candidate.devices:
        first, last = (0, on_cpu) if device.position < 0 else (start, start + device.layers)
        start = max(start, last)
        kv = sum(after.caches[first:last])
        more = after.compute_bytes(first, last) - before.compute_bytes(first, last) if device.position >= 0 else 0
        drafts = draft_bytes(weights, longer) - draft_bytes(weights, now) if device.draft_bytes else 0
        yield replace(
            device,
            kv_bytes=kv,
            compute_bytes=device.compute_bytes + more,
            draft_bytes=device.draft_bytes + drafts,
            total_bytes=device.total_bytes + kv - device.kv_bytes + more + drafts,
        )


def _load(candidate: Candidate, weights: Weights, workload: Workload, *, begin: int) -> Load:
    """As the candidate's server is told to place it. Any override of tensors ends the pipeline copies."""
    overridden = any(flag in candidate.servers[0].argv for flag in ("-ot", "-cmoe", "-ncmoe"))
    return Load(weights=weights, workload=workload, begin=begin, copies=not (begin or overridden))


def _with_context(server: Command, workload: Workload) -> Command:
    argv = list(server.argv)
    argv[argv.index("-c") + 1] = str(workload.context if workload.unified else workload.context * workload.users)
    return replace(server, argv=tuple(argv))
