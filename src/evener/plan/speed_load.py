"""How long a model takes to load, and what a worker's cache saves. Pure.

Source: engine-facts F.7 and G of build 11434. Devices are filled one after another. The head reads and hashes every
tensor over 10 MiB whether or not the worker has a cache; while it hashes one, the one before is on its way. A warm
cache saves the network and nothing else. A published 32B over 1 GbE took 103.8 s cold and 25.0 s warm: what a link
and a hash take for the same 12 GB.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evener.plan.links import UNKNOWN
from evener.plan.speed_stage import Stage
from evener.plan.speed_values import combined, over, scaled, total, value
from evener.records.plan import Value
from evener.records.weights import Weights

# FNV-1a goes byte by byte: 420 to 630 MB/s on a shared core here; a multiplication per byte bounds it near 1.3 GB/s.
HASHED_BYTES_PER_S = value(0.6e9, 0.42e9, 1.3e9)
READ_BYTES_PER_S = value(2e9, 0.4e9, 7e9)  # disk or page cache, into a local card
STARTING_S = value(3, 1, 10)  # process, drivers, buffers, warm-up


def load_seconds(stages: Sequence[Stage], weights: Weights, *, cached: Collection[str] = ()) -> Value:
    """From start to ready. `cached` are the endpoints whose caches hold this model's tensors."""
    return total((STARTING_S, *(_stage_seconds(stage, weights, cached) for stage in stages)))


def held_bytes(stage: Stage, weights: Weights) -> int:
    """Weights that a stage holds; MTP blocks are not loaded."""
    trunk = weights.layers - weights.mtp_layers
    slots = [slot for slot in stage.slots if slot < trunk or slot == weights.layers]
    experts = sum(weights.slot_expert_bytes[slot] for slot in slots) if weights.slot_expert_bytes else 0
    everything = sum(weights.slot_bytes[slot] for slot in slots)
    return {"whole": everything, "experts": experts, "rest": everything - experts}[stage.part]


def _stage_seconds(stage: Stage, weights: Weights, cached: Collection[str]) -> Value:
    size = held_bytes(stage, weights)
    if stage.endpoint is None:
        return over(size, READ_BYTES_PER_S)
    reading = combined(max, over(size, HASHED_BYTES_PER_S), over(size, READ_BYTES_PER_S))
    if stage.endpoint in cached:
        return reading
    sending = over(size, scaled((stage.link or UNKNOWN).gbit_per_s, 1e9 / 8))
    overlapped = combined(max, reading, sending)
    return value(overlapped.value, overlapped.low, reading.high + sending.high)
