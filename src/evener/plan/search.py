"""The best cut of a model's slots over devices, and the best order of these: exact, by dynamic programming. Pure.

Knows neither bytes nor milliseconds: the caller says what each run of slots costs on each device. Devices come in
blocks (behind one worker, or the head's own). All sets of devices, all orders of blocks and all orders of the devices
of a block are searched; only devices of one block stay together. A device may be left out, and then costs nothing.
Who takes the first slot and who takes the last is part of a run, so what these cost extra is the caller's to charge.

Times of decoding add up over devices: `least_sum`. A prompt overlaps across blocks, its micro-batches limited by the
slower of the last block and all earlier ones together: `least_overlap` (engine-facts F.5).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_STATES = 4096  # of distinct devices in a block, or distinct blocks; beyond, they keep the order they came in


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Device:
    """What a device charges: `first[start, stop]` for slots start to stop where it begins its block, `later` behind
    another one of the block; infinity where they do not fit. Devices of equal `kind` charge alike."""

    number: int
    kind: Hashable
    first: Floats
    later: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Devices that stay together. `leaving` is what it costs to go on from here to another block."""

    devices: tuple[Device, ...]
    leaving: float = 0.0

    @property
    def kind(self) -> Hashable:
        return (tuple(d.kind for d in self.devices), self.leaving)


@dataclass(frozen=True, slots=True)
class Cut:
    """(device number, slots) in order, and what they cost together."""

    parts: tuple[tuple[int, int], ...]
    cost: float


def least_sum(blocks: Sequence[Block], slots: int, *, begin: int = 0, at_least: int = 1) -> Cut | None:
    """The cut of slots `begin` to `slots` whose costs add up to the least; None when nothing fits.

    `at_least` is how many blocks have to take part.
    """
    chain = _Chain(blocks, slots, begin)
    ends = [state for state in chain.vectors if chain.lattice.used(state) >= at_least]
    best = min(ends, key=lambda state: float(chain.vectors[state][slots]), default=None)
    if best is None or not np.isfinite(cost := float(chain.vectors[best][slots])):
        return None
    return Cut(parts=tuple(chain.parts(best, slots)), cost=cost)


def least_overlap(
    blocks: Sequence[Block], slots: int, *, batches: int, begin: int = 0, at_least: int = 1
) -> Cut | None:
    """The cut of the least `batches * max(last, earlier) + min(last, earlier)`, in blocks."""
    chain = _Chain(blocks, slots, begin)
    ending = {id(block): _Ending(block, slots) for block in blocks}
    found: tuple[float, int, State, Block] | None = None
    for state, earlier in chain.vectors.items():
        if chain.lattice.used(state) + 1 < at_least:
            continue
        for block, _ in chain.lattice.moves(state):
            last = ending[id(block)].cost
            totals = batches * np.maximum(last, earlier) + np.minimum(last, earlier)
            start = int(np.argmin(totals[:slots]))
            if np.isfinite(totals[start]) and (found is None or totals[start] < found[0]):
                found = float(totals[start]), start, state, block
    if found is None:
        return None
    cost, start, state, block = found
    return Cut(parts=(*chain.parts(state, start), *ending[id(block)].parts(start)), cost=cost)


# ---- which sets of things, in which order


class _HasKind(Protocol):
    @property
    def kind(self) -> Hashable: ...


T = TypeVar("T", bound=_HasKind)
State = tuple[int, ...]  # how many of each kind are used; or, in the given order: (next, used)


class _Lattice(Generic[T]):
    """States from nothing used to everything used, each before those that follow from it."""

    def __init__(self, things: Sequence[T]) -> None:
        kinds: dict[Hashable, list[T]] = {}
        for thing in things:
            kinds.setdefault(thing.kind, []).append(thing)
        self._groups = list(kinds.values())
        self._things = tuple(things)
        self._in_order = prod(len(group) + 1 for group in self._groups) > MOST_STATES
        self.nothing: State = (0, 0) if self._in_order else (0,) * len(self._groups)

    @cached_property
    def states(self) -> list[State]:
        if self._in_order:
            count = len(self._things)
            return [(place, used) for place in range(count + 1) for used in range(place + 1)]
        return sorted(product(*(range(len(group) + 1) for group in self._groups)), key=sum)

    def used(self, state: State) -> int:
        return state[1] if self._in_order else sum(state)

    def moves(self, state: State) -> Iterator[tuple[T, State]]:
        """What can be used next, and the state after it."""
        if self._in_order:
            place, used = state
            for later in range(place, len(self._things)):
                yield self._things[later], (later + 1, used + 1)
            return
        for index, group in enumerate(self._groups):
            if state[index] < len(group):
                yield group[state[index]], (*state[:index], state[index] + 1, *state[index + 1 :])


# ---- runs of slots through devices and blocks


