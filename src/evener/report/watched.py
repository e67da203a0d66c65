"""What cards and cables did while a layout was measured, a line each. Pure; draws nothing."""

from __future__ import annotations

from collections.abc import Iterator

from evener.records.telemetry import CardWatched, Energy, Extent, NicWatched, Telemetry
from evener.report.parts import Layout
from evener.report.words import UNKNOWN, count, listed, number, percent, size

_MOST_NOTES = 6


def watched_lines(layout: Layout) -> Iterator[str]:
    """A line per card and cable of the rig, what nobody could tell, energy, and notes."""
    if layout.telemetry is None:
        return
    for host in layout.telemetry.hosts:
        yield from (f"{host.host} / {card.name}: {told}" for card in host.cards if (told := _card(card)))
        yield from (f"{host.host} / {nic.name}: {_nic(nic)}" for nic in host.nics if nic.link)
        yield from (f"{host.host}: {unknown}" for unknown in host.unknown)
    if layout.telemetry.energy:
        yield energy(layout.telemetry.energy)
    yield from notes(layout.telemetry)


def notes(telemetry: Telemetry) -> Iterator[str]:
    """Gaps, and who came onto a card: the first few, and how many more."""
    yield from telemetry.notes[:_MOST_NOTES]
    if (more := len(telemetry.notes) - _MOST_NOTES) > 0:
        yield f"and {count(more, 'more note')} of this kind: evener report --json has all"


def _card(card: CardWatched) -> str:
    extents = ((card.utilisation_percent, "% busy"), (card.temperature_c, "°C"), (card.power_w, "W"))
    told = [f"{extent(seen)} {unit}" for seen, unit in extents if seen]
    if card.memory_peak_bytes is not None:
        told.append(f"at most {size(card.memory_peak_bytes)}")
    if card.slowed:
        told.append("held back by " + ", ".join(f"{why} {percent(share)}" for why, share in card.slowed.items()))
    return ", ".join(told)


def extent(seen: Extent | None) -> str:
    """ "66.2 (41.0-79.0)": mean, least to most."""
    return UNKNOWN if seen is None else f"{number(seen.mean)} ({number(seen.least)}-{number(seen.most)})"


def _nic(nic: NicWatched) -> str:
    most = max((rate for rate in (nic.rx_most_bytes_per_s, nic.tx_most_bytes_per_s) if rate is not None), default=None)
    peak = "" if most is None else f", at most {number(most / 1e6)} MB/s one way"
    return f"link {nic.link} carried {size(nic.rx_bytes + nic.tx_bytes)}{peak}"


def energy(found: Energy) -> str:
    """Per 1000 tokens, with whose power is not in it; or why nobody knows."""
    without = f"; not counted: {listed(found.without)}" if found.without else ""
    if found.joules_per_1000_tokens is None:
        return f"energy unknown{f': {found.why}' if found.why else ''}{without}"
    cost = found.cost_per_1000_tokens
    money = "" if cost is None else f", {cost:.4g} {found.currency or ''}".rstrip()
    return f"{number(found.joules_per_1000_tokens)} J per 1000 tokens{money}, of {listed(found.cards)} alone{without}"
