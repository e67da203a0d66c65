"""Which slots go to which seat: the best cut by predicted speed, or by room where a speed is not known. Pure.

Two hosts or more are a chain: the head's own cards, and a worker for every other host. Where every speed is known the
search decides the cut, the order and who is left out; else each seat is filled to one common share of its room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from evener.plan import copies, layers, memory
from evener.plan.runs import Load
from evener.plan.search import Block, Cut, Device, Floats, least_overlap, least_sum
from evener.plan.seats import Seat, names_at_head, served_hosts
from evener.plan.speed_stage import Stage
from evener.records.plan import Objective
from evener.records.speed import LinkSpeed

MOST_DEVICES = 15  # -ts takes no more values
LONGEST_CONTEXT = 1 << 20
SPARE = 0.05  # of each card: what estimates of compute buffers and drivers may miss


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Seats that one server may use, in the order in which a plan without speeds uses them: the head's own last.

    `links` leads from the head to each host of a worker.
    """

    seats: tuple[Seat, ...]
    head: str
    links: dict[str, LinkSpeed]

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(seat.host.name for seat in self.seats))

    def link(self, seat: Seat) -> LinkSpeed | None:
        """None for a device of the head's own."""
        return self.links[seat.host.name] if seat.host.name in self.served else None

    @cached_property
    def served(self) -> frozenset[str]:
        """Hosts whose cards are behind workers."""
        return frozenset(served_hosts(self.seats, self.head))

    @property
    def behind_workers(self) -> tuple[bool, ...]:
        """Of each seat whether a worker serves it."""
        return tuple(seat.host.name in self.served for seat in self.seats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """(seat, slots) in the order a token passes, and the load as it is placed there."""

    parts: tuple[tuple[Seat, int], ...]
    load: Load

    def runs(self) -> Iterator[tuple[Seat, int, int]]:
        """(seat, first slot, slot after the last)."""
        start = self.load.begin
        for seat, count in self.parts:
            yield seat, start, start + count
            start += count

    def has_beside(self) -> bool:
        """Whether the card that holds what stands beside the model takes part."""
        return self.load.beside_on in (None, *(seat.name for seat, _ in self.parts))

    def holds(self) -> bool:
        """Whether every seat has room for what it is given."""
        return all(needed(self.load, seat, a, b) <= self.load.room_bytes(seat) for seat, a, b in self.runs())


def needed(load: Load, seat: Seat, start: int, stop: int) -> int:
    """Bytes of a run on a seat: weights, caches, compute buffer."""
    held = sum(load.held(seat.card.kind)[start:stop])
    return held + sum(load.caches[start:stop]) + load.compute_bytes(start, stop)


def placed(chain: Chain, load: Load) -> Placed | None:
    """The best cut for the workload's aim that leaves some of each card free, else the best that fits at all.

    Pipeline copies are given up where it fits only so, or where they bring nothing. What stands beside the model is on
    a card of the head that takes part. None when nothing fits.
    """
    return next((done for done in _tries(chain, load) if done is not None and done.has_beside()), None)


def _tries(chain: Chain, load: Load) -> Iterator[Placed | None]:
    """The best cuts, and where none of them has a layer on the card beside: every card filled alike."""
    for one in besides(chain, load):
        yield _placed(chain, one)
    for one in besides(chain, load):
        if one.beside_on is not None:
            yield _filled(chain, replace(one, copies=False))


def besides(chain: Chain, load: Load) -> Iterator[Load]:
    """The load with its projector and draft model on each of the head's own cards, the largest first.

    On another host every image and each drafted token would cross the cable. In RAM where the head has no card: beside
    a card a draft model on the processor would take longer than what it saves.
    """
    own = [seat for seat in chain.seats if chain.link(seat) is None and seat.card.kind != "cpu"]
    if not own or (load.weights.projector is None and load.weights.draft is None):
        own = []
        yield replace(load, beside_on=None)
    for seat in sorted(own, key=lambda seat: -seat.offered_bytes):
        yield replace(load, beside_on=seat.name)


def _placed(chain: Chain, load: Load) -> Placed | None:
    kept = [one for one in copies.worth_trying(chain.behind_workers) if load.copies or not one]
    tries = [replace(load, spare=SPARE, copies=one) for one in kept]
    tries += [replace(one, spare=0.0) for one in tries]
    done = next((done for one in tries if (done := best_cut(chain, one)) is not None), None)
    if done is None or any(seat.host.name not in chain.served for seat, _ in done.parts):
        return done
    return replace(done, load=replace(done.load, copies=False))


def stages(chain: Chain, done: Placed) -> list[Stage]:
    """What the speed model is asked about, devices by the head's names, with the experts in RAM beside their cards."""
    found = []
    names = names_at_head([seat for seat, _ in done.parts], chain.head)
    for name, (seat, start, stop) in zip(names, done.runs(), strict=True):
        link = chain.link(seat)
        whole = Stage(
            host=seat.host.name, card=name, speed=seat.speed, start=start, count=stop - start,
            endpoint=None if link is None else seat.worker, link=link,
        )  # fmt: skip
        middle = min(max(done.load.experts_in_ram, start), stop)
        if middle > start:
            found.append(replace(whole, count=middle - start, part="rest"))
        if stop > middle:
            found.append(replace(whole, start=middle, count=stop - middle))
    return found


def by_memory(chain: Chain, load: Load) -> Placed:
    """What a user would write: -ts in proportion to each card's memory, every card in the engine's order."""
    sizes = [float(seat.card.total_bytes or seat.offered_bytes) for seat in chain.seats]
    counts = layers.counts(layers.assign(load.slots, sizes), len(sizes))
    load = next(besides(chain, load))
    done = Placed(parts=_used(chain.seats, counts), load=replace(load, spare=SPARE))
    return done if done.holds() else replace(done, load=load)


def longest_context(chain: Chain, load: Load) -> Placed | None:
    """The placement with the longest context per user that still fits; None when even 256 tokens do not."""
    load = load if load.beside_on else next(besides(chain, load))
    trained = load.weights.context_train or LONGEST_CONTEXT
    low, high, best = 0, max(1, trained // memory.PADDING), None
    while low < high:
        middle = (low + high + 1) // 2
        asked = replace(load, workload=replace(load.workload, context=middle * memory.PADDING))
        if (found := _fastest(chain, asked, "latency")) is None:
            high = middle - 1
        else:
            low, best = middle, found
    return best


def context_held(done: Placed) -> int | None:
    """The longest context per user, in tokens, that this very cut holds; None where caches were measured for one."""
    weights, work = done.load.weights, done.load.workload
    if weights.attention is None:
        return None
    asked = memory.padded(work.context) // memory.PADDING
    low, high = asked, max(asked, (weights.context_train or LONGEST_CONTEXT) // memory.PADDING)
    while low < high:
        middle = (low + high + 1) // 2
        longer = replace(done.load, workload=replace(work, context=middle * memory.PADDING))
        low, high = (middle, high) if replace(done, load=longer).holds() else (low, middle - 1)
    return low * memory.PADDING


def best_cut(chain: Chain, load: Load) -> Placed | None:
    """The best cut for the workload's aim within the load's rooms; None when nothing fits."""
    aim = load.workload.aim
    if aim == "context" and (longest := longest_context(chain, load)) is not None:
        fitting = Placed(parts=longest.parts, load=load)
        return fitting if fitting.holds() else _fastest(chain, load, "latency")
    return _fastest(chain, load, "latency" if aim == "context" else aim)


def _fastest(chain: Chain, load: Load, objective: Objective) -> Placed | None:
    blocks = _blocks(chain, load, objective)
    if blocks is None:
        cards = _without_unknown_cpus(chain)
        return (_fastest(cards, load, objective) if cards else None) or _filled(chain, load)
    found: Cut | None = None
    for at_least in (min(2, len(chain.hosts)), 1):
        if objective == "prompt" and copies.overlap(chain.behind_workers, copies=load.copies):
            found = least_overlap(blocks, load.slots, batches=load.batches, begin=load.begin, at_least=at_least)
        else:
            found = least_sum(blocks, load.slots, begin=load.begin, at_least=at_least)
        if found is not None:
            break
    if found is None or len(found.parts) > MOST_DEVICES:
        return None
    return Placed(parts=tuple((chain.seats[number], count) for number, count in found.parts), load=load)


def _blocks(chain: Chain, load: Load, objective: Objective) -> list[Block] | None:
    """The chain for the search; None where a speed is not known."""
    blocks = []
    known: dict[object, tuple[Floats, Floats] | None] = {}
    numbered = list(enumerate(chain.seats))
    for _, group in groupby(numbered, key=lambda pair: pair[1].worker):
        devices = []
        link: LinkSpeed | None = None
        for number, seat in group:
            link = chain.link(seat)
            kind = (seat.card.kind, load.room_bytes(seat), seat.speed, link)
            if kind not in known:
                known[kind] = _matrices(load, seat, objective, link)
            if (matrices := known[kind]) is None:
                return None
            devices.append(Device(number=number, kind=kind, first=matrices[0], later=matrices[1]))
        blocks.append(Block(devices=tuple(devices), leaving=load.leaving_seconds(objective, link)))
    return blocks


def _without_unknown_cpus(chain: Chain) -> Chain | None:
    """The chain without CPUs that nobody measured; None where there are none, or others are not known either."""
    kept = tuple(seat for seat in chain.seats if seat.card.kind != "cpu" or seat.speed is not None)
    known = all(seat.speed is not None for seat in kept)
    return replace(chain, seats=kept) if known and 0 < len(kept) < len(chain.seats) else None


def _matrices(load: Load, seat: Seat, objective: Objective, link: LinkSpeed | None) -> tuple[Floats, Floats] | None:
    fits = load.fits(seat)
    first = load.seconds(seat, objective, link=link, copied=False)
    if first is None:
        return None
    later = None if link is None else load.seconds(seat, objective, link=link, copied=True)
    return np.where(fits, first, np.inf), np.where(fits, first if later is None else later, np.inf)


def _filled(chain: Chain, load: Load) -> Placed | None:
    """Every seat filled to one common share of its room, in the chain's own order; of too many the roomiest."""
    roomiest = sorted(chain.seats, key=lambda seat: -seat.room_bytes)[:MOST_DEVICES]
    chain = replace(chain, seats=tuple(seat for seat in chain.seats if seat in roomiest))
    counts = layers.fill(_slot_bytes(chain, load), _rooms(chain, load))
    if counts is None:
        return None
    return Placed(parts=_used(chain.seats, (*counts,)), load=load)


def _used(seats: Sequence[Seat], counts: Sequence[int]) -> tuple[tuple[Seat, int], ...]:
    """A device without a slot would still cost buffers and a connection."""
    return tuple((seat, count) for seat, count in zip(seats, counts, strict=True) if count)


def _slot_bytes(chain: Chain, load: Load) -> list[int]:
    """What each slot from the beginning on takes on whichever of the cards holds it."""
    held = [load.held(kind) for kind in {seat.card.kind for seat in chain.seats}]
    each = [max(sizes) + cache for *sizes, cache in zip(*held, load.caches, strict=True)]
    return each[load.begin :]


def _rooms(chain: Chain, load: Load) -> list[int]:
    """Room for slots, beside the compute buffer of each place in the chain, as if it held layers of every kind."""
    count = len(chain.seats)
    compute = (
        memory.compute_bytes(load.weights, load.workload, devices=count, position=p, copies=load.copies)
        for p in range(count)
    )
    return [max(0, load.room_bytes(seat) - size) for seat, size in zip(chain.seats, compute, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """The seat that ends up over, when all before it are full, and by how much."""

    seat: Seat
    bytes: int
    needs_bytes: int  # slots of the whole model


def shortage(chain: Chain, load: Load) -> Short:
    """Where a model that does not fit would not fit, and by how much at the least."""
    load = replace(next(besides(chain, load)), copies=False)
    slots, rooms = _slot_bytes(chain, load), _rooms(chain, load)
    left = list(slots)
    for room in rooms[:-1]:
        used = 0
        while left and used + left[0] <= room:
            used += left.pop(0)
    over = max(1, sum(left) - rooms[-1])
    return Short(seat=chain.seats[-1], bytes=over, needs_bytes=sum(slots))
