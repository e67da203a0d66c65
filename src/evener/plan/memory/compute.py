"""Compute buffers, by a fit: the graph allocator has no closed form. An estimate, marked so until a dry run has spoken.

All for one micro-batch of T = 512 tokens, in F32: A = one activation (T x width), F = one inner activation of a dense
feed-forward, E = that of the routed experts a token is sent to, U = their outputs (T x width x experts used), M = the
F16 attention masks, V = logits of the rows that are output. Where the terms come from: three inner activations live
at once (gate, up, their product); the experts' outputs go behind them unless the first two leave a hole that is
large enough; the rest are residuals, norms and the graph's inputs. With several devices every input is kept four times.

Measured with build 11434 on header-only models, MiB, as llama-server allocates them: benchmarks/memory.py prints them
beside these estimates; docs/notebook.md keeps the table.
"""

from __future__ import annotations

from evener.plan.memory.sizes import UBATCH, outputs, stream_cells
from evener.records.plan import Workload
from evener.records.weights import Weights

PIPELINE_COPIES = 4  # GGML_SCHED_MAX_COPIES
F32_BYTES, MASK_BYTES = 4, 2

# Activations that live beside the inner ones: (alone or without copies, with copies) by place in the chain.
FIRST, LATER = (4, 16), (3, 7)
HEAD = (2, 10)  # beside the logits, where these are the peak
HOST = (4, 10)


def compute_bytes(
    weights: Weights, workload: Workload, *, devices: int, position: int, copies: bool = True
) -> int:
    """Estimated compute buffer of the device at `position` of `devices`, as llama-server allocates it.

    `copies` False: pipeline copies are switched off.
    """
    piped = copies and devices > 1
    activations = (LATER if position else FIRST)[piped]
    layers = activations * _activation(weights) + _inner(weights)
    return layers + _masks(weights, workload, piped=piped)


def dry_run_compute_bytes(
    weights: Weights, workload: Workload, *, devices: int, position: int, copies: bool = True
) -> int:
    """The same as `llama-fit-params` reports it: every token of a micro-batch is output.

    The last device then holds 4 x vocabulary x 512 bytes of logits. And the dry run sends two tensors over each
    boundary where the server sends one (ggml_backend_sched_reserve_size forgets where norms were put), so with
    pipeline copies each device after the first has four activations more.
    """
    piped = copies and devices > 1
    activation = _activation(weights)
    reserved = compute_bytes(weights, workload, devices=devices, position=position, copies=copies)
    if piped and position:
        reserved += PIPELINE_COPIES * activation
    if position < devices - 1:
        return reserved
    logits = F32_BYTES * weights.vocabulary * UBATCH
    beside = HEAD[piped] if devices > 1 else FIRST[0]
    return max(reserved, logits + beside * activation + _masks(weights, workload, piped=piped))


def host_compute_bytes(weights: Weights, workload: Workload, *, devices: int, copies: bool = True) -> int:
    """Estimated compute buffer in the head's RAM: inputs and masks before they go to the devices."""
    piped = copies and devices > 1
    return HOST[piped] * _activation(weights) + _masks(weights, workload, piped=piped)


def logits_bytes(weights: Weights, workload: Workload) -> int:
    """The output buffer in the head's RAM: llama-context.cpp:2118-2207."""
    return F32_BYTES * weights.vocabulary * outputs(workload)


def _activation(weights: Weights) -> int:
    return F32_BYTES * UBATCH * weights.embedding


def _inner(weights: Weights) -> int:
    """The widest of the feed-forwards: dense, or routed with the experts' outputs."""
    dense = 3 * weights.feed_forward
    inner = weights.experts_used * weights.expert_feed_forward
    out = weights.experts_used * weights.embedding
    routed = 3 * inner + (out if out > 2 * inner else 0)
    return F32_BYTES * UBATCH * max(dense, routed)


def _masks(weights: Weights, workload: Workload, *, piped: bool) -> int:
    """One mask for full layers and one for windows, where the model has such layers."""
    if weights.attention is None:
        windows: set[int | None] = {None}
    else:
        kept = zip(weights.attention.window, weights.attention.kv_heads, strict=True)
        windows = {window for window, heads in kept if heads}
    cells = sum(stream_cells(workload, window) for window in windows)
    return MASK_BYTES * UBATCH * cells * (PIPELINE_COPIES if piped else 1)
