"""Cards before a visit: nobody else holds them, and they are as cool as before the first one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from evener.api import telemetry
from evener.api.campaign_folder import Journal
from evener.api.rig import Rig
from evener.errors import HostBusy
from evener.journeys.cautions import held, matters
from evener.ports import Report
from evener.records.card import Card, Scan
from evener.records.events import Progress
from evener.records.rig import Host

LOOK_EVERY_S = 10.0
GIVEN_BACK_WITHIN_S = 20.0
COOL_WITHIN_S = 600.0
COLD = "cards cold"  # the fact that holds how warm they were before the first visit


class CardsHeld(HostBusy):
    """Somebody else's memory is on a card that is to be measured. Not ours to end: a person looks."""


def held_by_others(rig: Rig, scan: Scan) -> Iterator[str]:
    """One line per card on which others hold more than the rig's owner has declared: residents, and the reserve."""
    for host in rig.record.hosts:
        seen = scan.host(host.name)
        for card in seen.cards if seen else ():
            yield from _beyond(host, card)


def _beyond(host: Host, card: Card) -> Iterator[str]:
    """Of RAM others hold some always: there, engines are a caution of each load, and no reason to stop."""
    if card.excluded or card.kind == "cpu":
        return
    holders = [holder for holder in card.holders or () if matters(holder, card)]
    if holders and sum(holder.bytes or 0 for holder in holders) > host.reserve_bytes:
        yield f"{host.name}/{card.name}: {', '.join(held(holder) for holder in holders)}"


async def clean(rig: Rig, *, wait: bool, report: Report) -> Scan:
    """A scan in which every card is ours to measure. Raises CardsHeld naming the holders, unless it is to `wait`.

    What has just been killed needs a moment to give its memory back: it is looked at again before it is a holder.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + GIVEN_BACK_WITHIN_S
    while True:
        report(Progress(what="looking at the cards"))
        scan = await rig.scan()
        taken = list(held_by_others(rig, scan))
        if not taken:
            return scan
        late = loop.time() > deadline
        if late and not wait:
            raise CardsHeld("; ".join(taken), hint="free them, or declare them as residents in rig.toml")
        report(Progress(what="waiting for cards", detail="; ".join(taken)))
        await asyncio.sleep(LOOK_EVERY_S if late else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """How warm they are before a load, by host/card; `still_warm` in words, where waiting did not help."""

    temperatures_c: dict[str, float] = field(default_factory=dict)
    still_warm: tuple[str, ...] = ()


async def cool(rig: Rig, scan: Scan, journal: Journal, report: Report) -> Cards:
    """Wait until the cards are as cool as before the first visit of all sessions."""
    still_warm: tuple[str, ...] = ()
    async with telemetry.watching(rig, scan=scan) as seen:
        now, first = seen.temperatures(), _cold(journal)
        if first is None:
            journal.add(COLD, {"temperatures_c": {f"{host}/{card}": c for (host, card), c in now.items()}})
        else:
            still_warm = (await telemetry.cooled(seen, first, within_s=COOL_WITHIN_S, report=report)).still_warm
        names = seen.names()
        warm = {f"{host}/{names[host, card]}": c for (host, card), c in seen.temperatures().items()}
    return Cards(temperatures_c=warm, still_warm=still_warm)


def _cold(journal: Journal) -> dict[tuple[str, str], float] | None:
    fact = next((fact for fact in journal.facts if fact.kind == COLD), None)
    if fact is None:
        return None
    return {
        (host, card): float(c)
        for key, c in fact.data["temperatures_c"].items()
        for host, _, card in [key.partition("/")]
    }
