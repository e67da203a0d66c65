"""Compute buffers, by a fit: the graph allocator has no closed form. An estimate, marked so until a dry run has spoken.

All for one micro-batch of T = 512 tokens, in F32. A = T x width, one activation. Beside a few of them (residuals,
norms, the graph's inputs) and the F16 attention masks lives the widest of
  - a dense feed-forward: three inner activations at once (gate, up, their product);
  - routed experts: the same for all experts that a token is sent to, and their outputs behind them unless the first
    two leave a hole that is large enough;
  - a recurrent layer: its mixed input before and after the convolution, its gate, and each user's state twice;
  - attention over compressed keys: each head's query in their width.
With several devices every input is kept four times, so the first device (three inputs) has 12 A more and each later
one (one input) 4 A. In pure state-space models (mamba, mamba2) a boundary lies inside of a block: what the projection
gave arrives four times on each later device, and what the next one takes is kept four times on all but the last.
Without copies their last device is given up to a fifth too much. Measured with build 11434 on header-only models:
benchmarks/memory.py prints engine and estimate side by side, docs/notebook.md keeps the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evener.plan.memory.sizes import UBATCH, mtp_drafts, outputs, stream_cells
from evener.records.plan import Workload
from evener.records.weights import Weights

PIPELINE_COPIES = 4  # GGML_SCHED_MAX_COPIES
F32_BYTES, MASK_BYTES = 4, 2

# Activations beside the widest layer: (alone or without copies, with copies), by place in the chain.
FIRST, LATER, HOST = (4, 16), (3, 7), (4, 10)


def compute_bytes(
    weights: Weights,
    workload: Workload,
    *,
    devices: int,
    position: int,
    layers: Sequence[int] | None = None,
    copies: bool = True,
) -> int:
    """Estimated compute buffer of the device at `position` of `devices`, as llama-server allocates it.

    `layers` are the blocks it holds, where they are known: masks that none of them asks for are not there.
    `copies` False: pipeline copies are switched off.
    """
    piped = copies and devices > 1
    activations = (LATER if position else FIRST)[piped] * activation_bytes(weights)
    beside = _masks(weights, workload, layers, piped=piped)
    if mtp_drafts(weights, workload) and weights.mtp_layers and position == devices - 1:
        beside += _drafting(weights, workload, piped=piped)
    if piped:
        beside += _inside_a_block(weights, first=position == 0, last=position == devices - 1)
    return activations + _widest(weights, workload, layers) + beside


def dry_run_compute_bytes(
    weights: Weights,
    workload: Workload,
    *,
    devices: int,
    position: int,
    layers: Sequence[int] | None = None,
    copies: bool = True,
) -> int:
    """The same as `llama-fit-params` reports it: every token of a micro-batch is output.

    The last device then holds 4 x vocabulary x 512 bytes of logits. And the dry run sends two tensors over each
    boundary where the server sends one (ggml_backend_sched_reserve_size forgets where norms were put), so with
    pipeline copies each device after the first has four activations more.
    """
    piped = copies and devices > 1
    boundary = boundary_bytes(weights, position=position, piped=piped)
    reserved = boundary + compute_bytes(
        weights, workload, devices=devices, position=position, layers=layers, copies=copies
    )
    if position < devices - 1:
        return reserved
    logits = F32_BYTES * weights.vocabulary * UBATCH
    routed = 2 if weights.experts else 0
    if piped:
        beside = (5 + routed) * activation_bytes(weights) + boundary + _masks(weights, workload, layers, piped=True)
    elif devices > 1:
        beside = (2 + routed // 2) * activation_bytes(weights)
    else:
        beside = FIRST[0] * activation_bytes(weights) + _masks(weights, workload, layers, piped=False)
    return max(reserved, logits + beside)


def boundary_bytes(weights: Weights, *, position: int, piped: bool) -> int:
    """What the dry run counts on a device after the first and the server does not allocate."""
    return PIPELINE_COPIES * activation_bytes(weights) if piped and position and weights.norm_first else 0


def host_compute_bytes(
    weights: Weights, workload: Workload, *, devices: int, copies: bool = True, at_work: bool = False
) -> int:
    """Estimated compute buffer in the head's RAM: inputs and masks before they go to the devices.

    `at_work`: its processor has blocks or experts of its own, and needs what a device would need for them.
    """
    if at_work:
        return compute_bytes(weights, workload, devices=1, position=0) + activation_bytes(weights)
    piped = copies and devices > 1
    return HOST[piped] * activation_bytes(weights) + _masks(weights, workload, piped=piped)


def logits_bytes(weights: Weights, workload: Workload) -> int:
    """The output buffer in the head's RAM: llama-context.cpp:2118-2207."""
    return F32_BYTES * weights.vocabulary * outputs(workload)


def activation_bytes(weights: Weights) -> int:
    """One micro-batch on its way from block to block."""
    return F32_BYTES * UBATCH * weights.embedding


def _widest(weights: Weights, workload: Workload, layers: Iterable[int] | None = None) -> int:
    dense = 3 * weights.feed_forward
    inner = weights.experts_used * weights.expert_feed_forward
    out = weights.experts_used * weights.embedding
    routed = 3 * inner + (out if out > 2 * inner else 0)
    widest = F32_BYTES * UBATCH * max(dense, routed, weights.attention_width)
    return max(widest, _recurrent(weights, workload, layers))


def _recurrent(weights: Weights, workload: Workload, layers: Iterable[int] | None) -> int:
    held = weights.recurrent_bytes_per_sequence
    if layers is not None:
        held = tuple(held[layer] for layer in layers if layer < len(held))
    if not weights.recurrent_width or not any(held):
        return 0
    # States in and out; and once more for every draft that may have to be taken back.
    drafts = mtp_drafts(weights, workload)
    kept = 2 + (1 + drafts if drafts else 0)
    return F32_BYTES * UBATCH * weights.recurrent_width + kept * max(held) * workload.users


def _inside_a_block(weights: Weights, *, first: bool, last: bool) -> int:
    """Copies of what crosses a boundary within a block; 0 where only activations do."""
    elements = weights.state_space_in * (not first) + weights.state_space_out * (not last)
    return PIPELINE_COPIES * F32_BYTES * UBATCH * elements


def _drafting(weights: Weights, workload: Workload, *, piped: bool) -> int:
    """The MTP blocks' own context on the last device: one block, and three activations for what it is fed with."""
    activations = ((LATER if piped else FIRST)[piped] + 3) * activation_bytes(weights)
    return activations + _widest(weights, workload, layers=()) + _masks(weights, workload, piped=piped)


def _masks(weights: Weights, workload: Workload, layers: Iterable[int] | None = None, *, piped: bool) -> int:
    """One mask for full layers and one for windows, as far as the layers keep such caches."""
    windows: set[int | None] = {None}
    if (shape := weights.attention) is not None:
        held = range(len(shape.kv_heads)) if layers is None else layers
        windows = {shape.window[layer] for layer in held if layer < len(shape.kv_heads) and shape.kv_heads[layer]}
    cells = sum(stream_cells(workload, window) for window in windows)
    return MASK_BYTES * UBATCH * cells * (PIPELINE_COPIES if piped else 1)
