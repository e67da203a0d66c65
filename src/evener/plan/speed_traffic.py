"""What crosses the network for one batch, byte for byte. Pure; knows no seconds.

Source: engine-facts F.1 to F.4 of build 11434, counted there by a tap between head and workers and reproduced to the
byte: 33 tokens of SmolLM2 with -ts 10,21 send 339834 and 166914 bytes and return 76296 and 6488328.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from evener.plan.memory import UBATCH, padded
from evener.plan.speed_stage import Stage
from evener.records.plan import Workload
from evener.records.weights import Attention, Weights

SET_BYTES, GET_BYTES, ANSWER_BYTES = 314, 321, 8  # command, tensor, offsets; then data
COPY_BYTES, COPIED_BYTES = 601, 9  # between devices of one endpoint
RECOMPUTE_BYTES = 13
F32, I32, I64, F16 = 4, 4, 8, 2
# A graph is sent whole when it changed: every prompt batch, and each time the cells in use cross a multiple of 256.
GRAPH_LAYER_BYTES = 12_900
GRAPH_EXPERT_LAYER_BYTES = 21_000  # routing is about twenty nodes more; an estimate
ROTATION_LEAST = 64
# llm_arch_supports_mixed_batch in llama-arch.cpp says no: two of the three inputs, and no slots.
UNMIXED = frozenset({"cogvlm", "deepseek4", "graniteswitch", "eagle3", "dflash", "gemma4-assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What one device's share of a batch sends and fetches. `hops` counts endpoints left, not devices."""

    up_bytes: int = 0
    down_bytes: int = 0
    round_trips: int = 0
    hops: int = 0


def decode_traffic(
    stages: Sequence[Stage], weights: Weights, workload: Workload, *, tokens: int, depth: int
) -> tuple[Traffic, ...]:
    """One decoding step of `tokens` sequences with `depth` tokens each, per stage; nothing for the head's own devices.

    Flash attention is on (the engine's choice for RPC), and every layer is on one of the stages.
    """
    return _batch(stages, weights, workload, tokens=tokens, cells=_cells(workload, tokens, depth), outputs=tokens)


def prompt_traffic(
    stages: Sequence[Stage], weights: Weights, workload: Workload, *, tokens: int, depth: int, last: bool = True
) -> tuple[Traffic, ...]:
    """One micro-batch of `tokens` prompt tokens of one sequence after `depth` others; logits return with the last."""
    cells = padded(depth + tokens)
    plain = _batch(stages, weights, workload, tokens=tokens, cells=cells, outputs=1 if last else 0)
    return tuple(
        replace(one, up_bytes=one.up_bytes + graph_bytes(stage, weights) - RECOMPUTE_BYTES) if stage.endpoint else one
        for one, stage in zip(plain, stages, strict=True)
    )


def graph_bytes(stage: Stage, weights: Weights) -> int:
    """About what a stage's graph takes on the wire (415 bytes a node)."""
    blocks = [slot for slot in stage.slots if slot < weights.layers]
    routed = sum(bool(weights.slot_expert_bytes and weights.slot_expert_bytes[slot]) for slot in blocks)
    return GRAPH_LAYER_BYTES * (len(blocks) - routed) + GRAPH_EXPERT_LAYER_BYTES * routed


def _cells(workload: Workload, sequences: int, depth: int) -> int:
    """n_kv of the mask: the cells in use, rounded up. A unified cache shows every sequence all of them."""
    return padded(max(1, depth) * (sequences if workload.unified else 1))


def _batch(
    stages: Sequence[Stage], weights: Weights, workload: Workload, *, tokens: int, cells: int, outputs: int
) -> tuple[Traffic, ...]:
    inputs = _inputs(weights, workload, tokens=tokens, cells=cells)
    activation = F32 * weights.embedding * tokens
    ends = [*(a.endpoint != b.endpoint for a, b in pairwise(stages)), True]
    result = []
    for index, (stage, leaves) in enumerate(zip(stages, ends, strict=True)):
        if stage.endpoint is None:
            result.append(Traffic())
            continue
        copied = index > 0 and not ends[index - 1]
        last = index == len(stages) - 1
        up = inputs + RECOMPUTE_BYTES + (_outputs_bytes(outputs) if last else 0)
        if index == 0:
            up += _first_bytes(weights, activation, tokens)
        else:
            up += COPY_BYTES if copied else SET_BYTES + activation
        fetched = F32 * weights.vocabulary * outputs if last else activation
        result.append(
            Traffic(
                up_bytes=up + (GET_BYTES if leaves else 0),
                down_bytes=(COPIED_BYTES if copied else 0) + (ANSWER_BYTES + fetched if leaves else 0),
                round_trips=copied + leaves,
                hops=int(leaves),
            )
        )
    return tuple(result)


def _outputs_bytes(outputs: int) -> int:
    """Which rows are wanted, told to the device that owns the output head."""
    return SET_BYTES + I32 * outputs


def _first_bytes(weights: Weights, activation: int, tokens: int) -> int:
    if weights.architecture in UNMIXED:
        return 2 * (SET_BYTES + activation)
    return 3 * (SET_BYTES + activation) + SET_BYTES + I64 * tokens


def _inputs(weights: Weights, workload: Workload, *, tokens: int, cells: int) -> int:
    """What every device is told: where keys and values go, positions, the mask, rotations of a quantised cache."""
    shape = weights.attention
    size = SET_BYTES + I32 * weights.position_numbers * tokens
    size += _cache_inputs(tokens, cells)
    if shape is not None and (windows := {w for w in shape.window if w is not None}):
        size += _cache_inputs(tokens, min(cells, padded(max(windows) + UBATCH)))
    return size + (_rotation_bytes(shape, workload) if shape is not None else 0)


def _cache_inputs(tokens: int, cells: int) -> int:
    return 2 * (SET_BYTES + I64 * tokens) + SET_BYTES + F16 * cells * tokens


def _rotation_bytes(shape: Attention, workload: Workload) -> int:
    """Hadamard matrices that a quantised cache is rotated with, sent at every step (llama-kv-cache.cpp)."""
    size = 0
    if _is_quantised(workload.kv_type_k) and shape.key_length % ROTATION_LEAST == 0:
        width = ROTATION_LEAST
        while shape.key_length % (2 * width) == 0:
            width *= 2
        size += SET_BYTES + F32 * width * width
    if _is_quantised(workload.kv_type_v) and not shape.mla and shape.value_length % ROTATION_LEAST == 0:
        size += SET_BYTES + F32 * ROTATION_LEAST * ROTATION_LEAST
    return size


def _is_quantised(kv_type: str) -> bool:
    return kv_type not in ("f32", "f16", "bf16")
