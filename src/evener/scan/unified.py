"""Memory that is only half a truth: cards that share main memory, and figures that cannot be. Pure.

Every figure that is not simply the driver's is explained in the card's `note`.
"""

from __future__ import annotations

from dataclasses import replace

from evener.dialects.amd import Pools
from evener.dialects.proc import Memory
from evener.records.capability import EngineDevice
from evener.records.card import Card

GIB = 1 << 30


def believable(card: Card, *, memory: Memory, pools: Pools | None = None, listed: EngineDevice | None = None) -> Card:
    """The card with figures that a plan may rely on. `listed` is what the engine says of the same device."""
    if card.integrated:
        card = _capped(_as_listed(_shared(card, memory, pools), listed), memory)
    if card.total_bytes is None and listed is not None:
        card = replace(
            card, total_bytes=listed.total_bytes, free_bytes=listed.free_bytes, note="memory as the engine says"
        )
    if card.free_bytes is not None and card.total_bytes is not None and card.free_bytes > card.total_bytes:
        said = f"said to be free: {_gib(card.free_bytes)} of {_gib(card.total_bytes)}, which is no measure of this card"
        return replace(card, free_bytes=None, note=said)
    return card


def _shared(card: Card, memory: Memory, pools: Pools | None) -> Card:
    if pools is not None and pools.gtt_total is not None:
        return _larger_pool(card, pools)
    if card.kind == "cuda" and not _is_most_of(card.total_bytes, memory.total_bytes):
        said = "no figure" if card.total_bytes is None else _gib(card.total_bytes)
        return replace(
            card,
            total_bytes=memory.total_bytes,
            free_bytes=memory.available_bytes,
            used_bytes=None,
            note=f"shares main memory: the driver says {said}, so main memory counts",
        )
    return replace(card, note=card.note or "shares main memory")


def _larger_pool(card: Card, pools: Pools) -> Card:
    """An APU allocates from one of its pools, the larger: their sum cannot be had (ROCm/legacy-rocm-build#6004)."""
    vram, gtt = pools.vram_total or 0, pools.gtt_total or 0
    if gtt > vram:
        total, used = gtt, pools.gtt_used
        note = f"shares main memory: up to {_gib(gtt)} of it (GTT); the {_gib(vram)} set aside for it do not add up"
    else:
        total, used = vram, pools.vram_used
        note = f"shares main memory: {_gib(vram)} are set aside for it; {_gib(gtt)} more (GTT) do not add up"
    free = None if used is None else total - used
    return replace(card, total_bytes=total, used_bytes=used, free_bytes=free, note=note)


def _as_listed(card: Card, listed: EngineDevice | None) -> Card:
    """What the engine can have of it: the working set of a Mac, or what its runtime can see of a pool."""
    if listed is None or listed.total_bytes is None or card.total_bytes is None:
        return card
    if card.kind != "metal" and listed.total_bytes >= card.total_bytes:
        return card
    note = f"shares main memory: the engine may have {_gib(listed.total_bytes)} of it"
    free = None if card.free_bytes is None else min(card.free_bytes, listed.total_bytes)
    return replace(card, total_bytes=listed.total_bytes, free_bytes=free, note=note)


def _capped(card: Card, memory: Memory) -> Card:
    """Neither more than there is of it, nor than main memory has left."""
    if card.free_bytes is None:
        return card
    limits = [n for n in (card.total_bytes, memory.available_bytes) if n is not None]
    free = min([card.free_bytes, *limits])
    if free == card.free_bytes:
        return card
    why = f"{_gib(card.free_bytes)} said to be free, of which {_gib(free)} can be had"
    return replace(card, free_bytes=free, note=f"{card.note}; {why}")


def _is_most_of(part: int | None, whole: int | None) -> bool:
    return part is not None and (whole is None or part >= whole / 2)


def _gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB"
