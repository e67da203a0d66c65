"""What a model needs beyond its weights: caches in closed form, compute buffers by a fit. Pure; bytes throughout.

Sources: engine-facts of build 11434 (llama-kv-cache.cpp, llama-memory-recurrent.cpp); the compute fit reproduces
llama-70B at 32 k with and without pipeline copies, and SmolLM2, within 5 %. It is an estimate and is marked so.
"""

from __future__ import annotations

from evener.errors import ConfigurationError, ModelError
from evener.records.plan import Workload
from evener.records.weights import Attention, Weights

UBATCH = 512  # llama.cpp's default, which we do not change
PADDING = 256  # contexts are padded to it
PIPELINE_COPIES = 4  # with two or more devices every split input is kept four times
# Driver context and libraries per process and card, before a byte of model: an assumption until it is measured.
OVERHEAD_BYTES = {"cuda": 450 << 20, "rocm": 450 << 20, "vulkan": 200 << 20, "metal": 0, "cpu": 0}

_ELEMENT_BYTES = {
    "f32": (4, 1), "f16": (2, 1), "bf16": (2, 1),
    "q8_0": (34, 32), "q5_1": (24, 32), "q5_0": (22, 32), "q4_1": (20, 32), "q4_0": (18, 32), "iq4_nl": (18, 32),
}  # fmt: skip


def padded(tokens: int) -> int:
    return -(-tokens // PADDING) * PADDING


def cell_bytes(kv_type: str, elements: int) -> int:
    """Bytes of `elements` cache elements. Raises ConfigurationError for a type the engine does not know."""
    if kv_type not in _ELEMENT_BYTES:
        known = ", ".join(_ELEMENT_BYTES)
        raise ConfigurationError(f"--kv {kv_type}: no such cache type", hint=f"one of {known}")
    size, block = _ELEMENT_BYTES[kv_type]
    return elements * size // block


def held_bytes(weights: Weights) -> tuple[int, ...]:
    """Weights per slot as they are loaded: MTP blocks keep their slots, and their tensors stay on disk."""
    trunk = weights.layers - weights.mtp_layers
    return (*weights.slot_bytes[:trunk], *(0,) * weights.mtp_layers, *weights.slot_bytes[weights.layers :])


def cache_bytes(weights: Weights, workload: Workload) -> tuple[int, ...]:
    """KV and recurrent state per slot, the output head's (0) last.

    Raises ModelError for an architecture whose cache has no closed form: it is never guessed.
    """
    if weights.attention is None:
        raise ModelError(
            f"{weights.name}: {weights.cache_unknown or 'the cache of this architecture is not known'}",
            hint="plan a model whose cache has a closed form",
        )
    recurrent = weights.recurrent_bytes_per_sequence or (0,) * weights.layers
    blocks = (
        _layer_cache(weights.attention, layer, workload) + recurrent[layer] * workload.users
        for layer in range(weights.layers)
    )
    return (*blocks, 0)


def _layer_cache(shape: Attention, layer: int, workload: Workload) -> int:
    heads = shape.kv_heads[layer]
    window = shape.window[layer]
    cells = _cells(workload, window)
    key, value = (
        (shape.key_length, shape.value_length) if window is None else (shape.key_length_swa, shape.value_length_swa)
    )
    row = cell_bytes(workload.kv_type_k, heads * key)
    if not shape.mla:
        row += cell_bytes(workload.kv_type_v, heads * value)
    return cells * row


def _cells(workload: Workload, window: int | None) -> int:
    """Cells over all streams. A sliding window keeps what it can see plus one micro-batch."""
    streams = 1 if workload.unified else workload.users
    context = padded(workload.context)
    if window is None:
        return context * streams
    seen = window * (workload.users if workload.unified else 1) + UBATCH
    return padded(min(context, seen)) * streams


def compute_bytes(weights: Weights, workload: Workload, *, devices: int, position: int) -> int:
    """Estimated compute buffer of the device at `position` of `devices`.

    Activations of one micro-batch, the F16 attention mask, and with several devices four copies of each split
    input: three activations for the first device, one for the others.
    """
    copies = PIPELINE_COPIES if devices > 1 else 1
    inputs = copies * (3 if position == 0 else 1) if devices > 1 else 0
    activations = 4 * UBATCH * (2 * weights.feed_forward + (7.5 + inputs) * weights.embedding)
    mask = 2 * UBATCH * padded(workload.context) * copies
    return int(activations + mask)


def host_bytes(weights: Weights, workload: Workload) -> int:
    """RAM of the head beyond its cards: embeddings, its compute buffer, logits, one copy of the largest tensor."""
    logits = 4 * weights.vocabulary * workload.users
    mask = 2 * UBATCH * padded(workload.context) * PIPELINE_COPIES
    return weights.host_bytes + mask + logits + weights.largest_tensor_bytes


def worker_host_bytes(weights: Weights) -> int:
    """RAM of a worker's host beyond its cards: it buffers each tensor whole before it stores it."""
    return weights.largest_tensor_bytes
