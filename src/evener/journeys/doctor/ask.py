"""Ask the hosts what a scan does not: one errand each, and a few connections that nobody answers. Starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from evener import files
from evener.dialects import host_health, nvidia_smi, proc_net
from evener.engine import compare
from evener.errors import EndpointError, HostError, PortTaken
from evener.journeys.doctor.seen import HostAnswers, Path, Ports
from evener.launch import blame
from evener.launch.bring_up import require_free_port
from evener.ports import Rpc, Shell
from evener.records.rig import Host, Link, Rig
from evener.scan import paths
from evener.scan.endpoints import Visited
from evener.together import together

WITHIN_S = 8.0  # of an errand: a login shell's scripts run in it
KNOCK_WITHIN_S = 1.5  # a closed port answers within a round trip
MOST_KNOCKS = 4
RESOLVE = 'for name; do set -- $(getent ahostsv4 "$name"); echo "$name $1"; done'


async def health(shell: Shell, now: Callable[[], float]) -> HostAnswers:
    """`now` is this machine's clock, in seconds from 1970. A host that does not answer is a fault, not an error."""
    before = now()
    try:
        said, gpus = await asyncio.gather(
            files.sh(shell, host_health.SCRIPT, within_s=WITHIN_S), _gpus(shell, within_s=WITHIN_S)
        )
    except HostError as error:
        return HostAnswers(health=None, fault=error.message.removeprefix(f"{shell.host}: "))
    read = host_health.read(said.stdout)
    if read is None:
        return HostAnswers(health=None, gpus=gpus, fault="its answers broke off")
    return HostAnswers(health=read, gpus=gpus, off_by_s=off_by_s(read.clock_s, before, now()))


def off_by_s(clock_s: int | None, before: float, after: float) -> float | None:
    """How far a clock that was read between two moments here is off at least; it counts whole seconds."""
    if clock_s is None:
        return None
    return max(0.0, clock_s - after) + min(0.0, clock_s + 1 - before)


async def _gpus(shell: Shell, *, within_s: float) -> tuple[nvidia_smi.GpuHealth, ...]:
    """An older driver is asked again for what it knows; one that does not answer has been a fault of the scan."""
    if await shell.which(nvidia_smi.PROGRAM) is None:
        return ()
    fields = list(nvidia_smi.HEALTH_FIELDS)
    try:
        while True:
            done = await shell.run(nvidia_smi.health_query(fields), within_s=within_s)
            refused = nvidia_smi.refused_field(done.stdout + done.stderr)
            if refused not in fields:
                return nvidia_smi.parse_health(done.stdout)
            fields.remove(refused)
    except HostError:
        return ()


async def ports(
    host: Host, shell: Shell, rpc: Rpc, *, engine: str | None, knock: bool, in_use: Mapping[str, str]
) -> Ports:
    """Who listens in a host's range, and with `knock` how closed ports of it answer a connection from this machine."""
    found, stale = await compare.workers(host, shell, rpc, engine=engine, in_use=in_use)
    tables = [(await shell.read(path) or b"").decode(errors="replace") for path in proc_net.TABLES]
    taken = {one.port for one in proc_net.listeners(*tables)}
    closed = [port for port in range(host.ports[0], host.ports[1] + 1) if port not in taken][:MOST_KNOCKS]
    wanted = closed if knock and host.address else []
    answers = await together(_knock(f"{host.address}:{port}", rpc) for port in wanted)
    return Ports(found=tuple(found), stale=tuple(stale), tried=dict(zip(wanted, answers, strict=True)))


async def _knock(endpoint: str, rpc: Rpc) -> EndpointError | None:
    try:
        await rpc.hello(endpoint, within_s=KNOCK_WITHIN_S)
    except EndpointError as error:
        return error
    return None


async def endpoints(visits: Mapping[str, Visited], rpc: Rpc, doors: Mapping[str, Shell]) -> dict[str, Visited]:
    """The visits, and where one failed on a host that we have a door to, who answered. `doors` are by address."""

    async def one(endpoint: str) -> Visited:
        if not isinstance(visits[endpoint], EndpointError) or endpoint.rpartition(":")[0] not in doors:
            return visits[endpoint]
        try:
            return await blame.visit(endpoint, rpc, doors, within_s=3.0)
        except EndpointError as error:
            return error

    return dict(zip(visits, await together([one(e) for e in visits]), strict=True))


async def resolved(head: Shell, names: Iterable[str]) -> dict[str, str]:
    """The first IPv4 address of each name, as the head finds it; a name without one is left out."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    try:
        said = (await files.sh(head, RESOLVE, *wanted, within_s=WITHIN_S)).stdout
    except HostError:
        return {}
    return {name: address for line in said.splitlines() for name, _, address in [line.partition(" ")] if address}


async def serve_port(rig: Rig, head: Shell) -> str | None:
    """Who has the port on which the head would serve, None where it is free."""
    try:
        await require_free_port(head, f"{rig.serve.host}:{rig.serve.port}")
    except PortTaken as error:
        return error.message.removeprefix(f"{head.host}: ")
    return None


async def ways(rig: Rig, shells: Mapping[str, Shell]) -> list[Path]:
    """Both ends of each link, and of the way to each host that no link of the rig file leads to."""
    wanted = [*rig.links, *_unnamed(rig)]
    out = {h.name for h in rig.hosts if h.connection in ("local", "ssh")} - shells.keys()
    return await together([_way(rig, link, shells) for link in wanted if not out & set(link.between)])


def _unnamed(rig: Rig) -> Sequence[Link]:
    linked = {frozenset(link.between) for link in rig.links}
    return [
        Link(name=f"{rig.head.name}-{host.name}", between=(rig.head.name, host.name))
        for host in rig.hosts[1:]
        if host.address and frozenset((rig.head.name, host.name)) not in linked
    ]


async def _way(rig: Rig, link: Link, shells: Mapping[str, Shell]) -> Path:
    between = paths.ends(rig, link)
    near, far = shells.get(between.near.host), shells.get(between.far.host)
    seen, _ = await paths.both(near, far, between) if near else ((), ())
    return Path(name=link.name, between=between, interfaces=seen)
