"""Watch a rig's hosts while something runs: who can be asked, which interface carries which link, who is ours."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager

from evener.api.rig import Rig
from evener.records.card import Scan
from evener.records.deployment import Deployment
from evener.records.rig import Host
from evener.records.telemetry import Sample
from evener.scan.paths import ends
from evener.telemetry.cooling import cooled
from evener.telemetry.drift import drift, steady, token_events
from evener.telemetry.tell import as_conditions, tell
from evener.telemetry.watch import Keep, Seen, Watched, Way
from evener.telemetry.watch import watching as watching_hosts

__all__ = ["Sample", "Seen", "as_conditions", "cooled", "drift", "steady", "tell", "token_events", "watching"]

NOBODY = {
    "endpoint": "a worker of somebody else: nobody can ask this host",
    "stated": "stated, not there to be asked",
}


@asynccontextmanager
async def watching(
    rig: Rig,
    *,
    scan: Scan | None = None,
    hosts: Collection[str] | None = None,
    deployment: Deployment | None = None,
    every_s: float = 1.0,
    keep: Keep = lambda _sample: None,
    started_ns: int | None = None,
) -> AsyncIterator[Seen]:
    """Watch the rig's hosts (or those named in `hosts`) as long as the block lasts, a sample a second.

    `keep` gets each sample as it arrives (`RunFolder.telemetry([sample])`). `started_ns` is when the run's time begins,
    on `time.perf_counter_ns`: pass the one that requests count from. `scan` gives cards their names; processes of
    `deployment` are not somebody else. Nothing is raised for a host that cannot be asked or is lost: it is said.
    """
    started_ns = time.perf_counter_ns() if started_ns is None else started_ns
    wanted = [watched(rig, host, scan, deployment) for host in rig.record.hosts if hosts is None or host.name in hosts]
    async with watching_hosts(wanted, every_s=every_s, keep=keep, started_ns=started_ns) as seen:
        yield seen


def watched(rig: Rig, host: Host, scan: Scan | None, deployment: Deployment | None) -> Watched:
    """One host as a thing to watch."""
    seen = scan.host(host.name) if scan else None
    return Watched(
        host=host.name,
        shell=rig.shells().get(host.name),
        why=NOBODY.get(host.connection),
        ways=tuple(_ways(rig, host)),
        cards=seen.cards if seen else (),
        ours=frozenset(p.pid for p in deployment.processes if p.host == host.name) if deployment else frozenset(),
    )


def _ways(rig: Rig, host: Host) -> Iterator[Way]:
    for link in rig.record.links:
        if host.name in link.between:
            both = ends(rig.record, link)
            own, other = (both.near, both.far) if both.near.host == host.name else (both.far, both.near)
            if other.address:
                yield Way(link=link.name, own=own.address, other=other.address)
