"""A link's two ends, the interfaces they really use towards each other, and what stands out about them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from evener.dialects import net_path
from evener.errors import HostError
from evener.ports import Shell
from evener.records.link import Interface
from evener.records.rig import Link, Rig
from evener.together import together

WITHIN_S = 5.0
SLOW_MBIT_PER_S = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A host with its address on a link; None where the rig file names none."""

    host: str
    address: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Near is the host that the rig names first: the head, wherever it is one of them."""

    near: End
    far: End


def ends(rig: Rig, link: Link) -> Ends:
    """Addresses of the link's own, else the hosts'. Pure."""
    order = [host.name for host in rig.hosts]
    near, far = sorted(link.between, key=order.index)
    return Ends(near=_end(rig, link, near), far=_end(rig, link, far))


async def interface(shell: Shell, host: str, towards: str) -> Interface:
    """What `shell`'s host would use to reach the address `towards`. Raises HostError where it cannot be asked."""
    route = net_path.route((await shell.run(net_path.route_query(towards), within_s=WITHIN_S)).stdout)
    if route.interface is None:
        return Interface(host=host, name=None)
    paths = net_path.interface_files(route.interface)
    texts = await together(shell.read(path) for path in paths.values())
    files = {name: (text or b"").decode(errors="replace") for name, text in zip(paths, texts, strict=True)}
    return net_path.interface(host, route, files, await _eee(shell, route.interface))


async def both(near: Shell, far: Shell | None, between: Ends) -> tuple[tuple[Interface, ...], tuple[str, ...]]:
    """Both ends' interfaces, and why one is missing."""
    wanted = []
    if between.far.address:
        wanted.append(interface(near, between.near.host, between.far.address))
    if far is not None and between.near.address:
        wanted.append(interface(far, between.far.host, between.near.address))
    said = await asyncio.gather(*wanted, return_exceptions=True)
    for one in said:
        if isinstance(one, BaseException) and not isinstance(one, HostError):
            raise one
    seen = tuple(one for one in said if isinstance(one, Interface))
    return seen, tuple(one.message for one in said if isinstance(one, HostError))


def remarks(between: Ends, seen: tuple[Interface, ...]) -> Iterator[str]:
    """What an owner should know of the path before believing, or blaming, its figures. Pure."""
    for end in seen:
        if end.name == net_path.LOOPBACK:
            yield f"{end.host} reaches the other end on this machine: no cable is between them"
            return
    for end in seen:
        yield from _of_interface(end, between.near if end.host == between.near.host else between.far)
    sizes = {end.mtu for end in seen if end.mtu}
    if len(sizes) > 1:
        yield f"the ends disagree on the largest packet (MTU {' and '.join(str(s) for s in sorted(sizes))})"


def _of_interface(seen: Interface, end: End) -> Iterator[str]:
    where = f"{seen.host}: {seen.name}"
    if seen.name is None:
        yield f"{seen.host} has no route to the other end"
        return
    if seen.wireless:
        yield f"{where} is Wi-Fi: its round trips cost each token milliseconds"
    if seen.mbit_per_s and seen.mbit_per_s < SLOW_MBIT_PER_S:
        yield f"{where} runs at {seen.mbit_per_s} Mbit/s: a bad cable or an old switch does that"
    if seen.duplex == "half":
        yield f"{where} runs in half duplex: the two ends have not agreed"
    if seen.eee == "active":
        yield f"{where} lets the cable sleep between packets (EEE active); ethtool --set-eee {seen.name} eee off"
    if end.address and seen.source and _is_ip(end.address) and seen.source != end.address:
        yield f"{where} sends from {seen.source}, not from {end.address}: this is not the cable that the link names"


def _is_ip(address: str) -> bool:
    return address.replace(".", "").isdigit()


async def _eee(shell: Shell, name: str) -> str:
    """ethtool is often missing, and in places not on a user's PATH."""
    for program in ("ethtool", "/usr/sbin/ethtool"):
        try:
            done = await shell.run([program, *net_path.eee_query(name)[1:]], within_s=WITHIN_S)
            return done.stdout + done.stderr
        except HostError:
            continue
    return ""


def _end(rig: Rig, link: Link, name: str) -> End:
    host = rig.host(name)
    return End(host=name, address=dict(link.addresses).get(name) or (host.address if host else None))