class _Best:
    """The least cost per number of slots placed, and for each the way there: (state before, thing, slots before)."""

    __slots__ = ("_from", "_ways", "_which", "cost")

    def __init__(self, cost: Floats) -> None:
        self.cost = cost
        self._ways: list[tuple[State, Any]] = []
        self._which = np.full(len(cost), -1)  # of the ways, for each number of slots; -1: it is where one begins
        self._from = np.zeros(len(cost), dtype=np.int64)

    @classmethod
    def none(cls, slots: int) -> _Best:
        return cls(np.full(slots + 1, np.inf))

    def improve(self, cost: Floats, origins: Whole | None, state: State, thing: Any) -> None:
        """Take what is cheaper in `cost`; `origins` are the slots placed before, None where it is the end itself."""
        better = cost < self.cost
        if not better.any():
            return
        self._which[better] = len(self._ways)
        self._ways.append((state, thing))
        self._from[better] = np.flatnonzero(better) if origins is None else origins[better]
        self.cost = np.minimum(self.cost, cost)

    def before(self, slots: int) -> tuple[State, Any, int] | None:
        if (which := self._which[slots]) < 0:
            return None
        return (*self._ways[which], int(self._from[slots]))


class _Passage:
    """One block, entered with `entered[s]` as the cost of having placed s slots."""

    def __init__(self, block: Block, lattice: _Lattice[Device], entered: Floats) -> None:
        slots = len(entered) - 1
        self._best = {lattice.nothing: _Best(entered)}
        self._through = _Best.none(slots)
        for state in lattice.states:
            if (here := self._best.get(state)) is None:
                continue
            if lattice.used(state):
                self._through.improve(here.cost, None, state, block)
            for device, after in lattice.moves(state):
                sums = here.cost[:, None] + (device.later if lattice.used(state) else device.first)
                origins = sums.argmin(axis=0)
                best = self._best.setdefault(after, _Best.none(slots))
                best.improve(sums[origins, np.arange(slots + 1)], origins, state, device)

    @property
    def cost(self) -> Floats:
        return self._through.cost

    def parts(self, stop: int) -> tuple[list[tuple[int, int]], int]:
        """(the devices that place slots up to `stop`, the slots placed before them)."""
        found: list[tuple[int, int]] = []
        way = self._through.before(stop)
        assert way is not None
        state = way[0]
        while (step := self._best[state].before(stop)) is not None:
            state, device, start = step
            found.append((device.number, stop - start))
            stop = start
        return found[::-1], stop


class _Chain:
    """All sequences of blocks. `vectors[state][s]` is the least cost of s slots placed on the blocks of `state`, and of
    having left them where slots remain."""

    def __init__(self, blocks: Sequence[Block], slots: int, begin: int) -> None:
        self.lattice = _Lattice(blocks)
        start = np.full(slots + 1, np.inf)
        start[begin] = 0.0
        self._best = {self.lattice.nothing: _Best(start)}
        inside = {id(block): _Lattice(block.devices) for block in blocks}
        self._passages: dict[tuple[State, int], _Passage] = {}
        for state in self.lattice.states:
            if (here := self._best.get(state)) is None or not np.isfinite(here.cost[:slots]).any():
                continue
            for block, after in self.lattice.moves(state):
                passage = self._passages[state, id(block)] = _Passage(block, inside[id(block)], here.cost)
                cost = passage.cost + block.leaving
                cost[slots] = passage.cost[slots]
                self._best.setdefault(after, _Best.none(slots)).improve(cost, None, state, block)
        self.vectors = {state: best.cost for state, best in self._best.items()}

    def parts(self, state: State, stop: int) -> list[tuple[int, int]]:
        """The devices, in order, with which `stop` slots are placed at the cost of `vectors[state][stop]`."""
        found: list[tuple[int, int]] = []
        while (step := self._best[state].before(stop)) is not None:
            state, block, _ = step
            own, stop = self._passages[state, id(block)].parts(stop)
            found = own + found
        return found


class _Ending:
    """One block as the last: `cost[s]` is the least cost of placing everything from slot s on in it."""

    def __init__(self, block: Block, slots: int) -> None:
        lattice = _Lattice(block.devices[::-1])  # from the last device back to the first
        end = np.full(slots + 1, np.inf)
        end[slots] = 0.0
        self._best = {lattice.nothing: _Best(end)}
        self._entered = _Best.none(slots)
        for state in lattice.states:
            if (here := self._best.get(state)) is None:
                continue
            for device, before in lattice.moves(state):
                for matrix, best in (
                    (device.first, self._entered),
                    (device.later, self._best.setdefault(before, _Best.none(slots))),
                ):
                    sums = matrix + here.cost
                    stops = sums.argmin(axis=1)
                    best.improve(sums[np.arange(slots + 1), stops], stops, state, device)

    @property
    def cost(self) -> Floats:
        return self._entered.cost

    def parts(self, start: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        step = self._entered.before(start)
        while step is not None:
            state, device, stop = step
            found.append((device.number, stop - start))
            start = stop
            step = self._best[state].before(start)
        return found
