"""Each card: memory that others hold, a display, limits that do not take, what slows it down now. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.dialects.nvidia_smi import GpuHealth
from evener.journeys.cautions import held, matters
from evener.journeys.doctor.seen import Seen
from evener.records.card import Card
from evener.records.finding import Finding
from evener.records.rig import Host


def memory(seen: Seen) -> Iterator[Finding]:
    """Who holds memory on cards that take part. Declared residents are no news, nor is what we run ourselves."""
    for host, card in _taking_part(seen):
        where = f"{host.name}/{card.name}"
        holders = [h for h in card.holders or () if matters(h, card)]
        for holder in holders:
            ours = seen.deployment_of(host.name, holder.pid)
            yield Finding(
                check="memory",
                level="note" if ours else "costs",
                where=where,
                what=f"deployment {ours}: {held(holder)}" if ours else held(holder),
                why=None if ours else "a plan has that much less",
                remedy=None if ours else "stop it, or declare it under `residents` in rig.toml",
            )
        if card.free_bytes is None:
            what = "nobody can tell how much of its memory is free"
            yield Finding(check="memory", level="costs", where=where, what=what, why=card.note)
        elif not holders and card.holders is not None:
            what = f"{card.free_bytes / (1 << 30):.1f} GiB free, held by nobody unexpected"
            yield Finding(check="memory", level="fine", where=where, what=what)


def blind(seen: Seen) -> Iterator[Finding]:
    """Drivers that do not say who holds how much."""
    for host, card in _gpus(seen):
        untold = [h for h in card.holders or () if h.bytes is None]
        if card.holders is None or untold:
            what = "its driver does not say who holds its memory" if card.holders is None else _untold(len(untold))
            yield Finding(
                check="holders",
                level="note",
                where=f"{host.name}/{card.name}",
                what=what,
                why="after a stop, only the sum can prove that memory came back",
            )


def _untold(count: int) -> str:
    return f"its driver does not say how much of it {'1 process holds' if count == 1 else f'{count} processes hold'}"


def display(seen: Seen) -> Iterator[Finding]:
    """A desktop grows when somebody sits down at it."""
    for host, card in _gpus(seen):
        if card.drives_display and not host.reserve_bytes:
            yield Finding(
                check="display",
                level="note",
                where=f"{host.name}/{card.name}",
                what="drives a display, and nothing is kept free for it",
                why="a browser takes hundreds of MiB when it is opened",
                remedy=f"reserve_mib = 512 for {host.name} in rig.toml",
            )


def power(seen: Seen) -> Iterator[Finding]:
    """A limit that was asked for and is not in effect."""
    for host, card in _gpus(seen):
        asked, effective = card.power_limit_asked_w, card.power_limit_effective_w
        if asked is not None and effective is not None and effective < asked - 0.5:
            yield Finding(
                check="power",
                level="costs",
                where=f"{host.name}/{card.name}",
                what=f"limited to {effective:.0f} W, though {asked:.0f} W are asked for",
                why="something else holds it down: a cable, the board, another tool",
                remedy=f"nvidia-smi -q -d POWER on {host.name}",
            )


def state(seen: Seen) -> Iterator[Finding]:
    """What the driver says of each card at this moment."""
    for host, card in _gpus(seen):
        answers = seen.answers.get(host.name)
        health = next((g for g in answers.gpus if g.id in (card.uuid, card.id)), None) if answers else None
        if health is not None:
            yield from _slowed(host, card, health)
            yield from _link(host, card, health)
            yield from _persistence(host, card, health)


def _slowed(host: Host, card: Card, health: GpuHealth) -> Iterator[Finding]:
    if health.slowed_by:
        yield Finding(
            check="throttle",
            level="costs",
            where=f"{host.name}/{card.name}",
            what=f"slowed down now by {', '.join(health.slowed_by)}"
            + ("" if card.temperature_c is None else f", at {card.temperature_c:.0f} °C"),
            remedy="check its fans, its power cables and who uses it now",
        )


def _link(host: Host, card: Card, health: GpuHealth) -> Iterator[Finding]:
    """An idle card lets its link fall back, so that little can be said of one."""
    parts = []
    if _less(health.link_width, health.link_width_most):
        parts.append(f"x{health.link_width} of x{health.link_width_most}")
    if health.idle is False and _less(health.link_generation, health.link_generation_most):
        parts.append(f"generation {health.link_generation} of {health.link_generation_most}")
    if parts:
        idle = " while it idles" if health.idle else ""
        yield Finding(
            check="pcie",
            level="note" if health.idle else "costs",
            where=f"{host.name}/{card.name}",
            what=f"PCIe link at {', '.join(parts)}{idle}",
            why="loading takes longer; tokens hardly notice",
            remedy="another slot, or a riser that fits",
        )


def _less(now: int | None, most: int | None) -> bool:
    return now is not None and most is not None and now < most


def _persistence(host: Host, card: Card, health: GpuHealth) -> Iterator[Finding]:
    if health.persistent is False and not card.drives_display:
        yield Finding(
            check="persistence",
            level="note",
            where=f"{host.name}/{card.name}",
            what="persistence mode is off",
            why="the driver is loaded anew for each program: seconds per start, and limits that were set are lost",
            remedy=f"sudo nvidia-smi -pm 1 on {host.name}",
        )


def _taking_part(seen: Seen) -> Iterator[tuple[Host, Card]]:
    """Main memory once per machine; a GPU belongs to one host anyway."""
    machines = {host.name for host, _ in seen.machines()}
    for host, at in seen.asked():
        for card in at.cards:
            if not card.excluded and (card.kind != "cpu" or host.name in machines):
                yield host, card


def _gpus(seen: Seen) -> Iterator[tuple[Host, Card]]:
    return ((host, card) for host, card in _taking_part(seen) if card.kind != "cpu")
