"""How fast devices and links are, each figure with its interval, its age and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evener.records.plan import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpeed:
    """What one device does with the engine. None where nobody measured or specified it.

    `source` names a measurement or the catalogue, `n` counts measured repetitions (0: specified, not measured).
    """

    source: str
    taken_at: datetime | None = None
    n: int = 0
    weights_bytes_per_s: Value | None = None  # reading weights, one token at a time
    cache_bytes_per_s: Value | None = None  # reading a KV cache
    flop_per_s: Value | None = None  # multiplying with weights, many tokens at a time
    attention_flop_per_s: Value | None = None  # multiplying with a KV cache, many tokens at a time
    layer_us: Value | None = None  # fixed cost of a block, per graph
    expert_layer_us: Value | None = None  # what routing adds to it
    graph_us: Value | None = None  # fixed cost of a graph


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpeed:
    """What one link does for the engine. `hop_us` is the fixed cost of a hop over it beyond round trips and bytes;
    None leaves it to the engine build's own."""

    name: str
    source: str
    gbit_per_s: Value  # payload
    rtt_us: Value
    hop_us: Value | None = None
    taken_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One row of llama-bench: a prompt of `prompt_tokens`, or `output_tokens` one by one, after `depth` tokens."""

    model: str  # the file's name
    model_bytes: int  # all tensors
    model_parameters: int
    devices: str  # as the engine names them, "auto" when nobody said
    threads: int
    ubatch: int
    kv_type_k: str
    kv_type_v: str
    prompt_tokens: int
    output_tokens: int
    depth: int
    tokens_per_s: tuple[float, ...]  # one per repetition
    taken_at: datetime | None
    build: int | None
    backends: str
    cpu: str
    gpu: str
