"""What a preflight has looked at before it judges: every check reads this and asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.dialects.host_health import Health
from evener.dialects.nvidia_smi import GpuHealth
from evener.errors import EndpointError, HostError
from evener.records.capability import WorkerFound
from evener.records.card import HostSeen, Scan
from evener.records.deployment import Deployment
from evener.records.link import Interface
from evener.records.rig import Host, Rig
from evener.records.weights import Weights
from evener.scan.endpoints import Visited
from evener.scan.paths import Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAnswers:
    """The extra answers of one host. `off_by_s` is its clock against this machine's, no more than is certain."""

    health: Health | None
    gpus: tuple[GpuHealth, ...] = ()
    off_by_s: float | None = None
    fault: str | None = None  # why there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """A host's range of ports for workers: who listens there, and what a connection from the head met elsewhere."""

    found: tuple[WorkerFound, ...] = ()
    stale: tuple[str, ...] = ()  # what is wrong with them
    tried: Mapping[int, EndpointError | None] = field(
        default_factory=dict
    )  # a port where nobody listens -> how it went


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The interfaces at both ends of a cable, as far as the hosts say."""

    name: str
    between: Ends
    interfaces: tuple[Interface, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The rig, its scan, and all that was asked beside it, by host's name. `serving` is who has the serve port."""

    rig: Rig
    scan: Scan
    out_of_reach: Mapping[str, HostError] = field(default_factory=dict)
    answers: Mapping[str, HostAnswers] = field(default_factory=dict)
    ports: Mapping[str, Ports] = field(default_factory=dict)
    endpoints: Mapping[str, Visited] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)  # a name in an endpoint -> what it resolves to
    paths: Sequence[Path] = ()
    serving: str | None = None
    deployments: Sequence[Deployment] = ()
    weights: Weights | None = None
    variables: tuple[str, ...] = ()  # of our own environment, those that would change an engine

    def asked(self) -> Iterator[tuple[Host, HostSeen]]:
        """Hosts that evener runs commands on, and that answered."""
        for host in self.rig.hosts:
            seen = self.scan.host(host.name)
            if seen is not None and host.connection in ("local", "ssh") and host.name not in self.out_of_reach:
                yield host, seen

    def machines(self) -> Iterator[tuple[Host, HostSeen]]:
        """The same, but of hosts that are one machine only the first: what is the machine's is told once."""
        known: set[str | None] = set()
        for host, at in self.asked():
            if at.machine_id is None or at.machine_id not in known:
                known.add(at.machine_id)
                yield host, at

    def healthy(self) -> Iterator[tuple[Host, Health]]:
        """Hosts whose extra answers came; of those that are one machine and say the same, the first."""
        told: set[tuple[str | None, Health]] = set()
        for host, at in self.asked():
            if (health := self.health(host.name)) is None:
                continue
            lasting = replace(health, clock_s=None, cache_free_bytes=None)
            if at.machine_id is None or (at.machine_id, lasting) not in told:
                told.add((at.machine_id, lasting))
                yield host, health

    def health(self, host: str) -> Health | None:
        """The extra answers of a host, where they came."""
        answers = self.answers.get(host)
        return answers.health if answers else None

    def deployment_of(self, host: str, pid: int | None) -> str | None:
        """The name of our deployment that a process belongs to, on that host under any of its names."""
        at = self.scan.host(host)
        machine = {h.name for h in self.scan.hosts if at and at.machine_id and h.machine_id == at.machine_id} | {host}
        mine = (d.name for d in self.deployments if any(p.pid == pid and p.host in machine for p in d.processes))
        return next(mine, None)
