"""KV caches and recurrent state per slot, in closed form. Refuses what has none: the engine's dry run knows it.

Source: llama.cpp build 11434, src/llama-kv-cache.cpp:165-250, src/llama-memory-recurrent.cpp:101-107; equal to the
engine's own figures to the MiB for every architecture of benchmarks/memory.py.
"""

from __future__ import annotations

from evener.errors import ConfigurationError, ModelError
from evener.plan.memory.sizes import cells, mtp_drafts, stream_cells
from evener.records.plan import Workload
from evener.records.weights import Attention, Weights

CHECKPOINT_TOKENS = 8192  # -cms: between two copies of what a slot could not roll back
MOST_CHECKPOINTS = 32  # -ctxcp: per slot

KV_TYPES = {  # bytes of so many elements
    "f32": (4, 1), "f16": (2, 1), "bf16": (2, 1),
    "q8_0": (34, 32), "q5_1": (24, 32), "q5_0": (22, 32), "q4_1": (20, 32), "q4_0": (18, 32), "iq4_nl": (18, 32),
}  # fmt: skip


def cell_bytes(kv_type: str, elements: int) -> int:
    """Bytes of `elements` cache elements. Raises ConfigurationError for a type the engine does not know."""
    if kv_type not in KV_TYPES:
        known = ", ".join(KV_TYPES)
        raise ConfigurationError(f"--kv {kv_type}: no such cache type", hint=f"one of {known}")
    size, block = KV_TYPES[kv_type]
    return elements * size // block


def cache_bytes(weights: Weights, workload: Workload) -> tuple[int, ...]:
    """KV and recurrent state per slot, the output head's (0) last.

    Raises ModelError for an architecture whose cache has no closed form, unless it was measured: it is never guessed.
    """
    if weights.slot_cache_bytes:
        return weights.slot_cache_bytes
    shape = _known(weights)
    recurrent = weights.recurrent_bytes_per_sequence or (0,) * weights.layers
    # To go back behind a rejected draft, a recurrent state is kept once for each of them.
    drafts = mtp_drafts(weights, workload)
    states = workload.users * (1 + drafts)
    trunk = weights.layers - weights.mtp_layers
    blocks = (_layer_cache(shape, layer, workload) + recurrent[layer] * states for layer in range(trunk))
    drafting = _drafting_cache(shape, workload) if drafts else 0
    return (*blocks, *(drafting,) * weights.mtp_layers, 0)


def checkpoint_bytes(weights: Weights, workload: Workload) -> int:
    """RAM of the head for context checkpoints, when every slot has filled its context.

    Only windows and recurrent state are kept that way: a full cache can be rolled back as it is.
    """
    if (shape := weights.attention) is None:
        return 0
    one = sum(weights.recurrent_bytes_per_sequence) + sum(
        stream_cells(workload, window) * _row_bytes(shape, layer, workload)
        for layer, window in enumerate(shape.window)
        if window is not None
    )
    return one * checkpoints(workload) * workload.users


def checkpoints(workload: Workload) -> int:
    """How many a slot keeps when it has filled its context."""
    return min(MOST_CHECKPOINTS, max(1, workload.context // CHECKPOINT_TOKENS))


def longest_stride_bytes(weights: Weights, workload: Workload) -> int:
    """From one stream of a layer's keys, or values, to the next: what RPC has 32 bits for."""
    if (shape := weights.attention) is None:
        return 0
    layers = range(len(shape.kv_heads))
    return max((_stride_bytes(shape, layer, workload) for layer in layers), default=0)


def _stride_bytes(shape: Attention, layer: int, workload: Workload) -> int:
    heads, window = shape.kv_heads[layer], shape.window[layer]
    key, value = (
        (shape.key_length, shape.value_length) if window is None else (shape.key_length_swa, shape.value_length_swa)
    )
    row = max(cell_bytes(workload.kv_type_k, heads * key), cell_bytes(workload.kv_type_v, heads * value))
    return stream_cells(workload, window) * row


def _known(weights: Weights) -> Attention:
    if weights.attention is None:
        raise ModelError(
            f"{weights.name}: {weights.cache_unknown or 'the cache of this architecture is not known'}",
            hint="with an engine on this machine its dry run measures it: evener engine install",
        )
    return weights.attention


def _layer_cache(shape: Attention, layer: int, workload: Workload) -> int:
    return cells(workload, shape.window[layer]) * _row_bytes(shape, layer, workload)


def _drafting_cache(shape: Attention, workload: Workload) -> int:
    """What an MTP block keeps while it drafts: a full cache of its own context, F16 unless told otherwise."""
    row = cell_bytes("f16", shape.mtp_kv_heads * (shape.key_length + (0 if shape.mla else shape.value_length)))
    return cells(workload, None) * row


def _row_bytes(shape: Attention, layer: int, workload: Workload) -> int:
    """Bytes of one cell of one layer: keys and values of all KV heads."""
    heads, slides = shape.kv_heads[layer], shape.window[layer] is not None
    key, value = (shape.key_length_swa, shape.value_length_swa) if slides else (shape.key_length, shape.value_length)
    row = cell_bytes(workload.kv_type_k, heads * key)
    return row if shape.mla else row + cell_bytes(workload.kv_type_v, heads * value)
