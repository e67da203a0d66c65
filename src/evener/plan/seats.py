"""Who may take slots: the cards that a rig offers, and the order in which a plan uses them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.plan import cards
from evener.plan.memory import OVERHEAD_BYTES
from evener.plan.speed_devices import device_speed
from evener.records.card import Card, HostSeen, Scan
from evener.records.rig import Host
from evener.records.speed import DeviceSpeed

Speeds = Mapping[tuple[str, str], DeviceSpeed]  # (host, card id) -> what was measured there


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A card that may take slots, on the host that owns it. `threads` is for a CPU card only.

    A card behind somebody else's worker has an `endpoint`; `of_endpoint` is how many devices that worker has, since
    the head numbers them all, used or not. `speed` is None for a card that nobody measured or specified. A card with
    its `own_worker` shares none with the other cards of its host.
    """

    host: Host
    card: Card
    offered_bytes: int
    threads: int | None = None
    of_endpoint: int = 1
    speed: DeviceSpeed | None = None
    own_worker: bool = False

    @property
    def name(self) -> str:
        return f"{self.host.name}/{self.device}"

    @property
    def overhead_bytes(self) -> int:
        return OVERHEAD_BYTES.get(self.card.kind, 0)

    @property
    def room_bytes(self) -> int:
        """What is left for weights, caches and the compute buffer."""
        return max(0, self.offered_bytes - self.overhead_bytes)

    @property
    def worker(self) -> str:
        """The worker that serves it, where one does."""
        return self.endpoint or (self.name if self.own_worker else self.host.name)

    @property
    def endpoint(self) -> str | None:
        return self.card.endpoint

    @property
    def device(self) -> str:
        return self.card.device or "CPU"


def seats_of(host: Host, scan: Scan, measured: Speeds | None = None) -> list[Seat]:
    """A host's GPUs, else its integrated ones, or its CPU when it has none to offer."""
    seen = scan.host(host.name)
    if seen is None:
        return []
    usable = [c for c in seen.cards if not c.excluded and c.device and c.offered_bytes]
    gpus = [c for c in usable if c.kind != "cpu"]
    chosen = [c for c in gpus if not c.integrated] or gpus or usable
    speeds = [speed_of(host.name, card, measured or {}) for card in chosen]
    return [
        _cpu_seat(host, c, seen, scan, speed) if c.kind == "cpu" else _gpu_seat(host, c, seen, speed)
        for c, speed in zip(chosen, speeds, strict=True)
    ]


def speed_of(host: str, card: Card, measured: Speeds) -> DeviceSpeed | None:
    """What was measured on a card, filled up from the catalogue; None where neither knows it."""
    return device_speed(cards.find(card.name, memory_bytes=card.total_bytes), measured.get((host, card.id)))


def _gpu_seat(host: Host, card: Card, seen: HostSeen, speed: DeviceSpeed | None) -> Seat:
    siblings = sum(c.endpoint == card.endpoint for c in seen.cards) if card.endpoint else 1
    return Seat(host=host, card=card, offered_bytes=card.offered_bytes or 0, of_endpoint=siblings, speed=speed)


def _cpu_seat(host: Host, card: Card, seen: HostSeen, scan: Scan, speed: DeviceSpeed | None) -> Seat:
    memory = (seen.memory_available_bytes or card.free_bytes or 0) // _sharing(seen, scan)
    return Seat(
        host=host,
        card=card,
        offered_bytes=min(card.offered_bytes or 0, memory),
        threads=cpu_threads(seen, scan),
        speed=speed,
    )


def cpu_threads(seen: HostSeen, scan: Scan) -> int | None:
    """Threads for a host's CPU: its cores, since more wait for each other in loops. None where nobody counted them."""
    return None if seen.cores is None else max(1, seen.cores // _sharing(seen, scan))


def _sharing(seen: HostSeen, scan: Scan) -> int:
    """How many hosts of the rig are that machine: they share its memory and its cores."""
    return sum(h.machine_id == seen.machine_id for h in scan.hosts) if seen.machine_id else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A seat with its number of slots, and what it holds beside them."""

    seat: Seat
    slots: int
    compute_bytes: int
    overhead_bytes: int


def served_hosts(seats: Sequence[Seat], head: str) -> set[str]:
    """Hosts whose cards a worker serves: all but the head's, and the head's too when its card is a CPU among others.

    `--device` cannot name the head's CPU, so in a cluster a worker serves it.
    """
    hosts = {seat.host.name for seat in seats}
    if hosts == {head}:
        return set()
    on_cpu = any(seat.host.name == head and seat.card.kind == "cpu" for seat in seats)
    return hosts if on_cpu else hosts - {head}


def names_at_head(seats: Sequence[Seat], head: str) -> list[str]:
    """What the host `head` calls each device: RPC0, RPC1, ... for what a worker serves, its own name otherwise.

    The numbers count through the workers in the order in which their first seats come.
    """
    served = served_hosts(seats, head)
    first: dict[str, int] = {}  # endpoint -> the number of its first device
    names: list[str] = []
    numbers = 0
    for seat in seats:
        if seat.host.name not in served:
            names.append(seat.device)
        elif seat.endpoint is None:
            names.append(f"RPC{numbers}")
            numbers += 1
        else:
            if seat.endpoint not in first:
                first[seat.endpoint] = numbers
                numbers += seat.of_endpoint
            names.append(f"RPC{first[seat.endpoint] + int(seat.device.removeprefix('#'))}")
    return names
