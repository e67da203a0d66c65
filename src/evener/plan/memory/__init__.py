"""What a model needs on each device and on each host. Pure; bytes throughout; knows no card and no candidate."""

from evener.plan.memory.beside import beside_bytes, beside_host_bytes, draft_bytes, drafting, projector_bytes
from evener.plan.memory.caches import (
    KV_TYPES,
    cache_bytes,
    cell_bytes,
    checkpoint_bytes,
    checkpoints,
    longest_stride_bytes,
)
from evener.plan.memory.compute import (
    PIPELINE_COPIES,
    boundary_bytes,
    compute_bytes,
    dry_run_compute_bytes,
    host_compute_bytes,
    logits_bytes,
)
from evener.plan.memory.held import (
    OVERHEAD_BYTES,
    held_bytes,
    host_bytes,
    offloaded_bytes,
    worker_host_bytes,
)
from evener.plan.memory.sizes import PADDING, UBATCH, mtp_drafts, outputs, padded

__all__ = [
    "KV_TYPES",
    "OVERHEAD_BYTES",
    "PADDING",
    "PIPELINE_COPIES",
    "UBATCH",
    "beside_bytes",
    "beside_host_bytes",
    "boundary_bytes",
    "cache_bytes",
    "cell_bytes",
    "checkpoint_bytes",
    "checkpoints",
    "compute_bytes",
    "draft_bytes",
    "drafting",
    "dry_run_compute_bytes",
    "held_bytes",
    "host_bytes",
    "host_compute_bytes",
    "logits_bytes",
    "longest_stride_bytes",
    "mtp_drafts",
    "offloaded_bytes",
    "outputs",
    "padded",
    "projector_bytes",
    "worker_host_bytes",
]
