"""What a layout costs: cards per seat, hardware and energy per million tokens. Pure.

    watts            = sum of board power x (IDLE + (BUSY - IDLE) x its share of a token's time)
    idle watts       = sum of board power x IDLE
    energy           = (watts + idle watts x (1 - LOAD) / LOAD) / tokens per second / 3600, in kWh per million tokens
                       after x 1e6 / 1000: tokens pay for the hours in which their cards wait
    hardware         = prices / (life in hours of use x 3600 x tokens per second x load), per million tokens x 1e6

Tokens per second are those of all users together, as predicted. Hosts without their cards, networks, cooling and people
cost nothing here: these figures compare layouts, they are no bill.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evener.errors import ConfigurationError
from evener.plan.cards import find
from evener.records.plan import Candidate, DevicePlan, Predicted
from evener.records.rig import Money, Rig
from evener.records.whatif import Cost

# Of its board power a card draws while it only waits with a model loaded, and while it decodes, which waits for memory.
IDLE, BUSY = 0.1, 0.7
LIFE_YEARS, HOURS_PER_YEAR = 3, 2000  # of use: eight hours on 250 days
LOAD = 0.25  # of these hours, how long all users are really answered at once
ASSUMPTIONS = (
    f"cards are used for {LIFE_YEARS} years of {HOURS_PER_YEAR} hours, {LOAD:.0%} of that time at the predicted rate",
    f"a card draws {IDLE:.0%} of its board power while it waits and {BUSY:.0%} while it works; "
    "tokens pay for the energy of the hours of use between them",
    "cards only: no hosts, no cooling, no network, no time of people",
)

Prices = Mapping[str, float]  # card, as somebody called it -> price


def stated_prices(rig: Rig) -> dict[str, float]:
    """What rig.toml says of prices."""
    return {card.model: card.price for host in rig.hosts for card in host.stated if card.price is not None}


def read_prices(texts: Iterable[str]) -> dict[str, float]:
    """ "RTX 5090=2300" as {"RTX 5090": 2300.0}. Raises ConfigurationError."""
    prices = {}
    for text in texts:
        name, _, price = (part.strip() for part in text.rpartition("="))
        try:
            prices[name] = float(price)
        except ValueError:
            prices[name] = -1.0
        if not name or not 0 <= prices[name] < float("inf"):
            raise ConfigurationError(f"--price {text}: not CARD=PRICE", hint='e.g. --price "RTX 5090=2300"')
    return prices


def price_of(card: str, prices: Prices) -> float | None:
    """The price of a card by any of its names; the last that was stated counts."""
    same = [price for name, price in prices.items() if _are_one(card, name)]
    return same[-1] if same else None


def _are_one(card: str, other: str) -> bool:
    """A driver prints no size: its card may be any of the sizes that were priced."""
    if card.lower() == other.lower():
        return True
    one, two = find(card), find(other)
    if one is None or two is None or one.name != two.name:
        return False
    return None in (one.memory_gib, two.memory_gib) or one == two


def cost(candidate: Candidate, *, seats: int, prices: Prices, money: Money | None) -> Cost:
    """What `candidate` costs for `seats` people (or users)."""
    cards = [device for device in candidate.devices if not _is_processor(device)]
    known = [price_of(device.card_name, prices) for device in cards]
    missing = tuple(
        dict.fromkeys(device.card_name for device, price in zip(cards, known, strict=True) if price is None)
    )
    hardware = None if missing or not cards else sum(price for price in known if price is not None)
    rate = _rate(candidate.predicted)
    watts = board_watts(candidate)
    kwh_price = money.kwh_price if money else None
    energy = None
    if rate is not None and watts is not None and kwh_price is not None:
        energy = (watts + idle_watts(candidate) * (1 - LOAD) / LOAD) / rate / 3.6e6 * 1e6 * kwh_price
    life_s = LIFE_YEARS * HOURS_PER_YEAR * 3600 * LOAD
    worn = None if hardware is None or rate is None else hardware / (life_s * rate) * 1e6
    return Cost(
        currency=money.currency if money else "EUR",
        hardware=hardware,
        cards_without_price=missing,
        watts=watts,
        per_seat=None if hardware is None else hardware / seats,
        energy_per_million_tokens=energy,
        hardware_per_million_tokens=worn,
        per_million_tokens=None if energy is None or worn is None else energy + worn,
        assumptions=ASSUMPTIONS,
    )


def board_watts(candidate: Candidate) -> float | None:
    """What its cards draw while it decodes. None where a card is not in the catalogue, or nothing was predicted."""
    if candidate.predicted is None or not candidate.devices:
        return None
    powers = _board_powers(candidate)
    if powers is None:
        return None
    at_once = len(candidate.servers) > 1  # replicas work side by side
    busy = [1.0] * len(candidate.devices) if at_once else busy_shares(candidate.devices, candidate.predicted)
    return sum(power * (IDLE + (BUSY - IDLE) * share) for power, share in zip(powers, busy, strict=True))


def idle_watts(candidate: Candidate) -> float:
    """What its cards draw while nobody is answered and the model stays loaded. Cards nobody knows draw nothing here."""
    return IDLE * sum(_board_powers(candidate) or ())


def _board_powers(candidate: Candidate) -> list[float] | None:
    """In watts, by device. None where one is not known."""
    specs = [find(device.card_name, memory_bytes=device.free_bytes) for device in candidate.devices]
    powers = [float(spec.watts) for spec in specs if spec is not None and spec.watts is not None]
    return powers if len(powers) == len(specs) else None


def busy_shares(devices: Sequence[DevicePlan], predicted: Predicted) -> list[float]:
    """The share of a token's time in which each device works: they take turns.

    Where a prediction names devices otherwise than the plan, a host's time goes to them by the bytes that they read.
    """
    whole = sum(share.ms for share in predicted.per_token_ms) or 1.0
    working = [share for share in predicted.per_token_ms if share.kind != "link"]
    named = {share.where for share in working}
    own = [next((name for name in _names(device) if name in named), None) for device in devices]
    shares = []
    for device, name in zip(devices, own, strict=True):
        alike = [d for d, n in zip(devices, own, strict=True) if n == name and d.host == device.host]
        mine = [s.ms for s in working if s.where == name or (name is None and _is_left(s.where, device.host, own))]
        held = sum(other.weights_bytes for other in alike) or 1
        shares.append(sum(mine) / whole * device.weights_bytes / held)
    return shares


def _is_left(where: str, host: str, taken: Sequence[str | None]) -> bool:
    return where.startswith(f"{host}/") and where not in taken


def _names(device: DevicePlan) -> tuple[str, ...]:
    return (f"{device.host}/{device.device}", f"{device.host}/{device.card}", f"{device.host}/{device.card_name}")


def _rate(predicted: Predicted | None) -> float | None:
    rate = predicted.users_tokens_per_s if predicted else None
    return rate.value if rate else None


def _is_processor(device: DevicePlan) -> bool:
    return device.card == "cpu"
