"""A rig as its owner states it: hosts and links. What the machines really are is `records.card`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Connection = Literal["local", "ssh", "endpoint", "stated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A program known to hold memory on a card, and allowed to."""

    name: str
    card: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCard:
    """A card that need not exist: for planning before buying."""

    model: str
    price: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRules:
    """Which of a host's cards take part. Names match by substring, ignoring case; ids match exactly.

    `capacity_bytes` states a smaller card: (card name or id, bytes).
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    capacity_bytes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine. The first host of a rig is the head: llama-server runs there."""

    name: str
    connection: Connection
    address: str | None = None  # carries RPC
    ports: tuple[int, int] = (50052, 50059)  # inclusive, for its workers
    reserve_bytes: int = 0  # kept free on each card
    residents: tuple[Resident, ...] = ()
    ssh: str | None = None
    engine: str | None = None
    models: str | None = None
    cards: CardRules = field(default_factory=CardRules)
    endpoints: tuple[str, ...] = ()  # "host:port", for connection = "endpoint"
    stated: tuple[StatedCard, ...] = ()  # for connection = "stated"
    ram_bytes: int | None = None  # of a stated host, where its owner says
    ram_gb_per_s: float | None = None  # what its RAM is specified to carry, in 10^9 bytes per second


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A cable between two hosts, as stated. A measurement replaces it."""

    name: str
    between: tuple[str, str]
    gbit_per_s: float | None = None
    rtt_us: float | None = None
    preset: str | None = None
    tunnel: bool = False
    addresses: tuple[tuple[str, str], ...] = ()  # (host, address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serve:
    """Where the team reaches the model. The key is named here, never held."""

    host: str = "127.0.0.1"
    port: int = 8080
    api_key_env: str | None = None
    api_key_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """What things cost, so that plans and reports can say so."""

    currency: str = "EUR"
    kwh_price: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """Hosts and links, in the order of rig.toml. `path` is None for a rig that was not read from a file."""

    hosts: tuple[Host, ...]
    links: tuple[Link, ...] = ()
    serve: Serve = field(default_factory=Serve)
    money: Money | None = None
    path: str | None = None

    @property
    def head(self) -> Host:
        return self.hosts[0]

    def host(self, name: str) -> Host | None:
        return next((h for h in self.hosts if h.name == name), None)
