"""Can everything be reached: hosts over ssh, workers of others, ports behind firewalls, the port to serve on. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.errors import EndpointError, EndpointRefused, EndpointTimedOut
from evener.journeys.doctor.seen import Seen
from evener.plan.routes import tunnelled
from evener.ports import WorkerSeen
from evener.records.finding import Finding
from evener.records.rig import Host


def hosts(seen: Seen) -> Iterator[Finding]:
    """Hosts that evener runs commands on."""
    for host in seen.rig.hosts:
        if error := seen.out_of_reach.get(host.name):
            what = error.message.removeprefix(f"{host.name}: ")
            yield Finding(check="reach", level="stops", where=host.name, what=what, remedy=error.hint)
    for host, _ in seen.asked():
        answers = seen.answers.get(host.name)
        if answers is not None and answers.fault:
            what = f"its health could not be asked: {answers.fault}"
            yield Finding(check="reach", level="note", where=host.name, what=what)
        elif host.connection == "ssh":
            yield Finding(check="reach", level="fine", where=host.name, what=f"ssh {host.ssh} works without a question")


def endpoints(seen: Seen) -> Iterator[Finding]:
    """Workers that somebody else started: cases that would hang or abort a head are told apart here."""
    for host in seen.rig.hosts:
        for endpoint in host.endpoints:
            visited = seen.endpoints.get(endpoint, "not asked")
            if isinstance(visited, EndpointError):
                yield Finding(
                    check="endpoint", level="stops", where=host.name, what=visited.message, remedy=visited.hint
                )
            elif isinstance(visited, WorkerSeen):
                what = f"{endpoint}: RPC {visited.protocol}, devices: {len(visited.devices)}"
                yield Finding(check="endpoint", level="fine", where=host.name, what=what)
            else:
                yield Finding(check="endpoint", level="note", where=host.name, what=f"{endpoint}: {visited}")


def firewall(seen: Seen) -> Iterator[Finding]:
    """A closed port refuses at once. One that says nothing, or that there is no way to it, is filtered: firewalls drop
    packets or answer so in a router's name; and a worker behind it could not be reached either."""
    through_ssh = tunnelled(seen.rig)
    for host, _ in seen.asked():
        if host.name in through_ssh:
            what = "RPC goes through ssh: none of its ports need be open"
            yield Finding(check="firewall", level="fine", where=host.name, what=what)
            continue
        tried = seen.ports[host.name].tried if host.name in seen.ports else {}
        shut = {port: error for port, error in tried.items() if isinstance(error, EndpointTimedOut)}
        if shut:
            yield _filtered(seen, host, shut, of=len(tried))
        elif any(isinstance(error, EndpointRefused) for error in tried.values()):
            what = f"ports {_range(host)} can be reached from {seen.rig.head.name}"
            yield Finding(check="firewall", level="fine", where=host.name, what=what)


def _filtered(seen: Seen, host: Host, shut: dict[int, EndpointTimedOut], *, of: int) -> Finding:
    head, (first, error) = seen.rig.head, next(iter(shut.items()))
    which = f"any of ports {_range(host)}" if len(shut) == of else f"port {', '.join(map(str, shut))}"
    said = error.message.removeprefix(f"{host.address}:{first}: ")
    source = f"from {head.address} " if head.address else ""
    return Finding(
        check="firewall",
        level="stops",
        where=host.name,
        what=f"{head.name} cannot connect to {host.address} on {which}: {said}",
        why="a firewall keeps it out, or that address is not on the cable",
        remedy=f"let TCP {_range(host)} in on {host.name}, e.g. "
        f"sudo ufw allow {source}{'to any ' if source else ''}port {host.ports[0]}:{host.ports[1]} proto tcp",
    )  # fmt: skip


def ports(seen: Seen) -> Iterator[Finding]:
    """The ports of each range that are taken, and by whom. evener takes the next one, as long as there is one."""
    for host, _ in seen.asked():
        found = seen.ports[host.name].found if host.name in seen.ports else ()
        size = host.ports[1] - host.ports[0] + 1
        taken = {one.endpoint.rpartition(":")[2] for one in found}
        if len(taken) >= size:
            yield Finding(
                check="ports",
                level="stops",
                where=host.name,
                what=f"every port of {_range(host)} is taken",
                remedy="stop who listens there, or give the host more `ports` in rig.toml",
            )
        for one in found:
            port = one.endpoint.rpartition(":")[2]
            ours = seen.deployment_of(host.name, one.pid)
            by = f"deployment {ours}" if ours else f"pid {one.pid} ({one.path or '?'})" if one.pid else "somebody"
            what = f"port {port} is taken by {by}: {one.answer}"
            yield Finding(check="ports", level="note", where=host.name, what=what)
    if seen.serving is not None:
        yield _serving(seen, seen.serving)


def _serving(seen: Seen, who: str) -> Finding:
    """Our own head may well be there."""
    listen = f"{seen.rig.serve.host}:{seen.rig.serve.port}"
    ours = next((d.name for d in seen.deployments if any(p.listen == listen for p in d.processes)), None)
    if ours:
        return Finding(check="ports", level="note", where=seen.rig.head.name, what=f"{listen} serves deployment {ours}")
    return Finding(
        check="ports",
        level="stops",
        where=seen.rig.head.name,
        what=who,
        remedy="stop it, or choose another port under [serve] in rig.toml",
    )


def _range(host: Host) -> str:
    return f"{host.ports[0]}-{host.ports[1]}"
