"""What a card is specified to do, as its vendor says. Knows nothing of any engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Cards that an engine drives alike: one backend, one kind of memory.
Family = Literal["cuda", "hbm", "gb10", "radeon", "strix", "metal", "arc", "cpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSpec:
    """One card. `memory_gib` tells variants of one name apart; None where memory is not a part of the card.

    TFLOPS and TOPS are dense. None where the vendor says nothing.
    """

    name: str
    family: Family
    memory_gib: float | None
    gb_per_s: float
    fp16_tflops: float | None
    int8_tops: float | None
    watts: float | None
    source: str
    also: tuple[str, ...] = ()  # other names of the same card
