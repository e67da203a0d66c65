"""`evener doctor`: every check before a load, without starting anything. Findings are data; nothing here fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evener.errors import HostError
from evener.journeys.doctor import ask, cards, engines, hosts, links, reach, twins
from evener.journeys.doctor.seen import HostAnswers, Path, Ports, Seen
from evener.plan.routes import tunnelled
from evener.ports import Report, Rpc, Shell
from evener.records.card import Scan
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.finding import Examined, Finding, Level
from evener.records.rig import Host, Rig
from evener.records.weights import Weights
from evener.scan.endpoints import Visited
from evener.together import together

CHECKS = (
    reach.hosts, twins.machines, twins.endpoints, twins.addresses, reach.endpoints, reach.firewall, reach.ports,
    engines.present, engines.same, engines.stale, cards.memory, cards.blind, cards.display, cards.power, cards.state,
    hosts.ram, hosts.disk, hosts.cache, hosts.limits, hosts.settings, hosts.sleep, hosts.governor, hosts.clock,
    hosts.tools, links.paths,
)  # fmt: skip
WORST_FIRST: tuple[Level, ...] = ("stops", "costs", "note", "fine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A scan with what it came across: hosts out of reach, and what the endpoints said."""

    scan: Scan
    out_of_reach: Mapping[str, HostError] = field(default_factory=dict)
    visits: Mapping[str, Visited] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The outside, handed in. `now` is wall-clock time, `variables` the names in our environment that matter."""

    shells: Mapping[str, Shell]
    rpc: Callable[[str | None], Rpc]  # for a head of that RPC protocol
    scan: Callable[[], Awaitable[Looked]]
    now: Callable[[], datetime]
    report: Report
    deployments: tuple[Deployment, ...] = ()
    variables: tuple[str, ...] = ()


async def examine(rig: Rig, world: World, *, weights: Weights | None = None) -> Examined:
    """Look at everything, then judge. `weights` are of the model that is to be loaded, where there is one."""
    began = time.monotonic()
    at = world.now()
    seen = await look(rig, world, weights)
    findings = judged(seen)
    return Examined(
        taken_at=at,
        took_s=round(time.monotonic() - began, 2),
        model=weights.name if weights else None,
        findings=findings,
        ok=not any(finding.level == "stops" for finding in findings),
    )


def judged(seen: Seen) -> tuple[Finding, ...]:
    """Every finding, the worst first and then in the order of the checks. Pure."""
    found = [finding for check in CHECKS for finding in check(seen)]
    return tuple(sorted(found, key=lambda finding: WORST_FIRST.index(finding.level)))


async def look(rig: Rig, world: World, weights: Weights | None) -> Seen:
    """Two rounds: the scan, which finds out who can be reached; then all else that they can be asked, at once."""
    world.report(Progress(what="looking at the rig"))
    looked = await world.scan()
    scan = looked.scan
    reached = {name: shell for name, shell in world.shells.items() if name not in looked.out_of_reach}
    head = reached.get(rig.head.name)
    engine = (at.engine if (at := scan.host(rig.head.name)) else None) if head else None
    rpc = world.rpc(engine.protocol if engine else None)
    doors = {h.address: reached[h.name] for h in rig.hosts if h.address and h.name in reached}
    names = [e.rpartition(":")[0] for h in rig.hosts for e in h.endpoints]
    answers, ports, endpoints, paths, addresses, serving = await asyncio.gather(
        _answers(rig, reached, world),
        _ports(rig, reached, rpc, scan, world.deployments),
        ask.endpoints(looked.visits, rpc, doors),
        _paths(rig, reached),
        ask.resolved(head, names) if head else _nothing(),
        _serving(rig, head),
    )
    return Seen(
        rig=rig, scan=scan, out_of_reach=looked.out_of_reach, answers=answers, ports=ports, endpoints=endpoints,
        addresses=addresses, paths=paths, serving=serving, deployments=world.deployments, weights=weights,
        variables=world.variables,
    )  # fmt: skip


async def _answers(rig: Rig, reached: Mapping[str, Shell], world: World) -> dict[str, HostAnswers]:
    async def one(shell: Shell) -> HostAnswers:
        world.report(Progress(what=f"asking {shell.host}"))
        return await ask.health(shell, lambda: world.now().timestamp())

    names = [host.name for host in rig.hosts if host.name in reached]
    return dict(zip(names, await together(one(reached[name]) for name in names), strict=True))


async def _ports(
    rig: Rig, reached: Mapping[str, Shell], rpc: Rpc, scan: Scan, deployments: Sequence[Deployment]
) -> dict[str, Ports]:
    """Closed ports are tried from this machine: only where it is the head, and goes there without a tunnel.

    Workers of a deployment of ours are not visited: a queued visitor can hold up its load.
    """
    in_use = {worker.listen: one.name for one in deployments for worker in one.candidate.workers}
    here = rig.head.connection == "local"
    through_ssh = tunnelled(rig)

    async def one(host: Host) -> Ports:
        at = scan.host(host.name)
        folder = at.engine.folder if at and at.engine else None
        try:
            knock = here and host.connection == "ssh" and host.name not in through_ssh
            return await ask.ports(host, reached[host.name], rpc, engine=folder, knock=knock, in_use=in_use)
        except HostError:  # it was there before; what else it is asked says so
            return Ports()

    wanted = [host for host in rig.hosts if host.name in reached]
    return dict(zip([h.name for h in wanted], await together(one(host) for host in wanted), strict=True))


async def _paths(rig: Rig, reached: Mapping[str, Shell]) -> list[Path]:
    try:
        return await ask.ways(rig, reached)
    except HostError:
        return []


async def _serving(rig: Rig, head: Shell | None) -> str | None:
    try:
        return await ask.serve_port(rig, head) if head else None
    except HostError:
        return None


async def _nothing() -> dict[str, str]:
    return {}
