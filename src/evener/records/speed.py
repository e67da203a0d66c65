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
    """One row of llama-bench: how fast one test was, and what ran it.

    A test is a prompt of `prompt_tokens`, or `output_tokens` one by one, after `depth` tokens.
    """

    model: str  # the file's name
    model_bytes: int  # all tensors
    model_parameters: int  # all of them
    devices: str  # as the engine names them, "auto" when nobody said
    threads: int  # of the CPU
    ubatch: int  # the most tokens of a prompt in one graph
    kv_type_k: str
    kv_type_v: str
    prompt_tokens: int
    output_tokens: int
    depth: int
    tokens_per_s: tuple[float, ...]  # one per repetition
    taken_at: datetime | None  # when it began
    build: int | None  # of the engine
    backends: str  # what it was built for
    cpu: str  # the processor's name
    gpu: str  # the graphics cards' names


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMeasured:
    """What llama-bench measured on one card, alone, and what follows for its speed.

    It holds while the card is in the same machine, and a CPU is used with as many threads. `rows` keep every
    repetition; `speed.taken_at` says when.
    """

    host: str
    card: str  # the card's id
    card_name: str
    machine_id: str | None  # the machine it was in
    threads: int | None  # of a CPU; None for a GPU
    build: int | None  # of the engine
    speed: DeviceSpeed  # what follows from the rows
    rows: tuple[BenchRow, ...]
