"""What a plan rests on and leaves out, a line each: hosts out of reach, speeds of cables that nobody measured, layouts
that no figure compares, layouts that need several servers. Pure; knows no predictions of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from evener.plan.cards import find
from evener.plan.links import PRESETS
from evener.plan.routes import Route, route
from evener.plan.verdict import best_of
from evener.records.card import Scan
from evener.records.plan import Candidate, Plan, Value
from evener.records.rig import Rig


def about(plan: Plan, rig: Rig, scan: Scan) -> Iterator[str]:
    """All that is to be said of one plan."""
    yield from left_out(scan)
    yield from cables(rig, scan)
    yield from not_compared(plan.candidates)
    yield from several_servers(plan)
    if plan.workload.drafts:
        yield "speeds are without drafts: how many of these are taken depends on the text"


def left_out(scan: Scan) -> Iterator[str]:
    """Hosts of which no card could be planned because nobody could look at them, and why."""
    for seen in scan.hosts:
        if seen.fault and seen.connection != "stated" and not any(card.offered_bytes for card in seen.cards):
            yield f"{seen.name} is left out of every layout: {seen.fault}"


def cables(rig: Rig, scan: Scan) -> Iterator[str]:
    """Of every two hosts the rate and round trip of their link, where these are not measured."""
    for one, other in combinations(rig.hosts, 2):
        way = route(one, other, rig, scan)
        if way.speed.source != "measured" and way.speed is not PRESETS["loopback"]:
            yield f"{_called(way)} between {one.name} and {other.name}, {way.speed.source}: {_figures(way)}"


def not_compared(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Which layouts with a part in main memory fit, and have no speed."""
    unknown = [c for c in candidates if c.fits and c.kind in ("experts-in-ram", "partial-offload") and not c.predicted]
    for candidate in unknown:
        cards = [device for device in candidate.devices if device.position >= 0]
        what = "RAM is" if all(find(card.card_name) for card in cards) else "cards and RAM are"
        yield f"{candidate.name} is not compared: nobody knows how fast {candidate.hosts[0]}'s {what}"


def several_servers(plan: Plan) -> Iterator[str]:
    """Which layouts need several servers; of the layout to take also what one server would run."""
    for several in (c for c in plan.candidates if c.fits and not c.one_server):
        alone = best_of(plan.candidates, plan.workload.aim, one_server=True)
        chosen = several.name == plan.verdict.choice
        instead = f": evener up would take {alone.name}" if alone and chosen else ""
        yield f"{several.name} are {len(several.servers)} servers, and evener up runs one{instead}"


def _called(way: Route) -> str:
    return f"link {way.link.name}" if way.link else "no link in the rig"


def _figures(way: Route) -> str:
    return f"{_spread(way.speed.gbit_per_s)} Gbit/s, {_spread(way.speed.rtt_us)} us a round trip"


def _spread(value: Value) -> str:
    return f"{value.value:g} ({value.low:g} to {value.high:g})"
