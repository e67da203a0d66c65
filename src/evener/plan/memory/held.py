"""What weights take where they are held: on a device, in the head's RAM, in a worker's. Pure."""

from __future__ import annotations

from evener.plan.memory.compute import activation_bytes, host_compute_bytes, logits_bytes
from evener.records.plan import Workload
from evener.records.weights import Weights

# Driver context and libraries per process and card, before a byte of model: an assumption until it is measured.
OVERHEAD_BYTES = {"cuda": 450 << 20, "rocm": 450 << 20, "vulkan": 200 << 20, "metal": 0, "cpu": 0}

# Of a block whose experts are in RAM, what a prompt's batch copies to the card at once: gate, up or down. In mixes of
# several types the largest of the three takes less than half.
OFFLOADED_SHARE = 0.5


def held_bytes(weights: Weights, *, kind: str = "cpu", drafts: int = 0) -> tuple[int, ...]:
    """Weights per slot as a card of `kind` holds them.

    MTP blocks keep their slots; without drafts their tensors stay on disk.
    """
    slots = weights.slot_bytes_gpu if kind != "cpu" and weights.slot_bytes_gpu else weights.slot_bytes
    if drafts:
        return slots
    trunk = weights.layers - weights.mtp_layers
    return (*slots[:trunk], *(0,) * weights.mtp_layers, *slots[weights.layers :])


def host_bytes(
    weights: Weights,
    workload: Workload,
    *,
    devices: int = 2,
    copies: bool = True,
    alone: bool = False,
    at_work: bool = False,
) -> int:
    """RAM of the head beyond its cards.

    `alone`: its own processor is the only device, and holds the rest itself. `at_work`: it has blocks or experts
    beside cards.

    Embeddings, the compute buffer, logits, and while it loads a copy of the largest tensor. Context checkpoints come
    only with long conversations, and can be kept fewer: `checkpoint_bytes`. The prompt cache is switched off in every
    command line of ours. Alone, a tied embedding is there once, as the head; there is one compute buffer, with the
    looked-up tokens in it; and the file is mapped, not copied.
    """
    kept = weights.host_bytes + logits_bytes(weights, workload)
    if alone:
        return kept - weights.tied_bytes + activation_bytes(weights)
    compute = host_compute_bytes(weights, workload, devices=devices, copies=copies, at_work=at_work)
    return kept + compute + weights.largest_tensor_bytes


def worker_host_bytes(weights: Weights) -> int:
    """RAM of a worker's host beyond its cards: it buffers each tensor whole before it stores it."""
    return weights.largest_tensor_bytes


def offloaded_bytes(weights: Weights, *, experts_in_ram: int = 0, layers_in_ram: int = 0) -> int:
    """What the first card copies of weights in RAM for a prompt's batch: an estimate, no dry run shows it.

    Of experts gate, up or down at a time; of whole layers a tensor.
    """
    if layers_in_ram:
        return weights.largest_tensor_bytes
    experts = weights.slot_expert_bytes[:experts_in_ram]
    return int(max(experts, default=0) * OFFLOADED_SHARE)
