"""From rows of llama-bench to a device's speed. Pure; knows the model that was run, not the machine.

One token reads the weights and pays the fixed costs: t = bytes / rate + fixed. With two models of different size both
follow from their times; with one, the fixed part is the catalogue's, and where it would be half of the time or more
the model is too small for this device and says nothing of its rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from evener.plan.speed_devices import CACHE_OF_WEIGHTS
from evener.plan.speed_stage import Stage, cache_read_bytes, prompt_cost, touched_bytes
from evener.plan.speed_values import NOTHING, exact, product, scaled, total, value
from evener.records.plan import Value, Workload
from evener.records.speed import BenchRow, DeviceSpeed
from evener.records.weights import Weights

TELLS_BELOW = 0.5  # share of the fixed costs in a token's time
LEAST_SPREAD = 0.03  # of a rate: what the same run gives on another day
SIZES_DIFFER = 1.5  # two models tell fixed costs apart from this ratio of bytes on


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    """One model's token: what it reads, how many blocks it passes, how long it took."""

    bytes_read: float
    blocks: int
    seconds: Value


def device_speed_of(
    rows: Sequence[BenchRow], models: Mapping[str, Weights], *, fixed: DeviceSpeed | None = None
) -> DeviceSpeed | None:
    """Speed of the one device that ran `rows`. `models` holds the models by the rows' `model`.

    `fixed` lends its fixed costs (of the catalogue; None: a processor's, which has hardly any). Rows of unknown models,
    of quantised caches and after a depth are passed over. None when no row is left.
    """
    known = [row for row in rows if row.model in models and row.depth == 0 and row.tokens_per_s]
    tokens = [_token(row, models[row.model]) for row in known if row.output_tokens and not row.prompt_tokens]
    prompts = [row for row in known if row.prompt_tokens and not row.output_tokens]
    rate, layer_us = _rate(tokens, fixed)
    speed = DeviceSpeed(
        source="measured: llama-bench",
        taken_at=max((row.taken_at for row in known if row.taken_at), default=None),
        n=sum(len(row.tokens_per_s) for row in known),
        weights_bytes_per_s=rate,
        layer_us=layer_us,
        expert_layer_us=fixed.expert_layer_us if fixed else None,
        graph_us=fixed.graph_us if fixed else None,
    )
    multiplied = [_multiplying(row, models[row.model], speed) for row in prompts]
    best = max((m for m in multiplied if m is not None), key=lambda m: m.value, default=None)
    return replace(speed, flop_per_s=best) if rate or best else None


def spread(samples: Sequence[float]) -> Value:
    """The median, and the range of the samples, never narrower than what repeats on another day."""
    middle = median(samples)
    return value(
        middle, min(*samples, middle * (1 - LEAST_SPREAD)), max(*samples, middle * (1 + LEAST_SPREAD))
    )  # fmt: skip


def _whole(weights: Weights, speed: DeviceSpeed | None = None) -> Stage:
    return Stage(host="", card="", speed=speed, start=0, count=weights.layers + 1)


def _token(row: BenchRow, weights: Weights) -> _Token:
    """A token's time, in which the short cache of the run counts as weights read a little slower."""
    stage, rate = _whole(weights), spread(row.tokens_per_s)
    workload = Workload(kv_type_k=row.kv_type_k, kv_type_v=row.kv_type_v)
    cache = cache_read_bytes(stage, weights, workload, sequences=1, depth=row.output_tokens // 2)
    return _Token(
        bytes_read=touched_bytes(stage, weights, tokens=1) + cache / CACHE_OF_WEIGHTS.value,
        blocks=weights.layers - weights.mtp_layers,
        seconds=value(1 / rate.value, 1 / rate.high, 1 / rate.low),
    )


def _rate(tokens: Sequence[_Token], fixed: DeviceSpeed | None) -> tuple[Value | None, Value | None]:
    """(bytes per second, microseconds per block); None for what the tokens do not tell."""
    if not tokens:
        return None, None
    small, large = (rule(tokens, key=lambda t: t.bytes_read) for rule in (min, max))
    if large.bytes_read >= SIZES_DIFFER * small.bytes_read and (solved := _solved(small, large)) is not None:
        return solved
    return _alone(large, fixed), fixed.layer_us if fixed else None


def _solved(small: _Token, large: _Token) -> tuple[Value, Value] | None:
    """Two equations, t = bytes / rate + blocks * fixed, for the middle and for both ends; None when noise is larger."""

    def solve(t_small: float, t_large: float) -> tuple[float, float]:
        determinant = small.bytes_read * large.blocks - large.bytes_read * small.blocks
        per_byte = (t_small * large.blocks - t_large * small.blocks) / determinant
        return per_byte, (small.bytes_read * t_large - large.bytes_read * t_small) / determinant

    ends = [
        solve(small.seconds.value, large.seconds.value),
        solve(small.seconds.high, large.seconds.low),
        solve(small.seconds.low, large.seconds.high),
    ]
    if any(per_byte <= 0 for per_byte, _ in ends):
        return None
    rates, blocks = [1 / per_byte for per_byte, _ in ends], [max(0.0, block) * 1e6 for _, block in ends]
    return value(rates[0], min(rates), max(rates)), value(blocks[0], min(blocks), max(blocks))


def _alone(token: _Token, fixed: DeviceSpeed | None) -> Value | None:
    if fixed is None:
        return _per_second(token, NOTHING)
    costs = total((fixed.graph_us or NOTHING, scaled(fixed.layer_us or NOTHING, token.blocks)))
    return _per_second(token, scaled(costs, 1e-6))


def _per_second(token: _Token, fixed_s: Value) -> Value | None:
    """The bounds pair the least time with the greatest fixed costs; one that says nothing gives way to the middle."""
    seconds = token.seconds
    if fixed_s.value > TELLS_BELOW * seconds.value:
        return None
    fastest = max(seconds.low - fixed_s.high, (1 - TELLS_BELOW) * seconds.value)
    return value(
        token.bytes_read / (seconds.value - fixed_s.value),
        token.bytes_read / (seconds.high - fixed_s.low),
        token.bytes_read / fastest,
    )


def _multiplying(row: BenchRow, weights: Weights, speed: DeviceSpeed) -> Value | None:
    """Operations per second in one prompt: the rate at which the model's own prompt cost takes the time measured."""
    rate = spread(row.tokens_per_s)
    batches = -(-row.prompt_tokens // row.ubatch)
    tokens = row.prompt_tokens / batches
    unit = replace(
        speed,
        weights_bytes_per_s=exact(1e30),
        flop_per_s=exact(1.0),
        attention_flop_per_s=exact(1.0),
        layer_us=None,
        expert_layer_us=None,
        graph_us=None,
    )
    cost = prompt_cost(_whole(weights, unit), weights, tokens=tokens, context=row.prompt_tokens / 2)
    if cost is None:
        return None
    return product(exact(cost.work_s.value * batches / row.prompt_tokens), rate)
