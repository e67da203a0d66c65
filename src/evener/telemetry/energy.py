"""Power over time to energy, and energy to money. Pure; a gap is left out, never filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from evener.records.telemetry import CardWatched, Energy, HostWatched

Point = tuple[float, float]  # seconds, watts
J_PER_KWH = 3.6e6
MUST_COVER = 0.95  # of the time


def joules(power: Sequence[Point], *, longest_step_s: float) -> tuple[float | None, float]:
    """Energy by the trapezoid rule, and the seconds that it covers. Steps longer than `longest_step_s` are gaps."""
    steps = [(b[0] - a[0], (a[1] + b[1]) / 2) for a, b in pairwise(power) if b[0] - a[0] <= longest_step_s]
    if not steps:
        return None, 0.0
    return round(sum(s * w for s, w in steps), 3), round(sum(s for s, _ in steps), 3)


def energy(
    hosts: Sequence[HostWatched],
    *,
    seconds: float,
    tokens: float | None = None,
    kwh_price: float | None = None,
    currency: str | None = None,
) -> Energy | None:
    """Of all cards that report power, each physical card once; None where none does.

    `tokens` are those that were made in the `seconds` watched.
    """
    cards = list(_once(hosts))
    counted = [card for card in cards if card.energy_j is not None]
    without = tuple([_name(c) for c in cards if c.energy_j is None] + [h.host for h in hosts if not h.cards])
    if not counted:
        return None
    short = [card for card in counted if card.covered_s < MUST_COVER * seconds]
    total = None if short else round(sum(card.energy_j or 0.0 for card in counted), 1)
    each = round(1000 * total / tokens, 3) if total is not None and tokens else None
    return Energy(
        joules=total,
        cards=tuple(_name(card) for card in counted),
        without=without,
        tokens=tokens,
        joules_per_1000_tokens=each,
        cost_per_1000_tokens=None if each is None or kwh_price is None else each / J_PER_KWH * kwh_price,
        currency=None if kwh_price is None else currency,
        why=_why(short, seconds) if short else None,
    )


def _once(hosts: Sequence[HostWatched]) -> Iterator[CardWatched]:
    """A machine that two names mean has its cards once."""
    seen: set[tuple[str, str]] = set()
    for host in hosts:
        for card in host.cards:
            if (key := (host.machine or host.host, card.card)) not in seen:
                seen.add(key)
                yield card


def _why(short: Sequence[CardWatched], seconds: float) -> str:
    return ", ".join(f"{_name(card)} was seen for {card.covered_s:.0f} of {seconds:.0f} s" for card in short)


def _name(card: CardWatched) -> str:
    return f"{card.host}/{card.name}"
