"""Which card is which of the engine's devices. Pure. A device that could be two cards is neither: unknown.

CUDA counts by PCI bus id in the environment we give it (CUDA_DEVICE_ORDER=PCI_BUS_ID), and so does ROCm of itself.
`--list-devices` prints no bus id; devices of the other backends are told apart by their names, where these differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evener.records.capability import EngineDevice
from evener.records.card import Card, CardKind, EngineSeen

PREFIX: dict[CardKind, str] = {"cuda": "CUDA", "rocm": "ROCm", "metal": "MTL"}
KIND: dict[str, CardKind] = {"CUDA": "cuda", "ROCm": "rocm", "MTL": "metal", "Vulkan": "vulkan", "SYCL": "sycl"}
# Words that stand in one name and not in the other.
NOISE = frozenset({"nvidia", "geforce", "amd", "intel", "r", "tm", "graphics", "series", "gpu", "ati"})
INTEL_CARD = re.compile(r"\b(Pro )?[AB]\d{2,3}M?\b|Data Center|Flex|\bMax \d", re.IGNORECASE)
AMD_APU = re.compile(
    r"RADV (GFX11(03|5\d)|GFX103[3-7]|RAPHAEL|REMBRANDT|RENOIR|CEZANNE|PHOENIX|STRIX|VANGOGH|BARCELO|KRACKAN)"
    r"|^AMD Radeon(\(TM\))? Graphics$|\b(780|880|890|8050|8060)[MS]\b"
)


def name_devices(cards: Sequence[Card], engine: EngineSeen | None) -> tuple[Card, ...]:
    """GPUs with their names inside their host's engine, in the engine's order; those it does not see come last.

    While no engine has been asked, one that is built for each card is assumed.
    """
    ordered = sorted(cards, key=_bus_order)
    names = _assumed(ordered) if engine is None else _matched(ordered, listed(engine))
    named = [replace(card, device=names.get(card.id)) for card in ordered]
    return tuple(sorted(named, key=lambda card: card.device is None))


def listed(engine: EngineSeen | None) -> tuple[EngineDevice, ...]:
    """The engine's devices with what it says of them; of an older record only the names."""
    if engine is None:
        return ()
    return engine.listed or tuple(EngineDevice(name=name, description="") for name in engine.devices)


def only_listed(cards: Sequence[Card], engine: EngineSeen | None) -> tuple[Card, ...]:
    """Cards that only the engine knows: Intel's, and any where no driver's tool has named a card.

    A device that may be a known card, seen through another backend, is none: its memory must not count twice.
    """
    known = {card.device for card in cards}
    return tuple(
        _from_listing(device)
        for device in listed(engine)
        if device.name not in known
        and device.total_bytes
        and "llvmpipe" not in device.description
        and ("Intel" in device.description or not cards)
        and not any(same_name(device.description, card.name) for card in cards)
    )


def disagreements(cards: Sequence[Card], engine: EngineSeen | None) -> tuple[str, ...]:
    """Cards that the engine does not see, devices that no card known here is, and those that could be either."""
    if engine is None:
        return ()
    known = {card.device for card in cards}
    free = [device for device in listed(engine) if device.name not in known]
    unseen = [card for card in cards if card.kind != "cpu" and card.device is None and not card.excluded]
    said = []
    for card in unseen:
        perhaps = [device.name for device in free if same_name(device.description, card.name)]
        said.append(
            f"{card.name} may be {' or '.join(perhaps)}: cards of one name are not told apart"
            if perhaps
            else f"the engine does not see {card.name}: was it built for it?"
        )
    strange = [d.name for d in free if not any(same_name(d.description, card.name) for card in cards)]
    said += [f"the engine has {name}, and no card known here is it" for name in strange]
    return tuple(dict.fromkeys(said))


def same_name(said: str, card: str) -> bool:
    """Whether the engine's description can be this card: every word that tells models apart is in the card's name."""
    words, of_card = _words(said), _words(card)
    return bool(words) and (words == of_card or (words <= of_card and any(w[0].isdigit() for w in words)))


def backend(device: str) -> str:
    """ "CUDA" of "CUDA0"."""
    return device.rstrip("0123456789")


def _assumed(cards: Sequence[Card]) -> dict[str, str]:
    names: dict[str, str] = {}
    for kind, prefix in PREFIX.items():
        names |= {card.id: f"{prefix}{i}" for i, card in enumerate(c for c in cards if c.kind == kind)}
    return names


def _matched(cards: Sequence[Card], devices: Sequence[EngineDevice]) -> dict[str, str]:
    if len(cards) == len(devices) == 1:
        return {cards[0].id: devices[0].name}
    names = _by_order(cards, devices)
    rest = [card for card in cards if card.id not in names]
    free = [device for device in devices if device.name not in names.values()]
    pairs = [(card, device) for card in rest for device in free if same_name(device.description, card.name)]
    for card, device in pairs:
        if sum(c is card for c, _ in pairs) == sum(d is device for _, d in pairs) == 1:
            names[card.id] = device.name
    return names


def _by_order(cards: Sequence[Card], devices: Sequence[EngineDevice]) -> dict[str, str]:
    """Backends that count by bus id. ROCm leaves out cards that it was not built for: then the count says nothing."""
    names: dict[str, str] = {}
    for kind, prefix in PREFIX.items():
        mine = [card for card in cards if card.kind == kind]
        its = {int(found[1]): d.name for d in devices if (found := re.fullmatch(rf"{prefix}(\d+)", d.name, re.I))}
        if kind != "rocm" or len(its) == len(mine):
            names |= {card.id: its[i] for i, card in enumerate(mine) if i in its}
    return names


def _from_listing(device: EngineDevice) -> Card:
    intel = "Intel" in device.description
    shares = not INTEL_CARD.search(device.description) if intel else bool(AMD_APU.search(device.description))
    return Card(
        id=device.name,
        kind=KIND.get(backend(device.name), "unknown"),
        name=device.description,
        total_bytes=device.total_bytes,
        free_bytes=device.free_bytes,
        integrated=shares,
        device=device.name,
        note="as the engine lists it: no driver's tool names this card",
    )


def _words(name: str) -> frozenset[str]:
    """Lower-case words without noise, and without what Mesa adds in brackets: "(RADV NAVI31)"."""
    plain = re.sub(r"\((?!R\)|TM\))[^()]*\)", " ", name)
    return frozenset(re.findall(r"[a-z0-9]+", plain.lower())) - NOISE


def _bus_order(card: Card) -> tuple[bool, list[int], str]:
    """PCI bus ids are hexadecimal, and domains are written with four digits or eight."""
    numbers = [int(part, 16) for part in re.findall(r"[0-9A-Fa-f]+", card.bus_id or "")]
    return (not numbers, numbers, card.id)
