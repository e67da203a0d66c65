"""Cards that need not exist: what the catalogue says of them takes the place of a scan. Pure.

Nobody has looked at these machines: their holders and drivers stay unknown, RAM where its owner does not say how much
there is, and no plan claims to have checked.
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
from evener.plan.speed_devices import REACH
from evener.plan.speed_values import exact, product, scaled, value
from evener.records.card import Card, CardKind, HostSeen, Scan
from evener.records.rig import Host, Rig
from evener.records.speed import DeviceSpeed

GIB = 1 << 30
NOTE = "stated: its memory is the catalogue's, nobody has looked"
FAULT = "stated, not scanned: its cards are the catalogue's, its RAM is not checked"
FAULT_BESIDE_RAM = "stated, not scanned: its cards are the catalogue's, its RAM is as stated"
FAULT_ASSUMED_RAM = f"{FAULT_BESIDE_RAM}, how fast that is assumed"
RAM, RAM_CARD = "main memory", "cpu"
KINDS: dict[Family, CardKind] = {
    "cuda": "cuda", "hbm": "cuda", "gb10": "cuda", "radeon": "rocm", "strix": "rocm", "metal": "metal", "arc": "sycl",
}  # fmt: skip
DEVICES: dict[CardKind, str] = {"cuda": "CUDA", "rocm": "ROCm", "metal": "MTL", "sycl": "SYCL"}

# Of its nominal memory a driver shows: RTX 5090 32607 of 32768 MiB, RTX 5080 16303 and RTX 5060 Ti 16311 of 16384.
SHOWN_OF_OWN = 0.995
SHOWN_OF_UNIFIED = 0.94  # DGX Spark, Strix Halo: the rest is the system's
METAL_SMALL_BYTES = 36 * GIB  # Metal gives the GPU two thirds of main memory up to here, three quarters above

SYSTEM_BYTES = 4 * GIB  # of RAM, what a desktop's own programs keep: an assumption
# Main memory of a PC whose owner does not say what it carries: two channels of 8 bytes at 3200 (DDR4) to 6400 (DDR5)
# million transfers a second, 5200 where one has to choose. JESD79-4 and JESD79-5: 8 x channels x transfers.
RAM_GB_PER_S = value(83.2, 51.2, 102.4)

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


def ram_speeds(rig: Rig) -> dict[tuple[str, str], DeviceSpeed]:
    """How fast the RAM of each stated host that has some is read by its processor: (host, card id) -> speed.

    What it is specified to carry, or an assumption about PCs, times what processors reach of it. What they multiply is
    not known: prompts have no figure.
    """
    return {(host.name, RAM_CARD): _ram_speed(host) for host in rig.hosts if host.ram_bytes}


def _ram_speed(host: Host) -> DeviceSpeed:
    reach = REACH["cpu"]
    stated = host.ram_gb_per_s
    carries = scaled(RAM_GB_PER_S if stated is None else exact(stated), 1e9)
    return DeviceSpeed(
        source="assumed: two channels of DDR4-3200 to DDR5-6400" if stated is None else f"stated: {stated:g} GB/s",
        weights_bytes_per_s=product(reach.weights, carries),
        cache_bytes_per_s=product(reach.cache, carries),
        layer_us=reach.layer_us,
        expert_layer_us=reach.expert_layer_us,
        graph_us=reach.graph_us,
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
    labels = {label(card).lower(): label(card) for card in CARDS if card.family in KINDS}
    labels |= {card.name.lower(): label(card) for card in CARDS if card.family in KINDS}
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
    fault = FAULT if host.ram_bytes is None else FAULT_BESIDE_RAM if host.ram_gb_per_s else FAULT_ASSUMED_RAM
    done = replace(seen, cards=tuple(cards), fault="; ".join([*faults, fault]))
    return _with_ram(done, host.ram_bytes) if host.ram_bytes is not None and taken else done


def _with_ram(seen: HostSeen, ram_bytes: int) -> HostSeen:
    """The host with its stated RAM, which its processor offers beside its cards."""
    free = max(0, ram_bytes - SYSTEM_BYTES)
    card = Card(
        id=RAM_CARD, kind="cpu", name=RAM, total_bytes=ram_bytes, used_bytes=ram_bytes - free, free_bytes=free,
        offered_bytes=free, device="CPU", note="stated",
    )  # fmt: skip
    return replace(seen, cards=(*seen.cards, card), memory_total_bytes=ram_bytes, memory_available_bytes=free)


def _unknown(message: str, near: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(message, hint=f"did you mean {' or '.join(near)}?" if near else None)


def _variants(spec: CardSpec) -> tuple[str, ...]:
    return tuple(label(card) for card in CARDS if card.name == spec.name)


def label(card: CardSpec) -> str:
    """The name with its memory where the name alone does not settle it."""
    alone = sum(other.name == card.name for other in CARDS) == 1
    return card.name if alone or _SIZE.search(card.name) else f"{card.name} {card.memory_gib:g}GB"
