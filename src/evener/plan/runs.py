"""What every run of slots takes on a seat, in bytes and in seconds, as matrices for the search. Pure.

`matrix[start, stop]` stands for slots start to stop. The seconds are the likely values of plan/speed.py, made of the
same parts with prefix sums: tests hold one against the other. Knows no order and no candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from evener.plan import memory
from evener.plan.search import Floats, Whole
from evener.plan.seats import Seat
from evener.plan.speed import CURRENT, Build, link_seconds
from evener.plan.speed_stage import (
    EXPERT_TOKENS_HALF,
    SMALL_BATCH_SHARE,
    Part,
    Stage,
    attention_flop,
    cache_read_bytes,
    flop,
    touched_bytes,
)
from evener.plan.speed_traffic import Traffic, decode_traffic, graph_bytes, prompt_traffic
from evener.records.plan import Objective, Workload
from evener.records.speed import DeviceSpeed, LinkSpeed
from evener.records.weights import Weights

Truths = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Load:
    """A model under a workload, as far as cards take it.

    Slots before `begin` stay with the CPU, and so do the experts of the first `experts_in_ram` blocks. Without
    `copies` the engine keeps no pipeline copies of a split's inputs, and prompts do not overlap. `spare` is the share
    of what a card offers that stays free. `beside_on` is the name of the seat that holds a projector and a draft model
    beside it; without one they stay in the head's RAM.
    """

    weights: Weights
    workload: Workload
    experts_in_ram: int = 0
    begin: int = 0
    copies: bool = True
    spare: float = 0.0
    beside_on: str | None = None
    build: Build = CURRENT
    # What slots amount to, by what it depends on; loads made of one another with `replace` share it.
    _known: dict[Hashable, tuple[Weights, Floats]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def slots(self) -> int:
        return self.weights.layers + 1

    @property
    def depth(self) -> int:
        """Tokens that a sequence has seen in the middle of an answer."""
        return min(self.workload.context, self.workload.prompt_tokens + self.workload.output_tokens // 2)

    def room_bytes(self, seat: Seat) -> int:
        return seat.room_bytes - int(self.spare * seat.offered_bytes) - self.beside_bytes(seat)

    def beside_bytes(self, seat: Seat) -> int:
        """What a seat holds beside the model."""
        if seat.name != self.beside_on:
            return 0
        return memory.beside_bytes(self.weights, self.workload, kind=seat.card.kind)

    def part(self, slot: int) -> Part:
        return "rest" if slot < self.experts_in_ram and self.expert_bytes[slot] else "whole"

    @cached_property
    def expert_bytes(self) -> tuple[int, ...]:
        return self.weights.slot_expert_bytes or (0,) * self.slots

    @cached_property
    def caches(self) -> tuple[int, ...]:
        return memory.cache_bytes(self.weights, self.workload)

    def held(self, kind: str) -> tuple[int, ...]:
        """Weights per slot on a card of `kind`, without what is in RAM."""
        held = memory.held_bytes(self.weights, kind=kind, drafts=memory.mtp_drafts(self.weights, self.workload))
        return tuple(
            size - (self.expert_bytes[slot] if self.part(slot) == "rest" else 0) for slot, size in enumerate(held)
        )

    def compute_bytes(self, start: int, stop: int) -> int:
        """The compute buffer of whatever device holds slots start to stop."""
        first, last = start == self.begin, stop == self.slots
        devices, position = (1, 0) if first and last else (3, 0 if first else 2 if last else 1)
        blocks = range(start, min(stop, self.weights.layers))
        size = memory.compute_bytes(
            self.weights, self.workload, devices=devices, position=position, layers=blocks, copies=self.copies
        )
        return size + self._offloaded(start)

    def _offloaded(self, start: int) -> int:
        """What is copied to a card for a prompt's batch, of weights that stay in RAM."""
        if self.begin and start == self.begin:
            return memory.offloaded_bytes(self.weights, layers_in_ram=self.begin)
        if start < self.experts_in_ram:
            return memory.offloaded_bytes(self.weights, experts_in_ram=self.experts_in_ram)
        return 0

    @cached_property
    def compute(self) -> Whole:
        """`compute_bytes` of every run. It depends on little of a run: asked once for each combination."""
        shape, states = self.weights.attention, self.weights.recurrent_bytes_per_sequence
        looks = [
            (
                bool(shape and shape.kv_heads[b]),
                shape.window[b] if shape else None,
                states[b] if states else 0,
                b < self.experts_in_ram,
            )
            for b in range(self.weights.layers)
        ]
        starts, stops = _starts(self.slots), _stops(self.slots)
        code = (starts == self.begin) * 2 + (stops == self.slots) * 1
        for place, look in enumerate(dict.fromkeys(looks)):
            holds = _between(_sums([float(one == look) for one in looks] + [0.0])) > 0
            code = code + holds * (4 << place)
        code[starts >= stops] = -1
        result: Whole = np.zeros(code.shape, dtype=np.int64)
        for one, at in zip(*np.unique(code, return_index=True), strict=True):
            if one >= 0:
                result[code == one] = self.compute_bytes(int(starts.flat[at]), int(stops.flat[at]))
        return result

    def fits(self, seat: Seat) -> Truths:
        """Which runs a seat can hold."""
        held = _sums([a + b for a, b in zip(self.held(seat.card.kind), self.caches, strict=True)])
        roomy: Truths = _between(held) + self.compute <= self.room_bytes(seat)
        return roomy & (_starts(self.slots) < _stops(self.slots))

    # ---- seconds

    def seconds(self, seat: Seat, objective: Objective, *, link: LinkSpeed | None, copied: bool) -> Floats | None:
        """Seconds of every run on a seat; None where its speed is not known. `link` leads to a served one.

        `copied`: another device of the same worker is before it.
        """
        if seat.speed is None:
            return None
        if objective == "prompt":
            work = self._prompt(seat.speed)
        else:
            work = self._decode(seat.speed, self._sequences(objective))
        return work if work is None or link is None else work + self._crossing(objective, link, copied)

    def leaving_seconds(self, objective: Objective, link: LinkSpeed | None) -> float:
        """What it costs to go on from one worker to another device."""
        if link is None:
            return 0.0
        stays, leaves = (self._traffic(objective, first=True, copied=False, ends=e) for e in ("stays", "leaves"))
        return _link_s(link, leaves, self.build) - _link_s(link, stays, self.build)

    @property
    def batches(self) -> int:
        return max(1, ceil(self.workload.prompt_tokens / memory.UBATCH))

    def _sequences(self, objective: Objective) -> int:
        return self.workload.users if objective == "crowd" else 1

    def _decode(self, speed: DeviceSpeed, sequences: int) -> Floats | None:
        rate, cache_rate = speed.weights_bytes_per_s, speed.cache_bytes_per_s or speed.weights_bytes_per_s
        if rate is None or cache_rate is None:
            return None

        def reading(together: int) -> Floats:
            work, depth = self.workload, self.depth
            touched = self._per_slot(("touched", together), lambda s: touched_bytes(s, self.weights, tokens=together))
            cache = self._per_slot(
                ("cache", together, depth, work.kv_type_k, work.kv_type_v),
                lambda s: cache_read_bytes(s, self.weights, work, sequences=together, depth=depth),
            )
            return _between(touched) / rate.value + _between(cache) / cache_rate.value

        work = reading(sequences)
        if sequences > 1 and speed.flop_per_s is not None:
            operations = _between(self._per_slot(("flop",), lambda s: sum(flop(s, self.weights, head=True))))
            together = sequences * operations / (speed.flop_per_s.value * SMALL_BATCH_SHARE.value)
            work = np.maximum(work, np.minimum(together, sequences * reading(1)))
        return work + self._fixed(speed)

    def _prompt(self, speed: DeviceSpeed) -> Floats | None:
        rate = speed.flop_per_s
        if rate is None or speed.weights_bytes_per_s is None:
            return None
        weights, tokens = self.weights, self.workload.prompt_tokens / self.batches
        context = self.depth + self.workload.prompt_tokens / 2
        flops = rate.value * self.build.multiply_share
        multiplying = tokens * _between(self._per_slot(("plain",), lambda s: flop(s, weights, head=False)[0])) / flops
        if weights.experts:
            each = tokens * weights.experts_used / weights.experts
            routed = _between(self._per_slot(("routed",), lambda s: flop(s, weights, head=False)[1]))
            multiplying += tokens * routed / (flops * each / (each + EXPERT_TOKENS_HALF))
        batch = round(tokens)
        touched = _between(self._per_slot(("touched", batch), lambda s: touched_bytes(s, weights, tokens=batch)))
        attended = self._per_slot(("attention", context), lambda s: attention_flop(s, weights, context))
        attending = tokens * _between(attended)
        work = np.maximum(touched / speed.weights_bytes_per_s.value, multiplying)
        return work + attending / (speed.attention_flop_per_s or rate).value + self._fixed(speed)

    def _fixed(self, speed: DeviceSpeed) -> Floats:
        trunk = self.weights.layers - self.weights.mtp_layers
        layer, routed, graph = (v.value if v else 0.0 for v in (speed.layer_us, speed.expert_layer_us, speed.graph_us))
        each = [
            (layer + routed * bool(self.expert_bytes[s] and self.part(s) == "whole")) * (s < trunk)
            for s in range(self.slots)
        ]
        return (_between(_sums(each)) + graph) * 1e-6

    def _per_slot(self, what: tuple[Hashable, ...], amount: Callable[[Stage], float]) -> Floats:
        """Prefix sums of what single slots amount to. `what` says all it depends on beside the model's placement."""
        key = (id(self.weights), self.experts_in_ram, *what)
        if key not in self._known:
            sums = _sums([amount(stage) for stage in self._single_slots])
            self._known[key] = self.weights, sums  # who is kept keeps its id
        return self._known[key][1]

    @cached_property
    def _single_slots(self) -> list[Stage]:
        return [_stage(slot, 1, part=self.part(slot)) for slot in range(self.slots)]

    def _crossing(self, objective: Objective, link: LinkSpeed, copied: bool) -> Floats:
        """The link's part of every run, without going on to another worker."""
        found = np.zeros((self.slots + 1, self.slots + 1))
        for first in (False, True):
            for last in (False, True):
                ends = "last" if last else "stays"
                crossing = self._traffic(objective, first=first, copied=copied and not first, ends=ends)
                rows = self.begin if first else slice(None)
                columns = self.slots if last else slice(None, -1)
                if not first:
                    found[:, columns] = _link_s(link, crossing, self.build)
                else:
                    found[rows, columns] = _link_s(link, crossing, self.build)
        if objective == "prompt":
            graphs = _between(self._per_slot(("graphs",), lambda s: graph_bytes(s, self.weights)))
            found += graphs / (link.gbit_per_s.value * 1e9 / 8)
        return found

    def _traffic(self, objective: Objective, *, first: bool, copied: bool, ends: str) -> Traffic:
        """What one remote device sends and fetches, asked in a chain of empty stages around it."""
        before = [] if first else [_stage(0, 0, endpoint="mine" if copied else "other")]
        after = {"last": [], "stays": [_stage(0, 0, endpoint="mine")], "leaves": [_stage(0, 0, endpoint="next")]}[ends]
        chain = [*before, _stage(0, 0, endpoint="mine"), *after]
        if objective == "prompt":
            tokens, context = self.workload.prompt_tokens / self.batches, self.depth + self.workload.prompt_tokens / 2
            asked = {"tokens": round(tokens), "depth": round(context)}
            return prompt_traffic(chain, self.weights, self.workload, **asked, last=False)[len(before)]
        asked = {"tokens": self._sequences(objective), "depth": self.depth}
        return decode_traffic(chain, self.weights, self.workload, **asked)[len(before)]


def _link_s(link: LinkSpeed, crossing: Traffic, build: Build) -> float:
    return link_seconds(_stage(0, 0, endpoint="mine", link=link), crossing, build).value


def _stage(
    start: int, count: int, *, part: Part = "whole", endpoint: str | None = None, link: LinkSpeed | None = None
) -> Stage:
    return Stage(host="", card="", speed=None, start=start, count=count, part=part, endpoint=endpoint, link=link)


def _sums(amounts: Sequence[float]) -> Floats:
    return np.concatenate(([0.0], np.cumsum(np.asarray(amounts, dtype=np.float64))))


def _between(sums: Floats) -> Floats:
    """The sum over each run."""
    return sums[None, :] - sums[:, None]


def _starts(slots: int) -> Whole:
    return np.repeat(np.arange(slots + 1)[:, None], slots + 1, axis=1)


def _stops(slots: int) -> Whole:
    return _starts(slots).T
