"""Changes with which a model that fits nowhere would fit, each tried and with its figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from evener.plan import memory
from evener.plan.cards import find
from evener.plan.chains import Chains, chains_of
from evener.plan.figures import BY_MEMORY
from evener.plan.placing import Chain, placed
from evener.plan.question import Question
from evener.plan.runs import Load
from evener.plan.stated import label
from evener.plan.what_if import World, added
from evener.plan.words import gib
from evener.records.plan import Candidate, Workload
from evener.records.weights import Weights

FEW = 2  # ways out, beside more of card memory: fewer, and cards are tried that could be added
ADDABLE = ("cuda", "rocm", "vulkan", "sycl")  # kinds of cards; Apple's memory is bought with the machine
MOST_CARDS = 4


def ways_out(
    question: Question, candidates: Sequence[Candidate], chains: Chains, layout: str = "auto"
) -> tuple[str, ...]:
    """What would make it fit, the least painful first; empty where memory is not what is missing.

    Of a `layout` that was asked for, what makes it fit there, after the layouts that hold it already.
    """
    on_cards = [c for c in candidates if c.kind in ("card", "host", "cluster") and c.name != BY_MEMORY]
    asked = [c for c in on_cards if c.name == layout] or on_cards
    short = [c.short_bytes for c in asked if c.short_bytes]
    if not short or not chains.hosts:
        return ()
    fitting = tuple(f"--layout {c.name} fits as it is" for c in on_cards if c.fits)
    ways = (*fitting, *_changes(question, _only(chains, layout)))
    if len(ways) < FEW and layout == "auto":
        ways += tuple(_more_cards(question, chains, min(short)))
    return (*ways, f"{gib(min(short))} more of card memory")


def _only(chains: Chains, layout: str) -> Chains:
    """The chain of a layout that was asked for; all where it has none of its own."""
    if layout in chains.clusters:
        return Chains(hosts=(), clusters={layout: chains.clusters[layout]})
    if mine := tuple(chain for chain in chains.hosts if chain.head == layout):
        return Chains(hosts=mine)
    cards = [(chain.head, seat) for chain in chains.hosts for seat in chain.seats if seat.name == layout]
    alone = tuple(Chain(seats=(seat,), head=head, links={}) for head, seat in cards)
    return Chains(hosts=alone, card=layout) if alone else chains


def _changes(question: Question, chains: Chains) -> Iterator[str]:
    weights, work = question.weights, question.workload
    closed = weights.attention is not None  # caches measured for one workload say nothing of another
    small = replace(work, kv_type_k="q8_0", kv_type_v="q8_0")
    if closed and work.kv_type_k == "f16" and (where := _where(chains, weights, small)):
        saved = sum(memory.cache_bytes(weights, work)) - sum(memory.cache_bytes(weights, small))
        yield f"--kv q8_0 takes {gib(saved)} less and fits on {where}"
    if closed:
        yield from _fewer(weights, work, chains)
        if work.kv_type_k == "f16" and not _where(chains, weights, small):
            yield from (f"--kv q8_0 with {way}" for way in _fewer(weights, small, chains))
    yield from _smaller(question, chains)


def _fewer(weights: Weights, work: Workload, chains: Chains) -> Iterator[str]:
    """The most context, and the most users, that still fit."""

    def context(steps: int) -> Workload:
        return replace(work, context=steps * memory.PADDING)

    def users(count: int) -> Workload:
        return replace(work, users=count, objective=work.aim)

    steps = _most((work.context - 1) // memory.PADDING, lambda n: bool(_where(chains, weights, context(n))))
    if steps:
        yield f"--context {steps * memory.PADDING} fits on {_where(chains, weights, context(steps))}"
    count = _most(work.users - 1, lambda n: bool(_where(chains, weights, users(n))))
    if count:
        yield f"--users {count} fits on {_where(chains, weights, users(count))}"


def _smaller(question: Question, chains: Chains) -> Iterator[str]:
    """The largest smaller quantisation that fits as asked."""
    mine = question.weights
    same = [
        w for w in question.others
        if (w.architecture, w.layers, w.parameters) == (mine.architecture, mine.layers, mine.parameters)
        and w.file_bytes < mine.file_bytes
    ]  # fmt: skip
    for smaller in sorted(same, key=lambda w: -w.file_bytes):
        if where := _where(chains, smaller, question.workload):
            yield f"{smaller.quantisation} ({gib(smaller.file_bytes)}) fits on {where}"
            return


def _more_cards(question: Question, chains: Chains, short_bytes: int) -> Iterator[str]:
    """As few as possible of the largest card that is there, beside it."""
    own = [seat for chain in chains.hosts for seat in chain.seats if seat.card.kind in ADDABLE]
    seat = max((s for s in own if not s.card.integrated), key=lambda s: s.room_bytes, default=None)
    spec = find(seat.card.name, memory_bytes=seat.card.total_bytes) if seat else None
    if seat is None or spec is None or spec.memory_gib is None or not seat.room_bytes:
        return
    for count in range(ceil(short_bytes / seat.room_bytes), MOST_CARDS + 1):
        text = f"{seat.host.name}: {f'{count}x ' if count > 1 else ''}{label(spec)}"
        world = added(World(rig=question.rig, scan=question.scan), text)
        more = chains_of(replace(question, rig=world.rig, scan=world.scan))
        if where := _where(more, question.weights, question.workload):
            yield f'--add "{text}" fits on {where}'
            return


def _where(chains: Chains, weights: Weights, work: Workload) -> str | None:
    """The first host, or card, that would hold it, else the cluster."""
    every: list[tuple[str, Chain]] = [(chains.card or chain.head, chain) for chain in chains.hosts]
    every += [("the cluster", chains.cluster)] if chains.cluster else []
    load = Load(weights=weights, workload=work)
    return next((name for name, chain in every if placed(chain, load) is not None), None)


def _most(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 1 on that fits, 0 when none does: less always fits too."""
    low, high = 0, max(0, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
