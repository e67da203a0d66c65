"""Everything that was seen, told as one record, and as conditions of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evener.records.conditions import Conditions
from evener.records.rig import Money
from evener.records.telemetry import HostWatched, Joined, Telemetry
from evener.telemetry.energy import energy
from evener.telemetry.summary import hosts_watched
from evener.telemetry.watch import Seen, Watched

GIB = 1 << 30


def tell(
    seen: Seen,
    *,
    from_s: float = 0.0,
    to_s: float | None = None,
    tokens: float | None = None,
    money: Money | None = None,
    ambient_c: float | None = None,
) -> Telemetry:
    """What happened between `from_s` and `to_s` (now), in which `tokens` were made.

    `money` is the rig's; `ambient_c` is what the user says of the room.
    """
    to_s = seen.now_s() if to_s is None else to_s
    hosts = hosts_watched(
        seen.samples,
        [watched.host for watched in seen.hosts],
        from_s=from_s,
        to_s=to_s,
        every_s=seen.every_s,
        unknown={watched.host: [*seen.unknown[watched.host], *_never_seen(seen, watched)] for watched in seen.hosts},
        machines=seen.machines,
    )
    joined = tuple(one for sample in seen.samples for one in sample.joined if from_s <= one.at_s <= to_s)
    return Telemetry(
        from_s=round(from_s, 3),
        to_s=round(to_s, 3),
        every_s=seen.every_s,
        hosts=hosts,
        joined=joined,
        energy=energy(
            hosts,
            seconds=to_s - from_s,
            tokens=tokens,
            kwh_price=money.kwh_price if money else None,
            currency=money.currency if money else None,
        ),
        ambient_c=ambient_c,
        notes=tuple(_notes(seen, hosts, joined)),
    )


def _notes(seen: Seen, hosts: Sequence[HostWatched], joined: Sequence[Joined]) -> Iterator[str]:
    for host in hosts:
        for gap in host.gaps:
            until = "to the end" if gap.to_s is None else f"to {gap.to_s:.0f} s"
            yield f"{host.host} was not seen from {gap.from_s:.0f} s {until}: {gap.why}"
    for one in joined:
        where = f"{one.host}/{seen.names().get((one.host, one.card), one.card)}"
        size = "" if one.bytes is None else f" with {one.bytes / GIB:.1f} GiB"
        yield f"{where}: {one.name or 'a process'} (pid {one.pid}) joined at {one.at_s:.0f} s{size}"
    if seen.unkept:
        yield f"telemetry.jsonl is incomplete: {seen.unkept}"


def _never_seen(seen: Seen, watched: Watched) -> Iterator[str]:
    """Cards that a scan knows and no driver tool spoke of, e.g. of a maker whose tools are not asked."""
    for card in watched.cards:
        if watched.shell is not None and (watched.host, card.id) not in seen.names():
            yield f"{card.name}: nothing on this host tells what it does"


def as_conditions(conditions: Conditions, told: Telemetry) -> Conditions:
    """The conditions of a run with what was seen during it."""
    cards = [(f"{host.host}/{card.name}", card) for host in told.hosts for card in host.cards]
    return replace(
        conditions,
        ambient_c=told.ambient_c,
        temperatures_c={name: (c.temperature_c.least, c.temperature_c.most) for name, c in cards if c.temperature_c},
        slowed_by={name: tuple(card.slowed) for name, card in cards if card.slowed},
    )
