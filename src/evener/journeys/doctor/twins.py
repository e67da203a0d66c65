"""One thing under two names: its memory would be promised twice, or the engine would wait for itself. Pure.

What the rig file shows by itself has been refused when it was read; here is what only the machines can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evener.journeys.doctor.seen import Seen
from evener.plan.routes import tunnelled
from evener.records.finding import Finding


def machines(seen: Seen) -> Iterator[Finding]:
    """Two hosts of the rig that are one machine. On loopback that is meant so, over ssh it hardly is."""
    first: dict[str, str] = {}
    for host, at in seen.asked():
        if at.machine_id is None:
            continue
        twin = first.setdefault(at.machine_id, host.name)
        if twin == host.name:
            continue
        far = host.connection == "ssh"
        is_head = twin == seen.rig.head.name
        yield Finding(
            check="twin",
            level="costs" if far else "note",
            where=host.name,
            what=f"is the same machine as {twin}{', the head' if is_head else ''}",
            why="they share its memory and cores: main memory is counted twice, and nothing gets faster",
            remedy=f"take one of them out of rig.toml: {twin} has the cards" if far else None,
        )


def endpoints(seen: Seen) -> Iterator[Finding]:
    """An endpoint that is a worker on a host of the rig, or another endpoint by another name."""
    machine_of = {address: host.name for host, health in seen.healthy() for address in health.addresses}
    known: dict[str, str] = {}
    for host in seen.rig.hosts:
        for endpoint in host.endpoints:
            name, _, port = endpoint.rpartition(":")
            address = seen.addresses.get(name, name)
            if address in machine_of and not address.startswith("127."):
                yield _on_a_host(seen, host.name, endpoint, machine_of[address])
            elif (other := known.setdefault(f"{address}:{port}", endpoint)) != endpoint:
                yield Finding(
                    check="twin",
                    level="stops",
                    where=host.name,
                    what=f"{endpoint} is {other} by another name",
                    why="a worker serves one client: the engine would connect twice and wait for ever",
                    remedy="take one of the two out of rig.toml",
                )


def _on_a_host(seen: Seen, where: str, endpoint: str, machine: str) -> Finding:
    head = machine == seen.rig.head.name
    return Finding(
        check="twin",
        level="stops",
        where=where,
        what=f"{endpoint} is on {machine}{', the head itself' if head else ', a host of this rig'}",
        why="its memory would be counted, and used, twice",
        remedy=f"take the endpoint out of rig.toml: evener starts a worker on {machine} where one is needed",
    )


def addresses(seen: Seen) -> Iterator[Finding]:
    """A worker is bound to its host's address, which must be on one of that host's interfaces, or to loopback."""
    through_ssh = tunnelled(seen.rig)
    for host, _ in seen.asked():
        health, address = seen.health(host.name), host.address or ""
        on_loopback = address.startswith("127.") or host.name in through_ssh
        if health is None or not health.addresses or on_loopback or not re.fullmatch(r"[\d.]+", address):
            continue
        if address not in health.addresses:
            yield Finding(
                check="address",
                level="stops",
                where=host.name,
                what=f"its address {address} is on none of its interfaces: no worker can listen there",
                remedy=f"it has {', '.join(sorted(a for a in health.addresses if not a.startswith('127.')))}; "
                "correct `address` in rig.toml",
            )
