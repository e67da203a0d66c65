"""The order in which the engine uses devices when nobody says otherwise. Pure; it knows nothing of sizes.

Workers' devices come first, in the order of the rig, each worker's in its own engine's order; then the head's GPUs
(llama.cpp b11434, src/llama.cpp:185-286). This is not the order of `--list-devices`, which puts local devices first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evener.records.card import Card, Device, HostSeen
from evener.records.rig import Host, Rig


def device_order(rig: Rig, hosts: Sequence[HostSeen]) -> tuple[Device, ...]:
    """Every device that takes part, by position: the n-th value of `--tensor-split` belongs to position n.

    A head without a GPU has no device of its own beside workers': a worker on the head serves its CPU then, as the
    last. Alone it needs none: its only device is "CPU".
    """
    seen = {host.name: host for host in hosts}
    workers = [h for h in rig.hosts[1:] if h.connection != "stated" or _is_known(seen.get(h.name))]
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


def _is_known(seen: HostSeen | None) -> bool:
    """Whether a stated host's cards are more than names."""
    return seen is not None and bool(_taking_part(seen.cards))


def _served(host: Host, seen: HostSeen | None) -> list[Device]:
    """What a host's workers offer: its GPUs, also integrated ones, or its CPU when it has none.

    Names and positions are the caller's to give.
    """
    if host.connection == "endpoint":
        return [device for endpoint in host.endpoints for device in _of_endpoint(host, endpoint, seen)]
    cards = _taking_part(seen.cards) if seen else ()
    gpus = [card for card in cards if card.kind != "cpu"]
    return [_of_worker(host, card) for card in gpus or cards]


def _of_endpoint(host: Host, endpoint: str, seen: HostSeen | None) -> list[Device]:
    """A worker that has told nothing counts as one unknown device."""
    told = [card for card in seen.cards if card.endpoint == endpoint] if seen else []
    unknown = Device(position=0, name="", host=host.name, card_id=None, description="not asked", endpoint=endpoint)
    return [replace(unknown, card_id=card.id, description=card.name, worker_device=card.device) for card in told] or [
        unknown
    ]


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
