"""The order in which the engine uses devices when nobody says otherwise. Pure; it knows nothing of sizes.

Workers' devices come first, in the order of the rig, each worker's in its own engine's order; then the head's GPUs
(llama.cpp b11434, src/llama.cpp:185-286). This is not the order of `--list-devices`, which puts local devices first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evener.records.card import Card, Device, EngineSeen, HostSeen
from evener.records.rig import Host, Rig

CUDA = re.compile(r"CUDA(\d+)", re.IGNORECASE)


def name_devices(cards: Sequence[Card], engine: EngineSeen | None) -> tuple[Card, ...]:
    """GPUs with their names inside their host's engine, in the engine's order; those it does not see come last.

    CUDA counts by PCI bus id in the environment we give it (CUDA_DEVICE_ORDER=PCI_BUS_ID). While no engine has been
    asked, a CUDA build is assumed. Devices of other backends say too little to be matched, unless there is only one.
    """
    ordered = sorted(cards, key=_bus_order)
    names = [f"CUDA{i}" for i in range(len(ordered))] if engine is None else list(engine.devices)
    if len(ordered) == len(names) == 1:
        return (replace(ordered[0], device=names[0]),)
    by_number = {int(found[1]): name for name in names if (found := CUDA.fullmatch(name))}
    named = [replace(card, device=by_number.get(i)) for i, card in enumerate(ordered)]
    return tuple(sorted(named, key=lambda card: card.device is None))


def disagreements(cards: Sequence[Card], engine: EngineSeen | None) -> tuple[str, ...]:
    """Cards that the engine does not see, and devices of the engine that no driver we read knows."""
    if engine is None:
        return ()
    unseen = [card.name for card in cards if card.kind != "cpu" and card.device is None and not card.excluded]
    known = {card.device for card in cards}
    strange = [name for name in engine.devices if name not in known]
    return (
        *(f"the engine does not see {name}: was it built for it?" for name in unseen),
        *(f"the engine has {name}, and no card known here is it" for name in strange),
    )


def device_order(rig: Rig, hosts: Sequence[HostSeen]) -> tuple[Device, ...]:
    """Every device that takes part, by position: the n-th value of `--tensor-split` belongs to position n.

    A head without a GPU has no device of its own beside workers': a worker on the head serves its CPU then, as the
    last. Alone it needs none: its only device is "CPU".
    """
    seen = {host.name: host for host in hosts}
    workers = [host for host in rig.hosts[1:] if host.connection in ("local", "ssh", "endpoint")]
    served = [device for host in workers for device in _served(host, seen.get(host.name))]
    head = seen.get(rig.head.name)
    own = _head_cards(head.cards) if head else ()
    if head and not own and (cpu := head.card("cpu")) and not cpu.excluded:
        if served:
            served.append(_of_worker(rig.head, cpu))
        else:
            own = (cpu,)
    remote = [replace(device, position=i, name=f"RPC{i}") for i, device in enumerate(served)]
    local = [
        Device(position=len(remote) + i, name=c.device or c.name, host=rig.head.name, card_id=c.id, description=c.name)
        for i, c in enumerate(own)
    ]
    return (*remote, *local)


def _served(host: Host, seen: HostSeen | None) -> list[Device]:
    """What a host's worker offers: its GPUs, also integrated ones, or its CPU when it has none.

    Names and positions are the caller's to give. An endpoint nobody has asked yet counts as one unknown device.
    """
    if host.connection == "endpoint":
        return [
            Device(position=0, name="", host=host.name, card_id=None, description="not asked", endpoint=endpoint)
            for endpoint in host.endpoints
        ]
    cards = _taking_part(seen.cards) if seen else ()
    gpus = [card for card in cards if card.kind != "cpu"]
    return [_of_worker(host, card) for card in gpus or cards]


def _of_worker(host: Host, card: Card) -> Device:
    return Device(
        position=0,
        name="",
        host=host.name,
        card_id=card.id,
        description=card.name,
        endpoint=f"{host.address or '127.0.0.1'}:{host.ports[0]}",
        worker_device=card.device,
    )


def _head_cards(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The head's GPUs. Integrated ones count only where there is no other local GPU, and then of one backend."""
    gpus = [card for card in _taking_part(cards) if card.kind != "cpu"]
    discrete = [card for card in gpus if not card.integrated]
    return tuple(discrete or [card for card in gpus if card.kind == gpus[0].kind])


def _taking_part(cards: Sequence[Card]) -> list[Card]:
    return [card for card in cards if card.device is not None and not card.excluded]


def _bus_order(card: Card) -> tuple[bool, list[int], str]:
    """PCI bus ids are hexadecimal, and domains are written with four digits or eight."""
    numbers = [int(part, 16) for part in re.findall(r"[0-9A-Fa-f]+", card.bus_id or "")]
    return (not numbers, numbers, card.id)
