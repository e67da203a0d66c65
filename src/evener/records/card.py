"""What the machines really are: hosts, cards, who holds their memory, and the engine's device order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evener.records.capability import EngineDevice
from evener.records.link import LinkMeasured
from evener.records.speed import CardMeasured

CardKind = Literal["cuda", "rocm", "metal", "vulkan", "sycl", "cpu", "unknown"]
HolderKind = Literal["process", "resident", "unattributed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds memory on a card. "unattributed" is what the driver counts and no pid explains."""

    kind: HolderKind
    bytes: int | None
    pid: int | None = None
    user: str | None = None
    command: str | None = None
    age_s: float | None = None
    resident: str | None = None  # name of the declared resident it was recognised as


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A physical GPU, or the CPU as a device, at one moment.

    `id` is the GPU's UUID where the driver gives one, else its PCI bus id, else "cpu"; unique within a host.
    `holders` is None where nobody could look (then the holder is unknown, never "none").
    `offered_bytes` is what a plan may use: free, less the reserve and a stated smaller capacity.
    `note` says in one line why a figure is not simply what the driver or the worker said.
    """

    id: str
    kind: CardKind
    name: str
    bus_id: str | None = None
    uuid: str | None = None
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    offered_bytes: int | None = None
    holders: tuple[Holder, ...] | None = None
    driver: str | None = None
    compute_capability: str | None = None
    temperature_c: float | None = None
    power_limit_asked_w: float | None = None
    power_limit_effective_w: float | None = None
    excluded: bool = False  # by the rig file: shown, never planned
    integrated: bool = False  # a part of the processor, with the host's memory
    drives_display: bool | None = None
    device: str | None = None  # its name inside its own host's engine ("CUDA0", "CPU"), None when it has none
    note: str | None = None
    endpoint: str | None = None  # the running worker of somebody else that serves it
    protocol: str | None = None  # RPC version of that worker
    pasted_at: datetime | None = None  # its name and ids were pasted then, not read now


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """What somebody pasted of a host that we cannot ask: cards as its driver printed them at `taken_at`."""

    host: str
    taken_at: datetime
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What the engine sees, in the order in which it would be used.

    `name` is the engine's ("CUDA0", "RPC1", "CPU"). `worker_device` is the name inside the worker that serves it
    (the RPC1 of the head may be CUDA0 there), None for a device of the head itself. `endpoint` likewise.
    `card_id` is None when the device could not be matched to a card.
    """

    position: int
    name: str
    host: str
    card_id: str | None
    description: str | None = None
    endpoint: str | None = None
    worker_device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSeen:
    """The engine found on a host. `protocol` is the RPC version ("7.0.0") of its worker binary."""

    folder: str
    build: int | None
    commit: str | None
    protocol: str | None
    backends: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()  # names of its local devices, in its own order
    listed: tuple[EngineDevice, ...] = ()  # the same with what it says of them


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """One host at one moment. `fault` says in one line why parts are unknown.

    `machine_id` tells two names of one machine apart from two machines.
    """

    name: str
    connection: str
    machine_id: str | None = None
    system: str | None = None
    cpu: str | None = None
    cores: int | None = None  # physical
    threads: int | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    disk_free_bytes: int | None = None  # where models and engine are kept
    cards: tuple[Card, ...] = ()
    engine: EngineSeen | None = None
    fault: str | None = None

    def card(self, card_id: str) -> Card | None:
        return next((c for c in self.cards if c.id == card_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The rig as it is. `devices` is the order the engine uses when nobody says otherwise.

    `links` holds the last measurement of each named link, each with its own `taken_at`; `speeds` that of each card
    which is still where it was measured.
    """

    taken_at: datetime
    hosts: tuple[HostSeen, ...]
    devices: tuple[Device, ...]
    links: tuple[LinkMeasured, ...] = ()
    speeds: tuple[CardMeasured, ...] = ()

    def host(self, name: str) -> HostSeen | None:
        return next((h for h in self.hosts if h.name == name), None)
