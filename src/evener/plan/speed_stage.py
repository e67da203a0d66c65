"""One device's share of a model, and what a batch costs there without any network. Pure.

Decoding reads: the weights that the batch touches, once, and each sequence's cache. Prompts multiply: two operations
per weight and token, and attention over what came before. Each graph and each block has a fixed cost beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evener.plan.memory import cell_bytes
from evener.plan.speed_values import NOTHING, combined, largest, over, product, scaled, total, value
from evener.records.plan import Value, Workload
from evener.records.speed import DeviceSpeed, LinkSpeed
from evener.records.weights import Attention, Weights

# Routed experts multiply few tokens each. With m tokens per expert a matrix unit reaches m / (m + this) of its rate.
EXPERT_TOKENS_HALF = 32
# A batch of a few sequences multiplies at a part of the rate of a prompt.
SMALL_BATCH_SHARE = value(0.5, 0.3, 1.0)

# Of experts in RAM a prompt's batch moves the touched ones to the card (op offload from 32 tokens on) over PCIe.
MOVED_BYTES_PER_S = value(14e9, 5e9, 40e9)

Part = Literal["whole", "experts", "rest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Slots `start` to `start + count` of a model on one device, in the order a token passes.

    `part` says which of their tensors are there: with experts in RAM a card has the "rest" and the CPU the "experts".
    `endpoint` names the worker that serves the device, None for the head's own; `link` leads from the head to it.
    """

    host: str
    card: str
    speed: DeviceSpeed | None
    start: int
    count: int
    part: Part = "whole"
    endpoint: str | None = None
    link: LinkSpeed | None = None

    @property
    def slots(self) -> range:
        return range(self.start, self.start + self.count)

    @property
    def name(self) -> str:
        return f"{self.host}/{self.card}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of one batch on one device: its work, and what it costs to start it."""

    work_s: Value
    fixed_s: Value

    @property
    def total_s(self) -> Value:
        return total((self.work_s, self.fixed_s))


def touched_bytes(stage: Stage, weights: Weights, *, tokens: int) -> float:
    """Weights read for a batch: shared ones once, and of E experts the expected number that `tokens` tokens choose,
    E * (1 - (1 - k/E)^tokens) if they choose k each and independently."""
    share = distinct_share(weights, tokens)
    experts = weights.slot_expert_bytes or (0,) * len(weights.slot_bytes)
    bytes_read = 0.0
    for slot in _loaded(stage, weights):
        if stage.part != "experts":
            bytes_read += weights.slot_bytes[slot] - experts[slot]
        if stage.part != "rest":
            bytes_read += experts[slot] * share
    return bytes_read


def distinct_share(weights: Weights, tokens: int) -> float:
    """The share of the experts that at least one of `tokens` tokens chooses; 1 for a dense model."""
    if not weights.experts:
        return 1.0
    return 1.0 - (1.0 - weights.experts_used / weights.experts) ** tokens


def cache_read_bytes(stage: Stage, weights: Weights, workload: Workload, *, sequences: int, depth: int) -> float:
    """KV read (windows: what they can see) and recurrent state read and written in one decoding step."""
    if stage.part == "experts" or weights.attention is None:
        return 0.0
    states = weights.recurrent_bytes_per_sequence or (0,) * weights.layers
    blocks = [slot for slot in _loaded(stage, weights) if slot < weights.layers]
    per_sequence = sum(_row_bytes(weights.attention, b, workload) * _seen(weights.attention, b, depth) for b in blocks)
    return sequences * (per_sequence + 2 * sum(states[block] for block in blocks))


def decode_cost(stage: Stage, weights: Weights, workload: Workload, *, sequences: int, depth: int) -> Cost | None:
    """One decoding step of `sequences` sequences. None where the device's speed is not known."""
    speed = stage.speed
    if speed is None or (rate := speed.weights_bytes_per_s) is None:
        return None
    cache_rate = speed.cache_bytes_per_s or rate

    def reading_s(together: int) -> Value:
        cache = cache_read_bytes(stage, weights, workload, sequences=together, depth=depth)
        return total((over(touched_bytes(stage, weights, tokens=together), rate), over(cache, cache_rate)))

    multiplying = NOTHING
    if sequences > 1 and speed.flop_per_s is not None:
        plain, routed = flop(stage, weights, head=True)
        together = over(sequences * (plain + routed), product(speed.flop_per_s, SMALL_BATCH_SHARE))
        one_by_one = scaled(reading_s(1), sequences)  # a batch never costs more than its members
        multiplying = combined(min, together, one_by_one)
    return Cost(work_s=largest(reading_s(sequences), multiplying), fixed_s=_fixed(stage, weights, speed))


