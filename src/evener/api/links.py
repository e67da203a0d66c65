"""Measure the rig's links, and take in what was pasted of a host that cannot be asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from evener.api.rig import Rig
from evener.dialects import llama_flags, nvidia_paste
from evener.edges import locks, measured
from evener.edges.rpc_bench import RpcPayload
from evener.edges.rpc_probe import RpcProbe
from evener.errors import ConfigurationError, HostError, NameUnknown
from evener.ports import Report
from evener.records.card import HostSeen, Pasted, Scan
from evener.records.link import LinkMeasured
from evener.records.rig import Host, Link
from evener.scan import links
from evener.scan.paths import Ends, ends
from evener.state import state_folder

OWNER = "evener scan --links"


async def measure(rig: Rig, *, report: Report) -> tuple[LinkMeasured, ...]:
    """Measure each link of the rig, one after another, and keep the results. It sends data.

    What cannot be measured of a link is None there, and its `faults` say why. Raises HostBusy where a deployment holds
    one of the hosts, since both would be wrong; and HostError, once the others are measured, for a link that yields
    nothing: what was known of it stays.
    """
    if not rig.record.links:
        raise ConfigurationError("the rig file names no link", hint="add [[links]] with the two hosts it joins")
    scan = await rig.scan()
    world = links.World(rpc=RpcProbe(), bench=RpcPayload(), report=report, now=lambda: datetime.now(UTC))
    with ExitStack() as held:
        for machine, host in _machines(rig.record.links, scan).items():
            held.enter_context(locks.hold(state_folder() / "locks", machine, what=host, owner=OWNER))
        done = []
        for link in rig.record.links:
            between = ends(rig.record, link)
            sides = await _sides(rig, link, between, scan)
            done.append(await links.measure(link, between, sides, world))
            if not done[-1].is_empty:
                measured.save_link(done[-1])
    for one in done:
        if one.is_empty:
            raise HostError(f"link {one.name}: nothing could be measured: {one.faults[0]}", hint="is the cable in?")
    return tuple(done)


def paste(rig: Rig, host: str, text: str) -> Pasted:
    """Keep what nvidia-smi printed on `host`. Raises NameUnknown, or ConfigurationError for what is no such output."""
    if rig.record.host(host) is None:
        known = ", ".join(h.name for h in rig.record.hosts)
        raise NameUnknown(f"no host is called {host}", hint=f"there is: {known}")
    cards = nvidia_paste.parse(text)
    if not cards:
        raise ConfigurationError(
            "this is no output of nvidia-smi",
            hint="paste its table whole, or nvidia-smi --query-gpu=name,uuid,pci.bus_id,memory.total,memory.used,"
            "memory.free --format=csv with its header",
        )
    pasted = Pasted(host=host, taken_at=datetime.now(UTC), cards=cards)
    measured.save_pasted(pasted)
    return pasted


def _machines(wanted: Sequence[Link], scan: Scan) -> dict[str, str]:
    """The machines at the links' ends, each with its first host's name: the keys that deployments hold too."""
    machines: dict[str, str] = {}
    for name in (end for link in wanted for end in link.between):
        seen = scan.host(name)
        machines.setdefault(f"machine-{(seen and seen.machine_id) or name}", name)
    return machines


async def _sides(rig: Rig, link: Link, between: Ends, scan: Scan) -> links.Sides:
    """What there is to measure with: doors, a worker to start, a tunnel's end."""
    near, far = rig.record.host(between.near.host), rig.record.host(between.far.host)
    assert near is not None, "the rig file was checked"
    assert far is not None, "the rig file was checked"
    shells = rig.shells()
    if near.name not in shells:
        raise ConfigurationError(
            f"link {link.name}: evener has no door to {near.name}", hint="one end must be a host it can run commands on"
        )
    ports = await rig.ports_free_on(far) if far.name in shells else []
    worker, why = _worker(near, far, scan.host(far.name), ports)
    near_ports = await rig.ports_free_on(near) if link.tunnel else []
    return links.Sides(
        near=shells[near.name],
        far=shells.get(far.name),
        worker=worker,
        endpoint=far.endpoints[0] if far.endpoints else None,
        tunnel=links.Tunnel(destination=far.ssh, local_port=near_ports[0]) if far.ssh and near_ports else None,
        spare_port=ports[-1] if ports else None,
        why=why,
    )


def _worker(near: Host, far: Host, seen: HostSeen | None, ports: list[int]) -> tuple[links.Worker | None, str | None]:
    """The worker of the far end's first card that takes part, its CPU where it has no other; or why there is none."""
    if near.connection != "local":
        return None, f"evener does not run on {near.name}, which would be the head"
    if seen is None or seen.engine is None:
        return None, f"no engine on {far.name}"
    if not ports:
        return None, f"no free port on {far.name} in {far.ports[0]}-{far.ports[1]}"
    cards = sorted((c for c in seen.cards if c.device and not c.excluded), key=lambda c: c.kind == "cpu")
    card = next(iter(cards), None)
    env = dict(llama_flags.ENGINE_ENVIRONMENT)
    if card is not None and card.kind == "cuda":
        env |= llama_flags.CUDA_ENVIRONMENT
    device = card.device if card is not None and card.device else "CPU"
    binary = f"{seen.engine.folder}/{llama_flags.WORKER}"
    return links.Worker(binary=binary, device=device, port=ports[0], env=env), None
