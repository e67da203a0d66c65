"""Promised against measured, card by card: after the load, and again after the stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evener.records.card import Holder

CardVerdict = Literal["as planned", "over", "under", "missing", "unknown"]
FreedVerdict = Literal["freed", "freed, drifted", "held", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCheck:
    """One planned device after load.

    `reported_bytes` is the engine's own sum (weights + KV + compute buffers on that device);
    `measured_bytes` is what the driver says the process holds (for a CPU card: the worker's resident set).
    `floor_bytes` and `ceiling_bytes` are the thresholds the measured figure was held to.
    """

    host: str
    card: str
    card_name: str
    device: str
    layers_planned: int
    layers_seen: int | None
    planned_bytes: int
    reported_bytes: int | None
    measured_bytes: int | None
    floor_bytes: int
    ceiling_bytes: int
    verdict: CardVerdict
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreedCheck:
    """One card after the stop: used before the start, while loaded, and after the stop."""

    host: str
    card: str
    card_name: str
    before_bytes: int | None
    during_bytes: int | None
    after_bytes: int | None
    tolerance_bytes: int
    verdict: FreedVerdict
    why: str | None = None
    holders: tuple[Holder, ...] = ()
