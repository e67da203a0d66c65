"""Which cable leads from the head to each host, and where a worker at its far end listens. Pure.

Of several cables between two hosts the one that carries an activation soonest is taken; `plan --link NAME` keeps one,
and plan/other_cables.py says what the others would give.
"""

from __future__ import annotations

from dataclasses import dataclass

from evener.plan import links
from evener.records.card import Scan
from evener.records.rig import Host, Link, Rig
from evener.records.speed import LinkSpeed

ACTIVATION_BITS = 8 * 64 * 1024  # a few tokens of a large model
UNSTATED = "ADDRESS-OF-"  # and the host's name: no command line with it runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way to one host. `link` is None where the rig states none.

    `address` is where its worker listens on that way, None for one that listens on loopback only, and a placeholder
    for a far host of which nobody has said it. `ssh` is what ssh calls the host when RPC goes through a tunnel: then
    the way is ssh's own.
    """

    link: Link | None
    speed: LinkSpeed
    address: str | None
    ssh: str | None = None


def route(head: Host, far: Host, rig: Rig, scan: Scan) -> Route:
    """The best known way from `head` to `far`."""
    known = cables(head, far, rig, scan)
    link = min(known, key=lambda one: _seconds(known[one]), default=None)
    address = far.address if link is None else dict(link.addresses).get(far.name) or far.address
    if address is None and not _shares_loopback(head, far, scan):
        address = f"{UNSTATED}{far.name}"
    through = link is not None and link.tunnel and head.connection == "local"
    return Route(
        link=link,
        speed=known[link] if link else _unstated(head, far, scan),
        address=None if through and far.ssh else address,
        ssh=far.ssh if through else None,
    )


def cables(head: Host, far: Host, rig: Rig, scan: Scan) -> dict[Link, LinkSpeed]:
    """Every cable between two hosts, with what is known of it."""
    return {link: _speed(link, head, far, scan) for link in rig.links if set(link.between) == {head.name, far.name}}


def _speed(link: Link, head: Host, far: Host, scan: Scan) -> LinkSpeed:
    """Measured, else stated. A link that was measured says more than that both names are one machine's."""
    known = next((m for m in scan.links if m.name == link.name), None)
    return (
        links.PRESETS["loopback"] if known is None and _one_machine(head, far, scan) else links.link_speed(link, known)
    )


def _unstated(head: Host, far: Host, scan: Scan) -> LinkSpeed:
    return links.PRESETS["loopback"] if _one_machine(head, far, scan) else links.UNKNOWN


def _one_machine(head: Host, far: Host, scan: Scan) -> bool:
    one, other = scan.host(head.name), scan.host(far.name)
    same = one is not None and other is not None and one.machine_id is not None and one.machine_id == other.machine_id
    return head.name == far.name or same


def _shares_loopback(head: Host, far: Host, scan: Scan) -> bool:
    return _one_machine(head, far, scan) or head.connection == far.connection == "local"


def _seconds(speed: LinkSpeed) -> float:
    return speed.rtt_us.value * 1e-6 + ACTIVATION_BITS / (speed.gbit_per_s.value * 1e9)


def tunnelled(rig: Rig) -> tuple[str, ...]:
    """Hosts that the head may reach through a tunnel: each needs a port on the head's loopback."""
    head = rig.head
    ends = (end for link in rig.links if link.tunnel and head.name in link.between for end in link.between)
    far = (rig.host(name) for name in dict.fromkeys(ends) if name != head.name)
    return tuple(host.name for host in far if host and host.ssh) if head.connection == "local" else ()
