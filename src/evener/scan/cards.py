"""A host's cards under the rig's rules: who takes part, who holds memory, what a plan may use. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evener.dialects.nvidia_smi import GpuProcess
from evener.dialects.proc import Cpu, Memory
from evener.records.capability import EngineDevice
from evener.records.card import Card, Holder
from evener.records.rig import CardRules, Host, Resident
from evener.scan.ask import Answers, Person, holds_main_memory
from evener.scan.unified import believable

# What contexts cost beside what each process is charged: 108 MiB were seen for three processes on two L4.
UNATTRIBUTED_BYTES = 128 << 20


def gpu(card: Card, host: Host, *, answers: Answers, listed: EngineDevice | None = None) -> Card:
    """A driver's card, completed: memory, holders, offer. `listed` is what the engine says of it."""
    card = believable(card, memory=answers.memory, pools=answers.drivers.pools.get(card.id), listed=listed)
    apps = answers.drivers.apps.get(card.kind)
    holders = None if apps is None else gpu_holders(card, apps, answers.people, host.residents)
    return offered(replace(card, holders=holders), host)


def cpu(host: Host, *, seen: Cpu, memory: Memory, people: Iterable[Person]) -> Card:
    """Main memory as a card. Its holders are engines and whoever is big; nobody else is named."""
    total, free = memory.total_bytes, memory.available_bytes
    card = Card(
        id="cpu",
        kind="cpu",
        name=seen.model or "CPU",
        total_bytes=total,
        free_bytes=free,
        used_bytes=None if total is None or free is None else total - free,
        device="CPU",
    )
    holders = [_holder(card, host.residents, p, p.rss_bytes) for p in people if holds_main_memory(p.name, p.rss_bytes)]
    return offered(replace(card, holders=_largest_first(holders)), host)


def gpu_holders(
    card: Card, apps: Sequence[GpuProcess], people: Sequence[Person], residents: Sequence[Resident]
) -> tuple[Holder, ...] | None:
    """Who holds a GPU's memory, the largest first; the rest that the driver counts, if it is worth a row, last.

    Where one process's memory is not told, the rest is not known either. None where the driver names nobody and does
    not count what is used: then nobody knows.
    """
    mine = [app for app in apps if app.gpu_uuid in (card.uuid, card.id)]
    by_pid = {person.pid: person for person in people}
    holders = [_holder(card, residents, _known(app, by_pid.get(app.pid)), app.bytes) for app in mine]
    if card.used_bytes is None and not holders:
        return None
    told = [h.bytes for h in holders if h.bytes is not None]
    rest = (card.used_bytes or 0) - sum(told)
    if len(told) == len(holders) and rest >= UNATTRIBUTED_BYTES:
        return (*_largest_first(holders), Holder(kind="unattributed", bytes=rest))
    return _largest_first(holders)


def matches(card: Card, name: str) -> bool:
    """Whether a rig file's name for a card means this one: a part of its name, or its id, UUID or bus id."""
    wanted = name.lower()
    ids = {i.lower() for i in (card.id, card.uuid, card.bus_id) if i}
    return wanted in ids or (card.kind != "cpu" and wanted in card.name.lower())


def unmatched(rules: CardRules, residents: Sequence[Resident], cards: Sequence[Card]) -> tuple[str, ...]:
    """Names in the rig file that no card of this host answers to: a typing mistake, or a card that is gone."""
    named = [
        *(("cards.include", name) for name in rules.include),
        *(("cards.exclude", name) for name in rules.exclude),
        *(("cards.capacity_mib", name) for name, _ in rules.capacity_bytes),
        *(("residents", resident.card) for resident in residents),
    ]
    return tuple(
        f'{key} names "{name}", and no card here is called so'
        for key, name in named
        if not any(matches(card, name) for card in cards)
    )


def offered(card: Card, host: Host) -> Card:
    """The card under the rig's rules: left out, or with what a plan may use of it."""
    if _excluded(card, host.cards):
        return replace(card, excluded=True, offered_bytes=0)
    return replace(card, offered_bytes=_offered_bytes(card, host))


def _excluded(card: Card, rules: CardRules) -> bool:
    """`include` chooses among GPUs; main memory is left out only by name."""
    chosen_away = card.kind != "cpu" and rules.include and not any(matches(card, name) for name in rules.include)
    return bool(chosen_away) or any(matches(card, name) for name in rules.exclude)


def _offered_bytes(card: Card, host: Host) -> int | None:
    """What a plan may use, in bytes, never below 0; None where free memory is unknown.

    Free memory, or what a stated smaller capacity leaves beside what is used; less the reserve; less what declared
    residents have not taken yet of theirs (they may come back at any time).
    """
    if card.free_bytes is None:
        return None
    room = card.free_bytes
    for name, capacity in host.cards.capacity_bytes:
        if matches(card, name):
            room = min(room, capacity - (card.used_bytes or 0))
    return max(0, room - host.reserve_bytes - _still_to_come(card, host.residents))


def _still_to_come(card: Card, residents: Sequence[Resident]) -> int:
    """Unknown holders may be the residents already: then nothing is kept for them twice."""
    if card.holders is None or any(h.bytes is None for h in card.holders):
        return 0
    mine = [r for r in residents if matches(card, r.card)]
    return sum(max(0, r.bytes - sum(h.bytes or 0 for h in card.holders if h.resident == r.name)) for r in mine)


def _holder(card: Card, residents: Sequence[Resident], person: Person, held: int | None) -> Holder:
    who = f"{person.name} {person.command or ''}".lower()
    resident = next((r.name for r in residents if matches(card, r.card) and r.name.lower() in who), None)
    return Holder(
        kind="resident" if resident else "process",
        bytes=held,
        pid=person.pid,
        user=person.user,
        command=person.command or person.name,
        age_s=person.age_s,
        resident=resident,
    )


def _known(app: GpuProcess, person: Person | None) -> Person:
    """The process behind the driver's row. Inside a container a pid of the host may be somebody else's here."""
    if person is not None and (app.name is None or _same_program(app.name, person)):
        return person
    return Person(pid=app.pid, name=app.name or "?", user=None, command=app.name, age_s=None, rss_bytes=None)


def _same_program(name: str, person: Person) -> bool:
    base = name.split()[0].rsplit("/", 1)[-1] if name.split() else name
    return base[:15] == person.name[:15] or base in (person.command or "")


def _largest_first(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    return tuple(sorted(holders, key=lambda h: -(h.bytes or 0)))
