"""Find a card in the catalogue by the name that its driver prints. Pure; an unknown name is None, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from evener.plan.card_spec import CardSpec
from evener.plan.card_table import CARDS

# Makers and trade names, which drivers print or leave out as they please. "Laptop" is no such word: another card.
_DECORATION = frozenset(
    {"nvidia", "geforce", "tesla", "quadro", "amd", "ati", "radeon", "intel", "arc", "apple", "dgx"}
)
_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_SIZE = re.compile(r"\b(\d{1,3}) ?(?:gb|gib|g)\b", re.IGNORECASE)
_SPARE_WORDS = frozenset({"graphics", "edition", "workstation"})
_DRIVER = re.compile(r"\((?:radv|llvm|amd open-source driver)[^)]*\)", re.IGNORECASE)  # Vulkan names its driver
_NEARLY = 0.12  # drivers show a little less than the card has
_UNIFIED = ("metal", "strix", "gb10")
_UNIFIED_OFFERS = 0.6  # of its memory, at least; the rest stays with the system


def find(name: str, *, memory_bytes: int | None = None) -> CardSpec | None:
    """The card that a driver or a rig file calls `name`, e.g. "NVIDIA GeForce RTX 5060 Ti" or "RTX 5060 Ti 16GB".

    `memory_bytes` (what the driver says it has), or the size in the name, tells variants apart. Variants that differ
    in nothing but memory are one card whose `memory_gib` is None where nobody said. None for a name that the catalogue
    does not have, and for variants nobody can tell apart.
    """
    said = _SIZE.search(name)
    shown = memory_bytes / (1 << 30) if memory_bytes is not None else None
    words = _words(name)
    for candidate in (words, _without_size(words), _words(_DRIVER.sub(" ", name))):
        if cards := _matching(candidate):
            return _one(cards, stated_gib=float(said[1]) if said else None, shown_gib=shown)
    return None


@cache
def _matching(words: tuple[str, ...]) -> list[CardSpec]:
    return [card for card in CARDS if any(_words(known) == words for known in (card.name, *card.also))]


def _one(cards: list[CardSpec], *, stated_gib: float | None, shown_gib: float | None) -> CardSpec | None:
    """The variant of that memory; without one, the only kind there is."""
    if stated_gib is not None:
        cards = [card for card in cards if card.memory_gib in (None, stated_gib)] or cards
    elif shown_gib is not None:
        cards = [card for card in cards if _may_show(card, shown_gib)] or cards
    if len({(card.gb_per_s, card.int8_tops) for card in cards}) != 1:
        return None
    return cards[0] if len(cards) == 1 else replace(cards[0], memory_gib=None)


def _may_show(card: CardSpec, gib: float) -> bool:
    if card.memory_gib is None:
        return False
    least = card.memory_gib * (_UNIFIED_OFFERS if card.family in _UNIFIED else 1 - _NEARLY)
    return least <= gib <= card.memory_gib * (1 + _NEARLY)


def _words(name: str) -> tuple[str, ...]:
    """The words that tell cards apart: lower case, without makers, marks and trade words."""
    plain = _MARKS.sub(" ", name).lower()
    words = re.findall(r"[a-z0-9+/-]+", plain)
    return tuple(_known(w for w in words if w not in _DECORATION and w not in _SPARE_WORDS))


def _known(words: Iterable[str]) -> Iterable[str]:
    """Sizes in one form: "16 GB", "16gb" and "16GiB" are "16gb"."""
    joined = re.sub(r"\b(\d{1,3}) (?:gb|gib|g)\b", r"\1gb", " ".join(words))
    return re.sub(r"\b(\d{1,3})(?:gib|g)\b", r"\1gb", joined).split()


def _without_size(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not re.fullmatch(r"\d{1,3}gb", word))
