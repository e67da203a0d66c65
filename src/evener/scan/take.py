"""Take a scan: ask every host that can be asked, at once, and put the answers together as one rig. Starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from evener.errors import HostError
from evener.ports import Shell
from evener.records.card import Card, EngineSeen, HostSeen, Pasted, Scan
from evener.records.link import LinkMeasured
from evener.records.rig import Host, Rig
from evener.scan import cards, endpoints
from evener.scan.ask import Answers, ask
from evener.scan.names import disagreements, listed, name_devices, only_listed
from evener.scan.order import device_order
from evener.together import together

NOT_ASKED = {"ssh": "nobody has a door to this host", "stated": "stated, not scanned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """How to ask one host: its shell, an existing folder whose disk counts, and the engine found there."""

    shell: Shell
    disk: str = "/"
    engine: EngineSeen | None = None
    fault: str | None = None  # what is already known to be wrong there


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a scan need not ask for: visits to endpoints, pasted output by host, links that were measured before.

    `out_of_reach` says of hosts why nobody gets there.
    """

    visits: Mapping[str, endpoints.Visited] = field(default_factory=dict)
    pasted: Mapping[str, Pasted] = field(default_factory=dict)
    links: tuple[LinkMeasured, ...] = ()
    out_of_reach: Mapping[str, str] = field(default_factory=dict)


async def take(
    rig: Rig, doors: Mapping[str, Door], *, now: datetime, within_s: float = 10.0, known: Known | None = None
) -> Scan:
    """The rig as it is. `doors` holds the hosts that can be asked, by name; the others are shown with the reason.

    `within_s` bounds each command on a host. What cannot be read is unknown and explained by the host's `fault`.
    """
    known = known or Known()
    hosts = list(await together([_look(host, doors.get(host.name), known, within_s) for host in rig.hosts]))
    owned = one_owner(hosts)
    return Scan(taken_at=now, hosts=owned, devices=device_order(rig, owned), links=known.links)


def host_seen(host: Host, door: Door, answers: Answers) -> HostSeen:
    """One host's answers under the rig's rules and beside its engine. Pure."""
    named = name_devices(answers.drivers.cards, door.engine)
    of_engine = {device.name: device for device in listed(door.engine)}
    gpus = [
        cards.gpu(card, host, answers=answers, listed=of_engine.get(card.device or ""))
        for card in (*named, *only_listed(named, door.engine))
    ]
    all_cards = (*gpus, cards.cpu(host, seen=answers.cpu, memory=answers.memory, people=answers.people))
    faults = [
        *([door.fault] if door.fault else []),
        *answers.drivers.faults,
        *disagreements(all_cards, door.engine),
        *cards.unmatched(host.cards, host.residents, all_cards),
    ]
    return HostSeen(
        name=host.name,
        connection=host.connection,
        machine_id=answers.machine_id,
        system=answers.system,
        cpu=answers.cpu.model,
        cores=answers.cpu.cores,
        threads=answers.cpu.threads,
        memory_total_bytes=answers.memory.total_bytes,
        memory_available_bytes=answers.memory.available_bytes,
        disk_free_bytes=answers.disk_free_bytes,
        cards=all_cards,
        engine=door.engine,
        fault="; ".join(faults) or None,
    )


def one_owner(hosts: list[HostSeen]) -> tuple[HostSeen, ...]:
    """Where two hosts are one machine, a GPU belongs to the first that takes it: its memory must not count twice.

    Main memory stays with both, since several workers can share it; who reads the scan is told by `machine_id`.
    """
    taken: set[tuple[str, str]] = set()
    owned = []
    for host in hosts:
        if host.machine_id is None:
            owned.append(host)
            continue
        machine = host.machine_id
        mine = tuple(_unless_taken(card, (machine, card.id) in taken) for card in host.cards)
        taken |= {(machine, card.id) for card in mine if card.kind != "cpu" and not card.excluded}
        owned.append(replace(host, cards=mine))
    return tuple(owned)


def _unless_taken(card: Card, taken: bool) -> Card:
    return replace(card, excluded=True, offered_bytes=0) if taken else card


async def _look(host: Host, door: Door | None, known: Known, within_s: float) -> HostSeen:
    if host.connection == "endpoint":
        return endpoints.host_seen(host, known.visits, known.pasted.get(host.name))
    if door is None:
        return _not_asked(host, known, known.out_of_reach.get(host.name) or NOT_ASKED.get(host.connection))
    try:
        answers = await ask(door.shell, disk=door.disk, within_s=within_s)
    except HostError as error:  # it was there before
        return _not_asked(host, known, error.message.removeprefix(f"{host.name}: "))
    return host_seen(host, door, answers)


def _not_asked(host: Host, known: Known, why: str | None) -> HostSeen:
    pasted = known.pasted.get(host.name)
    return HostSeen(
        name=host.name,
        connection=host.connection,
        cards=endpoints.only_shown(pasted) if pasted else _stated(host),
        fault=why or "nobody can ask this host",
    )


def _stated(host: Host) -> tuple[Card, ...]:
    """Cards that need not exist, with nothing known but their names."""
    return tuple(Card(id=f"stated{i}", kind="unknown", name=card.model) for i, card in enumerate(host.stated))
