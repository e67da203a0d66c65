"""What stands beside a model on one device: a projector, a draft model. Pure; bytes.

Source: llama.cpp build 11434, tools/server/server-context.cpp (load_model) and common/speculative.cpp
(common_base_params_to_speculative): a draft model gets the model's own context, sequences and micro-batch, an F16 cache
unless told otherwise, and one row of logits for each sequence.
"""

from __future__ import annotations

from dataclasses import replace

from evener.plan.memory.caches import cache_bytes
from evener.plan.memory.compute import activation_bytes, compute_bytes, logits_bytes
from evener.plan.memory.held import held_bytes
from evener.records.plan import Workload
from evener.records.weights import Weights

MIB = 1 << 20


def beside_bytes(weights: Weights, workload: Workload, *, kind: str = "cpu") -> int:
    """All that stands beside the model on a card of `kind`."""
    return projector_bytes(weights) + draft_bytes(weights, workload, kind=kind)


def projector_bytes(weights: Weights) -> int:
    """On a card, with its largest image; 0 without a projector.

    Never less than the engine's dry run says, which may be about a smaller image.
    """
    if (seeing := weights.projector) is None:
        return 0
    ours, engines = seeing.weights_bytes + seeing.compute_bytes, seeing.dry_run_bytes
    return ours if engines is None or ours > engines + MIB else engines


def draft_bytes(weights: Weights, workload: Workload, *, kind: str = "cpu") -> int:
    """The draft model, whole on one device: weights, caches, compute buffer. 0 without one."""
    if (draft := weights.draft) is None:
        return 0
    asked = drafting(workload)
    held = sum(held_bytes(draft, kind=kind)) + sum(cache_bytes(draft, asked))
    return held + compute_bytes(draft, asked, devices=1, position=0)


def beside_host_bytes(weights: Weights, workload: Workload, *, on_card: bool) -> int:
    """What both keep in the head's RAM: an image, an embedding, rows of logits, inputs; all of them without a card."""
    found = weights.projector.host_bytes if weights.projector else 0
    if (draft := weights.draft) is not None:
        inputs = (4 if on_card else 1) * activation_bytes(draft)
        embedding = draft.host_bytes - (0 if on_card else draft.tied_bytes)  # a tied one is its head already
        found += embedding + logits_bytes(draft, drafting(workload)) + inputs
    return found if on_card else found + beside_bytes(weights, workload)


def drafting(workload: Workload) -> Workload:
    """The workload as a draft model has it."""
    return replace(workload, drafts=0, kv_type_k="f16", kv_type_v="f16")
