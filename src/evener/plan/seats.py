"""Who may take slots: the cards that a rig offers, and the order in which a plan uses them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evener.records.card import Card, HostSeen, Scan
from evener.records.rig import Host

PLANNED = ("local", "ssh", "stated")  # an endpoint host's devices have no known card


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A card that may take slots, on the host that owns it. `threads` is for a CPU card only."""

    host: Host
    card: Card
    offered_bytes: int
    threads: int | None = None

    @property
    def device(self) -> str:
        return self.card.device or "CPU"


def seats_of(host: Host, scan: Scan) -> list[Seat]:
    """A host's GPUs, or its CPU when it has none to offer."""
    seen = scan.host(host.name)
    if seen is None or host.connection not in PLANNED:
        return []
    usable = [c for c in seen.cards if not c.excluded and c.device and c.offered_bytes]
    gpus = [c for c in usable if c.kind != "cpu"]
    chosen = gpus or usable
    return [_cpu_seat(host, c, seen, scan) if c.kind == "cpu" else _gpu_seat(host, c) for c in chosen]


def _gpu_seat(host: Host, card: Card) -> Seat:
    return Seat(host=host, card=card, offered_bytes=card.offered_bytes or 0)


def _cpu_seat(host: Host, card: Card, seen: HostSeen, scan: Scan) -> Seat:
    """Hosts on one machine share its memory, and its cores: more threads than cores wait for each other in loops."""
    sharing = sum(h.machine_id == seen.machine_id for h in scan.hosts) if seen.machine_id else 1
    memory = (seen.memory_available_bytes or card.free_bytes or 0) // sharing
    return Seat(
        host=host,
        card=card,
        offered_bytes=min(card.offered_bytes or 0, memory),
        threads=None if seen.cores is None else max(1, seen.cores // sharing),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A seat with its number of slots, and what it holds beside them."""

    seat: Seat
    slots: int
    compute_bytes: int
    overhead_bytes: int


def served_hosts(seats: Sequence[Seat]) -> set[str]:
    """Hosts whose cards a worker serves: all but the head's, and the head's too when its card is a CPU among others.

    The head is the host of the last seat. `--device` cannot name its CPU, so in a cluster a worker serves it.
    """
    hosts = {seat.host.name for seat in seats}
    if len(hosts) == 1:
        return set()
    head = seats[-1]
    return hosts - ({head.host.name} if head.card.kind != "cpu" else set())


def names_at_head(seats: Sequence[Seat]) -> list[str]:
    """What the head calls each device: RPC0, RPC1, ... for what a worker serves, its own name otherwise."""
    served = served_hosts(seats)
    names: list[str] = []
    for seat in seats:
        rpc = sum(name.startswith("RPC") for name in names)
        names.append(f"RPC{rpc}" if seat.host.name in served else seat.device)
    return names
