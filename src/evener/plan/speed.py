"""How fast a placement will be, and where each token's milliseconds go. Pure: stages, model and workload in.

Decoding is serial: a token's time is the sum over its stages and hops. Prompts overlap across endpoints. Every figure
has an interval as wide as what it assumes. Explained, with sources, in docs/explanation/speed-model.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from evener.plan.links import UNKNOWN
from evener.plan.memory import UBATCH
from evener.plan.speed_load import load_seconds
from evener.plan.speed_stage import Cost, Stage, decode_cost, prompt_cost
from evener.plan.speed_traffic import Traffic, decode_traffic, prompt_traffic
from evener.plan.speed_values import NOTHING, combined, over, scaled, total, value
from evener.records.plan import Predicted, Share, Value, Workload
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What an engine build costs and can. `hop_us` comes on top of round trips and bytes, per endpoint left.
    `multiply_share` is what it reaches of today's rate in prompts."""

    hop_us: Value
    prompts_overlap: bool
    multiply_share: float = 1.0


# Between what loopback shows of the same build (380 us, plan/links.py) and what older builds cost on real networks.
CURRENT = Build(hop_us=value(1500, 300, 4000), prompts_overlap=True)
# Builds before graphs were kept on the worker send the whole graph with each token. Fitted to gpt-oss on 1 to 4 hosts.
BEFORE_GRAPH_REUSE = Build(hop_us=value(4900, 2500, 8000), prompts_overlap=False, multiply_share=0.59)


def predict(
    stages: Sequence[Stage],
    weights: Weights,
    workload: Workload,
    *,
    depth: int,
    build: Build = CURRENT,
    ubatch: int = UBATCH,
    cached: Collection[str] = (),
) -> Predicted:
    """Speed of `stages` in the order a token passes them, each sequence `depth` tokens long already.

    `decode_tokens_per_s` is one user alone, `users_tokens_per_s` all `workload.users` together, `prefill_tokens_per_s`
    a prompt of `workload.prompt_tokens` after `depth` tokens. A member is None where a device's speed is not known.
    The shares of `per_token_ms` add up to one token of one user. `cached` are endpoints whose worker cache is warm.
    """
    alone = _decode(stages, weights, workload, sequences=1, depth=depth, build=build)
    crowd = _decode(stages, weights, workload, sequences=workload.users, depth=depth, build=build)
    prompt_s = prompt_seconds(stages, weights, workload, depth=depth, build=build, ubatch=ubatch)
    return Predicted(
        decode_tokens_per_s=_rate(1, _seconds(alone)),
        users_tokens_per_s=_rate(workload.users, _seconds(crowd)),
        prefill_tokens_per_s=_rate(workload.prompt_tokens, prompt_s),
        load_s=load_seconds(stages, weights, cached=cached),
        per_token_ms=_shares(alone),
        depth=depth,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One stage's part of a batch, in seconds."""

    stage: Stage
    cost: Cost
    link_s: Value

    @property
    def total_s(self) -> Value:
        return total((self.cost.total_s, self.link_s))


def _decode(
    stages: Sequence[Stage], weights: Weights, workload: Workload, *, sequences: int, depth: int, build: Build
) -> list[_Part] | None:
    traffic = decode_traffic(stages, weights, workload, tokens=sequences, depth=depth)
    parts = []
    for stage, crossing in zip(stages, traffic, strict=True):
        cost = decode_cost(stage, weights, workload, sequences=sequences, depth=depth)
        if cost is None:
            return None
        parts.append(_Part(stage=stage, cost=cost, link_s=link_seconds(stage, crossing, build)))
    return parts


def prompt_seconds(
    stages: Sequence[Stage], weights: Weights, workload: Workload, *, depth: int, build: Build, ubatch: int = UBATCH
) -> Value | None:
    """Seconds of a prompt of `workload.prompt_tokens`, in micro-batches of equal length.

    Endpoints work on different micro-batches, the last one beside all earlier ones together (engine-facts F.5, measured
    on build 11434): n * max(last, earlier) + min(last, earlier). Devices behind one endpoint take turns. So do the
    head's own, likely; that llama.cpp overlaps these fully, which nobody measured here, is the low end.
    """
    batches = max(1, ceil(workload.prompt_tokens / ubatch))
    tokens = workload.prompt_tokens / batches
    context = depth + workload.prompt_tokens / 2
    traffic = prompt_traffic(stages, weights, workload, tokens=round(tokens), depth=round(context), last=False)
    times: list[tuple[str | None, Value]] = []
    for stage, crossing in zip(stages, traffic, strict=True):
        cost = prompt_cost(stage, weights, tokens=tokens, context=context, multiply_share=build.multiply_share)
        if cost is None:
            return None
        times.append((stage.endpoint, total((cost.total_s, link_seconds(stage, crossing, build)))))
    groups = [
        _in_turn([t for _, t in group], batches, may_overlap=endpoint is None and build.prompts_overlap)
        for endpoint, group in groupby(times, key=lambda pair: pair[0])
    ]
    earlier, last = total(groups[:-1]), groups[-1]
    if not build.prompts_overlap:
        return scaled(total((earlier, last)), batches)
    return combined(lambda e, t: batches * max(e, t) + min(e, t), earlier, last)


def _in_turn(times: Sequence[Value], batches: int, *, may_overlap: bool) -> Value:
    """A micro-batch through devices that take turns; at best all but one of the batches wait for the slowest only."""
    whole = total(times)
    if not may_overlap:
        return whole
    return replace(whole, low=(whole.low + (batches - 1) * max(t.low for t in times)) / batches)


def link_seconds(stage: Stage, crossing: Traffic, build: Build) -> Value:
    """Round trips, bytes at the link's rate, and what each hop costs beyond them."""
    if stage.endpoint is None:
        return NOTHING
    link = stage.link or UNKNOWN
    fixed = scaled(link.hop_us or build.hop_us, crossing.hops * 1e-6)
    waiting = scaled(link.rtt_us, crossing.round_trips * 1e-6)
    return total((fixed, waiting, over(crossing.up_bytes + crossing.down_bytes, scaled(link.gbit_per_s, 1e9 / 8))))


def _seconds(parts: list[_Part] | None) -> Value | None:
    return None if parts is None else total(part.total_s for part in parts)


def _rate(amount: int, seconds: Value | None) -> Value | None:
    return None if seconds is None else over(amount, seconds)


def _shares(parts: list[_Part] | None) -> tuple[Share, ...]:
    shares: list[Share] = []
    for part in parts or ():
        shares.append(Share(where=part.stage.name, kind="compute", ms=part.cost.work_s.value * 1e3))
        shares.append(Share(where=part.stage.name, kind="overhead", ms=part.cost.fixed_s.value * 1e3))
        if part.stage.endpoint is not None:
            link = part.stage.link or UNKNOWN
            shares.append(Share(where=f"{link.name} to {part.stage.name}", kind="link", ms=part.link_s.value * 1e3))
    return tuple(shares)
