"""What a card does with the engine: its specification times what such cards reach, or what was measured. Pure.

The shares below are fitted to the "fit" rows of benchmarks/data/measurements.csv by benchmarks/speed.py --fit, which
starts from the values here, and hold for llama.cpp only. Intervals are what the rows of a family scatter, wider where
a family has few. Arc, main memory and Apple's prompts have none: assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from evener.plan.card_spec import CardSpec, Family
from evener.plan.speed_values import scaled, value
from evener.records.plan import Value
from evener.records.speed import DeviceSpeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a family reaches of its specification, and its fixed costs in microseconds."""

    weights: Value  # share of the memory bandwidth, reading weights (dense decode: 0.65 to 0.8)
    cache: Value  # share of the memory bandwidth, reading a cache
    multiply: Value  # share of the dense INT8 rate, else of FP16
    attend: Value  # share of the dense FP16 rate
    layer_us: Value
    expert_layer_us: Value
    graph_us: Value


REACH: dict[Family, Reach] = {
    "cuda": Reach(
        weights=value(0.76, 0.65, 0.88), cache=value(0.75, 0.5, 0.9), multiply=value(0.29, 0.15, 0.42),
        attend=value(0.30, 0.15, 0.5), layer_us=value(22, 10, 40), expert_layer_us=value(15, 5, 40),
        graph_us=value(250, 80, 600),
    ),
    "hbm": Reach(  # data-centre cards: more bandwidth and more integer units than these kernels keep busy
        weights=value(0.45, 0.30, 0.75), cache=value(0.5, 0.25, 0.8), multiply=value(0.135, 0.07, 0.30),
        attend=value(0.20, 0.08, 0.4), layer_us=value(22, 10, 40), expert_layer_us=value(15, 5, 40),
        graph_us=value(250, 80, 600),
    ),
    "gb10": Reach(
        weights=value(0.80, 0.65, 0.88), cache=value(0.49, 0.3, 0.8), multiply=value(0.28, 0.12, 0.4),
        attend=value(0.31, 0.15, 0.5), layer_us=value(22, 10, 50), expert_layer_us=value(25, 5, 60),
        graph_us=value(250, 80, 600),
    ),
    "radeon": Reach(
        weights=value(0.81, 0.62, 0.88), cache=value(0.5, 0.25, 0.8), multiply=value(0.25, 0.1, 0.45),
        attend=value(0.15, 0.05, 0.35), layer_us=value(25, 10, 60), expert_layer_us=value(20, 5, 60),
        graph_us=value(250, 80, 800),
    ),
    "strix": Reach(
        weights=value(0.78, 0.62, 0.9), cache=value(0.34, 0.12, 0.6), multiply=value(0.28, 0.14, 0.45),
        attend=value(0.15, 0.05, 0.35), layer_us=value(40, 15, 80), expert_layer_us=value(59, 20, 150),
        graph_us=value(300, 80, 1000),
    ),
    "metal": Reach(
        weights=value(0.71, 0.6, 0.88), cache=value(0.5, 0.25, 0.8), multiply=value(0.34, 0.2, 0.5),
        attend=value(0.3, 0.1, 0.6), layer_us=value(41, 15, 90), expert_layer_us=value(115, 30, 220),
        graph_us=value(400, 100, 1200),
    ),
    "arc": Reach(
        weights=value(0.55, 0.35, 0.75), cache=value(0.35, 0.15, 0.6), multiply=value(0.12, 0.04, 0.3),
        attend=value(0.1, 0.03, 0.3), layer_us=value(60, 20, 150), expert_layer_us=value(60, 20, 200),
        graph_us=value(500, 100, 2000),
    ),
    "cpu": Reach(
        weights=value(0.75, 0.5, 0.9), cache=value(0.5, 0.25, 0.8), multiply=value(0.3, 0.1, 0.6),
        attend=value(0.2, 0.05, 0.5), layer_us=value(30, 5, 100), expert_layer_us=value(20, 5, 80),
        graph_us=value(50, 10, 300),
    ),
}  # fmt: skip
# Of what was measured with weights alone: a cache is read, and attention multiplied, at about these parts.
CACHE_OF_WEIGHTS = value(0.7, 0.3, 1.0)
ATTENTION_OF_MULTIPLYING = value(0.6, 0.2, 1.2)


def device_speed(card: CardSpec | None, measured: DeviceSpeed | None = None) -> DeviceSpeed | None:
    """The best that is known of a device: what was measured, and the catalogue for the rest. None when neither is."""
    specified = catalogue_speed(card) if card is not None else None
    if measured is None:
        return specified
    found = _with_parts(measured)
    return found if specified is None else _filled(found, specified)


def catalogue_speed(card: CardSpec, reach: Reach | None = None) -> DeviceSpeed:
    """A card's specification times what its family reaches (or `reach`, for trying others)."""
    reach, read = reach or REACH[card.family], card.gb_per_s * 1e9
    tops = card.int8_tops or card.fp16_tflops
    return DeviceSpeed(
        source=f"catalogue: {card.name}, {card.source}",
        weights_bytes_per_s=scaled(reach.weights, read),
        cache_bytes_per_s=scaled(reach.cache, read),
        flop_per_s=None if tops is None else scaled(reach.multiply, tops * 1e12),
        attention_flop_per_s=_attending(card, reach),
        layer_us=reach.layer_us,
        expert_layer_us=reach.expert_layer_us,
        graph_us=reach.graph_us,
    )


def _attending(card: CardSpec, reach: Reach) -> Value | None:
    """Cards without usable FP16 (P40) attend in FP32, which is not in the catalogue: at their integer rate / 4."""
    if card.fp16_tflops is None:
        return None
    rate = max(card.fp16_tflops, (card.int8_tops or 0) / 4)
    return scaled(reach.attend, rate * 1e12)


def _with_parts(measured: DeviceSpeed) -> DeviceSpeed:
    """A measurement with what follows from it."""
    cache, attention = measured.cache_bytes_per_s, measured.attention_flop_per_s
    if cache is None and measured.weights_bytes_per_s is not None:
        cache = _part(measured.weights_bytes_per_s, CACHE_OF_WEIGHTS)
    if attention is None and measured.flop_per_s is not None:
        attention = _part(measured.flop_per_s, ATTENTION_OF_MULTIPLYING)
    return replace(measured, cache_bytes_per_s=cache, attention_flop_per_s=attention)


def _part(whole: Value, share: Value) -> Value:
    return value(whole.value * share.value, whole.low * share.low, whole.high * share.high)


def _filled(found: DeviceSpeed, specified: DeviceSpeed) -> DeviceSpeed:
    missing = {f.name: getattr(specified, f.name) for f in fields(found) if getattr(found, f.name) is None}
    return replace(found, **missing)
