"""Conditions of all loads side by side: what is the same, what differs, and where which value held. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from evener.records.campaign import CampaignData, Visit
from evener.records.conditions import Conditions
from evener.report.campaign.parts import ConditionStory, ConditionValue, PlaceStory
from evener.report.language import Say
from evener.report.rows import condition
from evener.report.words import size

# That these differ was asked for, follows from the layout, or is a measurement itself.
ASKED = frozenset({
    "model_sha256", "model_bytes", "quantisation", "context", "users", "device_order", "layers_per_device", "layout",
    "beside", "thinking_asked", "thinking_observed", "link", "temperatures_c",
})  # fmt: skip
OF_UNITS = frozenset({"sampling", "client"})  # of what is measured, not of a load
ABSENT = frozenset({"link", "beside"})  # where there is none, nothing is unknown
Value = tuple[str, str | None]  # name, in words


def conditions(data: CampaignData, places: Sequence[PlaceStory], say: Say) -> tuple[ConditionStory, ...]:
    """Those that are known of at least one load; those that differ first, and of these the unasked ones."""
    seen = [(visit, place, dict(_values(stated, say))) for visit, place, stated in _stated(data, places)]
    names = dict.fromkeys((f.name, words) for f in fields(Conditions) for words in _named(f.name, seen, say))
    found = [_one(field_, name, seen) for field_, name in names]
    return tuple(sorted((one for one in found if one.known), key=lambda one: (not one.differs, one.asked)))


def _named(field_: str, seen: Sequence[tuple[Visit, PlaceStory, Mapping[str, str | None]]], say: Say) -> list[str]:
    own = say(condition(field_))
    return list(dict.fromkeys(name for _, _, of in seen for name in of if name == own or name.startswith(f"{own}: ")))


def _stated(data: CampaignData, places: Sequence[PlaceStory]) -> Iterator[tuple[Visit, PlaceStory, Conditions]]:
    """Of each load; of a server that runs already, what its first unit saw."""
    by_visit = {visit: place for place in places for visit in place.visits}
    for visit in data.state.schedule.visits:
        load = data.loads.get(visit.id) or next((data.units[u.id] for u in visit.units if u.id in data.units), None)
        if load:
            yield visit, by_visit[visit.id], load.run.conditions


def _values(stated: Conditions, say: Say) -> Iterator[Value]:
    """Each condition; those of several hosts or cards one by one."""
    for field_ in fields(Conditions):
        value, name = getattr(stated, field_.name), say(condition(field_.name))
        if field_.name in OF_UNITS or (field_.name in ABSENT and not value):
            continue
        if isinstance(value, Mapping):
            yield from ((f"{name}: {key}", _words(field_.name, item)) for key, item in sorted(value.items()))
        else:
            yield name, _words(field_.name, value)


def _words(name: str, value: object) -> str | None:
    if value is None or value == ():
        return None
    if name in ("model_bytes", "held_before") and isinstance(value, int):
        return size(value)
    if isinstance(value, tuple):
        return ("-" if name == "temperatures_c" else ", ").join(_plain(item) for item in value)
    return _plain(value)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _one(field_: str, name: str, seen: Sequence[tuple[Visit, PlaceStory, Mapping[str, str | None]]]) -> ConditionStory:
    held: dict[str | None, list[tuple[Visit, PlaceStory]]] = {}
    for visit, place, of in seen:
        if name in of:  # a host that has no part in a load says nothing about it
            held.setdefault(of[name], []).append((visit, place))
    values = [ConditionValue(value=value, held=tuple(_where(mine, held))) for value, mine in held.items()]
    return ConditionStory(name=name, values=tuple(values), asked=field_ in ASKED)


def _where(
    mine: Sequence[tuple[Visit, PlaceStory]], all_: Mapping[str | None, Sequence[tuple[Visit, PlaceStory]]]
) -> Iterator[str]:
    """Places; with their blocks, where one place had several values."""
    if len(all_) == 1:
        return
    for place in dict.fromkeys(place.id for _, place in mine):
        own = [(visit, p) for visit, p in mine if p.id == place]
        others = sum(p.id == place for group in all_.values() for _, p in group)
        name = f"{own[0][1].contestant}, {own[0][1].label}"
        blocks = ", ".join(str(visit.block) for visit, _ in own)
        yield name if others == len(own) else f"{name} [{blocks}]"
