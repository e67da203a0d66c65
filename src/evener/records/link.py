"""What a link really carries: measured rates and round trips, with how many times, their spread and the conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Eee = Literal["active", "enabled", "disabled", "not supported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Several measured values of one thing. With `n` = 1 the three are one value, and nothing is known of spread."""

    n: int  # how often
    p50: float  # median
    low: float  # smallest
    high: float  # largest


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """The network interface that a host really uses towards the other end. None where its system does not say."""

    host: str
    name: str | None  # "enp5s0"
    source: str | None = None  # the address that packets leave with
    mtu: int | None = None  # bytes of the largest packet
    mbit_per_s: int | None = None  # what both ends of the cable agreed on
    duplex: Literal["full", "half"] | None = None  # half: only one end may speak at a time
    wireless: bool = False  # Wi-Fi
    driver: str | None = None  # the kernel's driver, "igc"
    eee: Eee | None = None  # Energy-Efficient Ethernet; "active" lets the cable sleep between packets


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One tensor of the size of an activation, there and back through RPC."""

    bytes: int
    set_us: Measured  # until the worker has stored it
    get_us: Measured  # until it is back


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """RPC through the protocol itself, as loading and tokens see it: not what the cable carries, but what arrives."""

    endpoint: str  # where the worker was reached
    device: str  # the worker's device that took the data
    connect_us: float  # one TCP connection
    rtt_us: Measured  # a question with four bytes of answer
    set_mib_per_s: Measured  # to the worker, as when loading
    get_mib_per_s: Measured  # from the worker
    hops: tuple[Hop, ...]  # single activations


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMeasured:
    """One link of the rig, measured between the addresses that it had then. What could not be measured is None."""

    name: str
    between: tuple[str, str]  # the two hosts, the head first
    addresses: tuple[str | None, str]  # of each of them on this link
    taken_at: datetime
    out_gbit_per_s: Measured | None = None  # raw TCP from the head (iperf3)
    back_gbit_per_s: Measured | None = None  # raw TCP towards the head (iperf3)
    rtt_us: Measured | None = None  # round trip of a small packet
    rtt_by: Literal["ping", "tcp connect"] | None = None  # how the round trip was taken
    payload: Payload | None = None  # RPC on the link's addresses
    through_tunnel: Payload | None = None  # the same RPC through ssh, for a link with tunnel = true
    interfaces: tuple[Interface, ...] = ()  # what each end really uses
    notes: tuple[str, ...] = ()  # what stands out about the path
    faults: tuple[str, ...] = ()  # why a part is missing

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all could be measured."""
        parts = (self.out_gbit_per_s, self.back_gbit_per_s, self.rtt_us, self.payload, self.through_tunnel)
        return all(part is None for part in parts)
