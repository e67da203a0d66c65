"""Workers that somebody else started: what they say of themselves, and what was pasted of their host.

They are visited by RPC only. A worker serves one client, so one that serves a deployment of ours is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evener.errors import EndpointError
from evener.ports import Rpc, WorkerSeen
from evener.records.card import Card, HostSeen, Pasted
from evener.records.rig import Host, Rig
from evener.scan.cards import offered
from evener.together import together

BLIND = "no holders, no verification"
ALL_FREE = "calls all of its memory free, as a worker on a CPU does: that is no measure"
# Of what the driver counts, the engine's runtime sees a little less: 11909 of 12288 MiB, 16310 of 16311.
LEAST_SEEN = 0.94
Visited = WorkerSeen | EndpointError | str  # what it said, how it failed, or why it was left alone


async def visit(rig: Rig, rpc: Rpc, *, in_use: Mapping[str, str], within_s: float) -> dict[str, Visited]:
    """Say hello to every endpoint of the rig at once, but to none that is `in_use` (endpoint -> deployment)."""
    wanted = [e for host in rig.hosts for e in host.endpoints]

    async def one(endpoint: str) -> Visited:
        if endpoint in in_use:
            return f"serves {in_use[endpoint]} and is left alone: it has one client at a time"
        try:
            return await rpc.hello(endpoint, within_s=min(within_s, 3.0))
        except EndpointError as error:
            return error

    return dict(zip(wanted, await together([one(e) for e in wanted]), strict=True))


def host_seen(host: Host, visits: Mapping[str, Visited], pasted: Pasted | None) -> HostSeen:
    """An endpoint host. Where its workers do not answer, the pasted cards are shown, and take no part. Pure."""
    told = [card for e in host.endpoints if isinstance(v := visits.get(e), WorkerSeen) for card in _cards(v)]
    cards: Iterable[Card] = told
    if pasted:
        cards = _named(told, pasted) if told else only_shown(pasted)
    return HostSeen(
        name=host.name,
        connection=host.connection,
        cards=tuple(offered(card, host) for card in cards),
        fault="; ".join(_faults(host, visits)) or None,
    )


def only_shown(pasted: Pasted) -> tuple[Card, ...]:
    """The pasted cards themselves: nobody knows whether they are free now, so they take no part."""
    return tuple(replace(card, pasted_at=pasted.taken_at) for card in pasted.cards)


def _cards(worker: WorkerSeen) -> Iterator[Card]:
    """One card per device. What the worker calls it is not told over the wire: its number stands for its name."""
    for i, (free, total) in enumerate(worker.devices):
        yield Card(
            id=f"{worker.endpoint}/{i}",
            kind="unknown",
            name=f"device {i} of {worker.endpoint}",
            total_bytes=total,
            free_bytes=free if free <= total else None,
            device=f"#{i}",
            endpoint=worker.endpoint,
            protocol=worker.protocol,
            note=_note(free, total),
        )


def _note(free: int, total: int) -> str | None:
    if free > total:
        return f"says that {free >> 20} MiB of {total >> 20} are free: that is no measure"
    return ALL_FREE if free == total else None


def _named(told: Sequence[Card], pasted: Pasted) -> Iterator[Card]:
    """What the workers say now, with the names of the cards of that size that were pasted.

    A name is taken where every card of the size bears it; bus id and UUID only where there is but one.
    """
    for card in told:
        fits = [p for p in pasted.cards if _is_size(card.total_bytes, p.total_bytes)]
        names = {p.name for p in fits}
        if len(names) != 1:
            yield card
            continue
        only = fits[0] if len(fits) == 1 else None
        yield replace(
            card,
            kind=fits[0].kind,
            name=fits[0].name,
            driver=fits[0].driver,
            integrated=fits[0].integrated,
            bus_id=only.bus_id if only else None,
            uuid=only.uuid if only else None,
            drives_display=only.drives_display if only else None,
            pasted_at=pasted.taken_at,
        )


def _is_size(told: int | None, pasted: int | None) -> bool:
    return told is not None and pasted is not None and LEAST_SEEN * pasted <= told <= pasted


def _faults(host: Host, visits: Mapping[str, Visited]) -> Iterator[str]:
    for endpoint in host.endpoints:
        visited = visits.get(endpoint, "not asked")
        if isinstance(visited, EndpointError):
            yield visited.message
        elif isinstance(visited, str):
            yield f"{endpoint}: {visited}"
