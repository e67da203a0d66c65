"""How many cells and tokens the engine makes of what is asked. Pure.

Source: llama.cpp build 11434, src/llama-context.cpp:292-308, src/llama-kv-cache-iswa.cpp:69-81.
"""

from __future__ import annotations

from evener.records.plan import Workload
from evener.records.weights import Weights

UBATCH = 512  # llama.cpp's default, which we do not change
PADDING = 256  # contexts are padded to it


def padded(tokens: int) -> int:
    return -(-tokens // PADDING) * PADDING


def streams(workload: Workload) -> int:
    """Caches that are kept apart: one for each user, or one pool."""
    return 1 if workload.unified else workload.users


def stream_cells(workload: Workload, window: int | None) -> int:
    """Cells of one stream. A sliding window keeps what it can see plus one micro-batch; a pool, that of every user."""
    context = padded(workload.context)
    if window is None:
        return context
    return padded(min(context, window * (workload.users if workload.unified else 1) + UBATCH))


def cells(workload: Workload, window: int | None) -> int:
    """Cells over all streams."""
    return stream_cells(workload, window) * streams(workload)


def outputs(workload: Workload) -> int:
    """Rows of logits that llama-server makes room for: server-context.cpp:42-54."""
    return min(UBATCH, workload.users * (1 + workload.drafts))


def mtp_drafts(weights: Weights, workload: Workload) -> int:
    """Tokens that the model's own MTP blocks draft: none where another model does."""
    return 0 if weights.draft else workload.drafts
