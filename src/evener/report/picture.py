"""Where the boxes of the rig's picture go: hosts from top to bottom, their cards inside, links between. Pure geometry.

One picture shows one layout. Lengths are in SVG units (pixels at full size). Drawing is the template's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from evener.records.card import Card
from evener.records.rig import Link
from evener.records.run import Run
from evener.report.parts import CardRow, Layout
from evener.report.words import count, listed, shorten, size

WIDTH = 440
_MARGIN, _PAD, _GAP = 1, 12, 8
_HEAD, _CARD, _IDLE_CARD = 34, 64, 34
_LINK, _APART, _GUTTER = 46, 14, 32  # between joined hosts, between others, beside hosts for a link that passes them


@dataclass(frozen=True, slots=True, kw_only=True)
class CardBox:
    """`share` is where this card's layers lie in the model: (start, length) as shares of 1; None when it has none."""

    y: float
    height: float
    name: str
    full_name: str
    device: str
    layers: str
    memory: str
    share: tuple[float, float] | None
    verdict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBox:
    y: float
    height: float
    name: str
    role: str  # "head", "worker", "not used"
    cards: tuple[CardBox, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLine:
    """From the bottom of one host to the top of another; `gutter` is the x of a line that passes hosts by."""

    y1: float
    y2: float
    gutter: float | None
    label: str
    used: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    width: float
    height: float
    hosts: tuple[HostBox, ...]
    links: tuple[LinkLine, ...]
    told: str  # the picture in words


def draw(run: Run, layout: Layout) -> Picture:
    """The rig as this layout uses it."""
    names = _host_names(run, layout)
    links = _links(run, layout, names)
    passing = sum(abs(names.index(a) - names.index(b)) > 1 for a, b, _, _ in links)
    joined = {(a, b) for a, b, _, _ in links}
    boxes, y = [], float(_MARGIN)
    for name, below in zip_longest(names, names[1:]):
        box = _host(run, layout, name, y)
        boxes.append(box)
        y += box.height + (_LINK if (name, below) in joined else _APART if below else _MARGIN)
    return Picture(
        width=WIDTH + passing * _GUTTER,
        height=y if boxes else 0,
        hosts=tuple(boxes),
        links=_lines(links, names, boxes),
        told=_told(layout),
    )


def _host_names(run: Run, layout: Layout) -> list[str]:
    """Every host anybody names, the rig's order first."""
    stated = [host.name for host in run.rig.hosts] if run.rig else []
    seen = [host.name for host in run.scan.hosts] if run.scan else []
    return list(dict.fromkeys([*stated, *seen, *layout.hosts, *(card.host for card in layout.cards)]))


def _host(run: Run, layout: Layout, name: str, y: float) -> HostBox:
    rows = [card for card in layout.cards if card.host == name]
    idle = _idle_cards(run, name, rows)
    cards, top = [], y + _HEAD
    for row in rows:
        cards.append(_used(row, layout.layers, top))
        top += _CARD + _GAP
    for card in idle:
        cards.append(_unused(card, top))
        top += _IDLE_CARD + _GAP
    height = top - y - (_GAP if cards else 0) + (_PAD if cards else 0)
    role = "not used" if name not in layout.hosts and not rows else "head" if _is_head(layout, name) else "worker"
    return HostBox(y=y, height=height, name=shorten(name, 34), role=role, cards=tuple(cards))


def _is_head(layout: Layout, name: str) -> bool:
    return any(command.role == "server" and command.host == name for command in layout.commands)


def _idle_cards(run: Run, name: str, rows: Sequence[CardRow]) -> list[Card]:
    """Cards of the host that hold nothing here. A processor is worth a box only where there is nothing else."""
    seen = run.scan.host(name) if run.scan else None
    used = {row.card for row in rows}
    idle = [card for card in (seen.cards if seen else ()) if card.id not in used]
    return [card for card in idle if card.kind != "cpu" or (not rows and len(idle) == 1)]


def _used(row: CardRow, layers: int, y: float) -> CardBox:
    measured = f", {size(row.measured_bytes)} measured" if row.measured_bytes is not None else ""
    return CardBox(
        y=y,
        height=_CARD,
        name=shorten(row.card_name, 38),
        full_name=row.card_name,
        device=shorten(row.device, 12),
        layers=f"{row.layers} of {count(layers, 'layer')}",
        memory=f"{size(row.planned_bytes)} planned{measured}",
        share=(row.first_layer / layers, row.layers / layers) if layers else None,
        verdict=row.verdict,
    )


def _unused(card: Card, y: float) -> CardBox:
    about = "left out by the rig file" if card.excluded else ""
    return CardBox(
        y=y, height=_IDLE_CARD, name=shorten(card.name, 38), full_name=card.name, device="", layers=about,
        memory=f"{size(card.total_bytes)} in all" if card.total_bytes is not None else "", share=None, verdict=None,
    )  # fmt: skip


def _links(run: Run, layout: Layout, names: Sequence[str]) -> list[tuple[str, str, str, bool]]:
    """(from, to, label, used). Links between the same two hosts share a line; a pair that talks is always drawn."""
    together: dict[tuple[str, str], list[str]] = {}
    for link in run.rig.links if run.rig else ():
        if set(link.between) <= set(names) and link.between[0] != link.between[1]:
            a, b = sorted(link.between, key=names.index)
            together.setdefault((a, b), []).append(link_label(link))
    talking = {pair for pair in _talking(layout) if set(pair) <= set(names)}
    pairs = {(a, b) for a, b in (sorted(pair, key=names.index) for pair in talking)}
    for pair in sorted(pairs - set(together)):
        together[pair] = ["link not stated"]
    return [(a, b, shorten(" · ".join(labels), 60), (a, b) in pairs) for (a, b), labels in together.items()]


def _talking(layout: Layout) -> set[tuple[str, str]]:
    """The head talks to every other host that holds layers."""
    head = next((command.host for command in layout.commands if command.role == "server"), None)
    return {(head, name) for name in layout.hosts if name != head} if head and layout.kind == "cluster" else set()


def link_label(link: Link) -> str:
    """A link as its owner states it: "5gbe, 4.7 Gbit/s, 250 µs (stated)"."""
    speed = f"{link.gbit_per_s:g} Gbit/s" if link.gbit_per_s is not None else None
    delay = f"{link.rtt_us:g} µs" if link.rtt_us is not None else None
    known = [word for word in (link.name, speed, delay, "through a tunnel" if link.tunnel else None) if word]
    return f"{', '.join(known)} (stated)"


def _lines(
    links: Sequence[tuple[str, str, str, bool]], names: Sequence[str], boxes: Sequence[HostBox]
) -> tuple[LinkLine, ...]:
    lines, gutter = [], float(WIDTH)
    for a, b, label, used in links:
        top, bottom = boxes[names.index(a)], boxes[names.index(b)]
        passes = names.index(b) - names.index(a) > 1
        lines.append(
            LinkLine(
                y1=top.y + (_HEAD / 2 if passes else top.height),
                y2=bottom.y + (_HEAD / 2 if passes else 0),
                gutter=gutter + 12 if passes else None,
                label=label,
                used=used,
            )
        )
        gutter += _GUTTER if passes else 0
    return tuple(lines)


def _told(layout: Layout) -> str:
    if not layout.cards:
        return f"{layout.label}: the plan does not say which cards it uses"
    each = [f"{card.card_name} on {card.host} holds {count(card.layers, 'layer')}" for card in layout.cards]
    return f"{layout.label}: {listed(each)}"