def prompt_cost(
    stage: Stage, weights: Weights, *, tokens: float, context: float, multiply_share: float = 1.0
) -> Cost | None:
    """One micro-batch of a prompt whose tokens see `context` others on average. None where the speed is not known.

    `multiply_share` is what an older build reaches of the device's rate.
    """
    speed = stage.speed
    if speed is None or speed.weights_bytes_per_s is None:
        return None
    if stage.part == "experts":
        moved = over(touched_bytes(stage, weights, tokens=round(tokens)), MOVED_BYTES_PER_S)
        return Cost(work_s=moved, fixed_s=_fixed(stage, weights, speed))
    if speed.flop_per_s is None:
        return None
    plain, routed = flop(stage, weights, head=False)
    rate = scaled(speed.flop_per_s, multiply_share)
    multiplying = over(tokens * plain, rate)
    if routed:
        each = tokens * weights.experts_used / weights.experts
        multiplying = total((multiplying, over(tokens * routed, scaled(rate, each / (each + EXPERT_TOKENS_HALF)))))
    reading = over(touched_bytes(stage, weights, tokens=round(tokens)), speed.weights_bytes_per_s)
    attending = over(tokens * attention_flop(stage, weights, context), speed.attention_flop_per_s or speed.flop_per_s)
    work = total((largest(reading, multiplying), attending))
    return Cost(work_s=work, fixed_s=_fixed(stage, weights, speed))


def _loaded(stage: Stage, weights: Weights) -> list[int]:
    """Slots that do something: MTP blocks keep theirs and are not loaded."""
    trunk = weights.layers - weights.mtp_layers
    return [slot for slot in stage.slots if slot < trunk or slot == weights.layers]


def _row_bytes(shape: Attention, layer: int, workload: Workload) -> int:
    """One cell of a layer's cache, keys and values."""
    slides = shape.window[layer] is not None
    key = shape.key_length_swa if slides else shape.key_length
    held = shape.value_length_swa if slides else shape.value_length
    heads = shape.kv_heads[layer]
    row = cell_bytes(workload.kv_type_k, heads * key)
    return row if shape.mla else row + cell_bytes(workload.kv_type_v, heads * held)


def _seen(shape: Attention, layer: int, depth: float) -> float:
    window = shape.window[layer]
    return depth if window is None else min(depth, window)


def flop(stage: Stage, weights: Weights, *, head: bool) -> tuple[float, float]:
    """(plain, routed) operations per token: two per weight. A prompt's tokens skip the head: one row is asked."""
    counts = weights.slot_parameters or _by_bytes(weights)
    experts = weights.slot_expert_parameters or (0,) * len(counts)
    slots = [slot for slot in _loaded(stage, weights) if head or slot < weights.layers]
    share = weights.experts_used / weights.experts if weights.experts else 0.0
    plain = 0.0 if stage.part == "experts" else 2.0 * sum(counts[slot] - experts[slot] for slot in slots)
    routed = 0.0 if stage.part == "rest" else 2.0 * share * sum(experts[slot] for slot in slots)
    return plain, routed


def _by_bytes(weights: Weights) -> tuple[float, ...]:
    """Active parameters spread over the slots by their bytes, for a model whose tensors nobody counted."""
    known = float(weights.active_parameters or weights.parameters)
    whole = sum(weights.slot_bytes) or 1
    return tuple(known * size / whole for size in weights.slot_bytes)


def attention_flop(stage: Stage, weights: Weights, context: float) -> float:
    """Operations of attention per token: two per element of keys and of values that each query head looks at."""
    shape = weights.attention
    if shape is None or stage.part == "experts":
        return 0.0
    heads = shape.heads or shape.kv_heads
    return sum(
        2.0 * heads[slot] * (shape.key_length + shape.value_length) * _seen(shape, slot, context)
        for slot in _loaded(stage, weights)
        if slot < weights.layers and shape.kv_heads[slot]
    )


def _fixed(stage: Stage, weights: Weights, speed: DeviceSpeed) -> Value:
    blocks = [slot for slot in _loaded(stage, weights) if slot < weights.layers]
    routed = sum(bool(weights.slot_expert_bytes and weights.slot_expert_bytes[slot]) for slot in blocks)
    parts = [speed.graph_us or NOTHING]
    if stage.part != "experts":
        parts.append(scaled(speed.layer_us or NOTHING, len(blocks)))
    if stage.part != "rest":
        parts.append(scaled(speed.expert_layer_us or NOTHING, routed))
    if stage.part != "whole":  # token and device change places at every block
        parts.append(scaled(speed.graph_us or NOTHING, max(0, routed - 1)))
    return scaled(total(parts), 1e-6)
