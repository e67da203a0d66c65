"""What a model file says about itself: tensors and the facts that a planner needs. No weights are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["file", "remote", "catalogue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor. `shape` is in ggml order (ne[0] first). `offset` counts from the start of its part's data."""

    name: str
    type: str  # "Q4_K", "F16", ...
    shape: tuple[int, ...]
    bytes: int
    offset: int
    part: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Shape of the attention caches, one entry per layer where a tuple.

    `kv_heads[i]` is 0 for a layer without a KV cache. `window[i]` is None for full attention.
    Lengths are per head, in elements.
    """

    kv_heads: tuple[int, ...]
    key_length: int
    value_length: int
    window: tuple[int | None, ...]
    key_length_swa: int
    value_length_swa: int
    mla: bool = False  # K only, one compressed head; no V
    heads: tuple[int, ...] = ()  # query heads per layer, 0 where there is no cache; empty where nobody counted
    mtp_kv_heads: int = 0  # KV heads of each MTP block, which keeps a cache only while it drafts


@dataclass(frozen=True, slots=True, kw_only=True)
class Projector:
    """Eyes or ears of a model: an mmproj file. It is whole on one device.

    `compute_bytes` is an estimate of what its largest image takes there, `host_bytes` of what that takes in RAM beside.
    `dry_run_bytes` is all it takes on a card at first by the engine's own dry run, None until that was asked.
    """

    name: str
    path: str
    weights_bytes: int
    compute_bytes: int
    host_bytes: int
    dry_run_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model as its header describes it.

    `slot_bytes` has layers + 1 entries: one per block, then the output head (output norm, head, whatever is left).
    A tied head is a second copy of the embedding on the head's device and is counted there. The last `mtp_layers`
    blocks are slots too, and hold what they hold in the file; the engine loads them only to speculate with them.
    `host_bytes` is what always stays on the head's host (token embedding).
    `recurrent_bytes_per_sequence[i]` is the fixed state of block i for one sequence (0 for attention blocks).
    `attention` is None where the cache of this architecture has no closed form; `cache_unknown` then says why, and
    `slot_cache_bytes` is what the engine's dry run measured for one workload, where it could be asked.
    `slot_bytes_gpu` is `slot_bytes` as CUDA holds it: tensors aligned to 128 bytes, and after the last row of a
    quantised tensor as much as fills its width to a multiple of 512 elements.
    `slot_expert_bytes` is the part of `slot_bytes` that routed experts take: of these a token reads
    experts_used / experts. `slot_parameters` and `slot_expert_parameters` are the same in weights instead of bytes:
    what a token is multiplied with; empty where nobody counted.
    """

    name: str
    paths: tuple[str, ...]  # every part, in order
    architecture: str
    quantisation: str
    file_bytes: int
    layers: int  # block_count, MTP blocks included
    mtp_layers: int
    parameters: int
    active_parameters: int | None
    context_train: int | None
    vocabulary: int
    embedding: int
    feed_forward: int
    slot_bytes: tuple[int, ...]
    host_bytes: int
    tied_head: bool
    largest_tensor_bytes: int
    attention: Attention | None
    recurrent_bytes_per_sequence: tuple[int, ...] = ()
    cache_unknown: str | None = None
    tied_bytes: int = 0  # of `host_bytes`, the embedding that a tied head copies to its device; 0 where none is tied
    experts: int = 0
    experts_used: int = 0
    expert_feed_forward: int = 0  # inner width of one routed expert
    recurrent_width: int = 0  # elements per token a recurrent layer works on at once
    state_space_in: int = 0  # of a block that is nothing but a state space: what its first projection gives per token
    state_space_out: int = 0  # and what its last one takes; both 0 for all other models
    attention_width: int = 0  # the same for attention over compressed keys; 0 where the feed-forward is always wider
    norm_first: bool = True  # blocks begin with a norm
    projector: Projector | None = None  # what it is asked to see with
    draft: Weights | None = None  # the smaller model that drafts for it
    chat_template: bool = False
    slot_bytes_gpu: tuple[int, ...] = ()
    slot_cache_bytes: tuple[int, ...] = ()
    slot_expert_bytes: tuple[int, ...] = ()
    slot_parameters: tuple[int, ...] = ()
    slot_expert_parameters: tuple[int, ...] = ()
    position_numbers: int = 1  # per token: 4 with M-RoPE
    origin: Origin = "file"  # only a file can be brought up
    estimate: str | None = None  # why the sizes are an estimate, None when they are the file's own
