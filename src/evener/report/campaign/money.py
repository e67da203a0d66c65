"""What a layout's tokens and seats cost, from what was measured. Pure.

energy per million tokens    = joules of the cards / tokens made meanwhile / 3.6, in kWh; x the price of a kWh
hardware per million tokens  = price of the cards / (their life in seconds of use x tokens per second) x 10^6
per seat                     = price of the cards / people (or users) for whom it is comfortable
"""

from __future__ import annotations

from collections.abc import Sequence

from evener.records.campaign import Visit
from evener.records.telemetry import Energy
from evener.report.campaign.parts import ComfortStory, CostStory, Hardware, LevelStory, Prices
from evener.report.campaign.readings import Taken
from evener.report.language import Say

J_PER_KWH = 3.6e6


def cost(
    visits: Sequence[Visit],
    taken: Sequence[Taken],
    levels: Sequence[LevelStory],
    comfort: Sequence[ComfortStory],
    prices: Prices | None,
    say: Say,
) -> CostStory | None:
    """None where neither energy nor a price is known."""
    watched = [
        t.stage.telemetry.energy for t in taken if t.stage.users and t.stage.telemetry and t.stage.telemetry.energy
    ]
    joules = _joules_per_token(watched)
    owned = next((prices.hardware[v.id] for v in visits if v.id in prices.hardware), None) if prices else None
    priced = owned if owned and owned.price is not None else None
    if joules is None and priced is None:
        return None
    kwh = joules * 1e6 / J_PER_KWH if joules is not None else None
    seats = max((c.holds_for for c in comfort if c.holds_for), default=None)
    rate = _rate(levels, seats)
    price = priced.price if priced else None
    return CostStory(
        currency=prices.currency if prices else "",
        joules_per_token=joules,
        kwh_per_million=kwh,
        energy_per_million=kwh * prices.kwh_price
        if kwh is not None and prices and prices.kwh_price is not None
        else None,
        hardware=price,
        hardware_per_million=price / (prices.life_s * rate) * 1e6 if price is not None and prices and rate else None,
        seats=seats,
        per_seat=price / seats if price is not None and seats else None,
        tokens_per_s=rate,
        energy_cards=tuple(dict.fromkeys(card for energy in watched for card in energy.cards)),
        why=tuple(_why(joules, prices, owned, seats, say)),
    )


def _joules_per_token(watched: Sequence[Energy]) -> float | None:
    """Over all blocks; None where no card says what it draws, or samples do not cover the time."""
    known = [(e.joules, e.tokens) for e in watched if e.joules is not None and e.tokens]
    tokens = sum(tokens for _, tokens in known)
    return sum(joules for joules, _ in known) / tokens if tokens else None


def _rate(levels: Sequence[LevelStory], seats: int | None) -> float | None:
    """All of them together: where it is comfortable, else at the most who were tried."""
    known = [level for level in levels if level.total.value is not None]
    at = [level for level in known if level.users == seats] or sorted(known, key=lambda level: level.users)[-1:]
    return at[0].total.value if at else None


def _why(joules: float | None, prices: Prices | None, owned: Hardware | None, seats: int | None, say: Say) -> list[str]:
    """What is not known."""
    told = [] if joules is not None else [say("no card says what it draws")]
    if prices is None or prices.kwh_price is None:
        told.append(say("no price of a kWh: kwh_price in [money] of rig.toml"))
    if owned and owned.missing:
        told.append(say("no price of {cards}: --price", cards=say.listed(owned.missing)))
    if seats is None:
        told.append(say("no seats: nothing is known to be comfortable"))
    return told
