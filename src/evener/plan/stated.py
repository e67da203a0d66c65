"""Cards that need not exist: what the catalogue says of them takes the place of a scan. Pure.

Nobody has looked at these machines: their RAM, holders and drivers stay unknown, and no plan claims to have checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from evener.errors import ConfigurationError
from evener.plan.card_spec import CardSpec, Family
from evener.plan.card_table import CARDS
from evener.plan.cards import find
from evener.records.card import Card, CardKind, HostSeen, Scan
from evener.records.rig import Host, Rig

GIB = 1 << 30
NOTE = "stated: its memory is the catalogue's, nobody has looked"
FAULT = "stated, not scanned: its cards are the catalogue's, its RAM is not checked"
KINDS: dict[Family, CardKind] = {
    "cuda": "cuda", "hbm": "cuda", "gb10": "cuda", "radeon": "rocm", "strix": "rocm", "metal": "metal", "arc": "sycl",
}  # fmt: skip
DEVICES: dict[CardKind, str] = {"cuda": "CUDA", "rocm": "ROCm", "metal": "MTL", "sycl": "SYCL"}

# Of its nominal memory a driver shows: RTX 5090 32607 of 32768 MiB, RTX 5080 16303 and RTX 5060 Ti 16311 of 16384.
SHOWN_OF_OWN = 0.995
SHOWN_OF_UNIFIED = 0.94  # DGX Spark, Strix Halo: the rest is the system's
METAL_SMALL_BYTES = 36 * GIB  # Metal gives the GPU two thirds of main memory up to here, three quarters above

_SIZE = re.compile(r"(\d+) ?(?:gib|gb|g)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"(\d{1,2}) ?x ?(?=[A-Za-z])", re.IGNORECASE)


def with_catalogue_cards(rig: Rig, scan: Scan) -> Scan:
    """The scan with stated hosts as if they had been found empty and as their data sheets say.

    A card that the catalogue does not have takes no part, and its host's fault names the cards that come near.
    """
    hosts = {host.name: host for host in rig.hosts if host.connection == "stated"}
    seen = tuple(_found(hosts[s.name], s) if s.name in hosts else s for s in scan.hosts)
    return replace(scan, hosts=seen)


def stated_host(host: Host) -> HostSeen:
    """What a scan would show of a stated host."""
    cards = tuple(Card(id=f"stated{i}", kind="unknown", name=card.model) for i, card in enumerate(host.stated))
    return _found(host, HostSeen(name=host.name, connection="stated", cards=cards))


def stated_card(name: str, *, id: str, device_number: int = 0, reserve_bytes: int = 0) -> Card:
    """An empty card of that name. Raises ConfigurationError."""
    spec = known_card(name)
    kind = KINDS[spec.family]
    memory = shown_bytes(spec)
    return Card(
        id=id,
        kind=kind,
        name=name,
        total_bytes=memory,
        used_bytes=0,
        free_bytes=memory,
        offered_bytes=max(0, memory - reserve_bytes),
        device=f"{DEVICES[kind]}{device_number}",
        note=NOTE,
    )


def known_card(name: str) -> CardSpec:
    """The catalogue's card of that name, its memory settled. Raises ConfigurationError."""
    spec = find(name)
    if spec is None:
        raise _unknown(f'no card called "{name}" in the catalogue', near(name))
    if spec.family not in KINDS:
        raise _unknown(f'"{name}" is main memory, which a stated host does not offer', ())
    said = _SIZE.search(name)
    if spec.memory_gib is None:
        raise _unknown(f'"{name}" comes with different memory', _variants(spec))
    if said and float(said[1]) != spec.memory_gib:
        raise _unknown(f'the catalogue has no "{name}"', _variants(spec))
    return spec


def shown_bytes(spec: CardSpec) -> int:
    """What a driver shows of a card's memory."""
    nominal = round((spec.memory_gib or 0) * GIB)
    if spec.family == "metal":
        return nominal * 2 // 3 if nominal <= METAL_SMALL_BYTES else nominal * 3 // 4
    return int(nominal * (SHOWN_OF_UNIFIED if spec.family in ("strix", "gb10") else SHOWN_OF_OWN))


def near(name: str) -> tuple[str, ...]:
    """Names that may have been meant."""
    labels = {_label(card).lower(): _label(card) for card in CARDS if card.family in KINDS}
    labels |= {card.name.lower(): _label(card) for card in CARDS if card.family in KINDS}
    wanted = re.sub(r"nvidia|geforce|amd|radeon|intel|apple", "", name.lower()).strip()
    return tuple(dict.fromkeys(labels[found] for found in get_close_matches(wanted, labels, n=3, cutoff=0.6)))


def several(text: str, *, what: str) -> tuple[str, ...]:
    """Card names out of "RTX 5090, 2x RTX 5060 Ti 16GB". Raises ConfigurationError for a name that is none."""
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        times = _SEVERAL.match(part)
        name = part[times.end() :] if times else part
        try:
            known_card(name)
        except ConfigurationError as error:
            raise ConfigurationError(f"{what}: {error.message}", hint=error.hint) from None
        if times and int(times[1]) == 0:
            raise ConfigurationError(f"{what}: none of it is no change", hint=f"at least 1x {name}")
        names += [name] * (int(times[1]) if times else 1)
    return tuple(names)


def joined_by(host: HostSeen, names: Sequence[str], *, reserve_bytes: int = 0) -> HostSeen:
    """The host with these cards beside its own, numbered after those of the same kind."""
    taken = Counter(card.kind for card in host.cards if card.device)
    cards = list(host.cards)
    for name in names:
        kind = KINDS[known_card(name).family]
        cards.append(stated_card(name, id=f"added{len(cards)}", device_number=taken[kind], reserve_bytes=reserve_bytes))
        taken[kind] += 1
    return replace(host, cards=tuple(cards))


def _found(host: Host, seen: HostSeen) -> HostSeen:
    """The host with every card that the catalogue knows, numbered as its engine would."""
    taken: Counter[str] = Counter()
    cards: list[Card] = []
    faults: list[str] = []
    for card in seen.cards:
        try:
            kind = KINDS[known_card(card.name).family]
            cards.append(
                stated_card(card.name, id=card.id, device_number=taken[kind], reserve_bytes=host.reserve_bytes)
            )
            taken[kind] += 1
        except ConfigurationError as error:
            cards.append(card)
            faults.append(f"{error.message}; {error.hint}" if error.hint else error.message)
    return replace(seen, cards=tuple(cards), fault="; ".join([*faults, FAULT]))


def _unknown(message: str, near: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(message, hint=f"did you mean {' or '.join(near)}?" if near else None)


def _variants(spec: CardSpec) -> tuple[str, ...]:
    return tuple(_label(card) for card in CARDS if card.name == spec.name)


def _label(card: CardSpec) -> str:
    """The name with its memory where the name alone does not settle it."""
    alone = sum(other.name == card.name for other in CARDS) == 1
    return card.name if alone or _SIZE.search(card.name) else f"{card.name} {card.memory_gib:g}GB"
