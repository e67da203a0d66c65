"""Which conditions are not what they were, and what has to be measured anew for it. Pure.

A block is one regime: what is compared within it must have run under the same drivers, builds, protocols, power limits
and cables. What of the block was made before such a change, on the same host or cable, is made anew; blocks that were
whole before it stand, each in itself, and the change is named. What a visit had before it was cut is made anew
with the others. Another file under the same name is another model: all visits of its contestant are made anew. Other
layers per device, another evener and cards that begin at another temperature are named only.

What is not known on one side has not changed. No visit is made anew twice for the same condition: what goes back and
forth is named, and not chased.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evener.records.campaign import Changed, Visit
from evener.records.conditions import Conditions

BAND_C = 10.0  # cards that begin warmer or cooler by more are told
SAME_RATE = 0.10  # a cable that carries so much more or less is another one, or has a fault
NAMED_ONLY = ("layers per device", "evener", "temperature")
MODEL = "model file"
_RATES = re.compile(r"([\d.]+) (?:Gbit/s out|back)")
_DATE = re.compile(r" \((?:measured [\d-]+|stated)\)")
_CABLE = re.compile(r"(?:^|, )([\w.-]+)(?=: | \()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A visit that was made, and under which conditions."""

    visit: Visit
    conditions: Conditions


Condition = tuple[str, str]  # what it is, and of what: ("driver", "beta/RTX 5080")


def changes(now: Made, before: Sequence[Made], known: Sequence[Changed] = ()) -> tuple[Changed, ...]:
    """What is other at a visit than at the last one before it that had the same host, card, cable or model.

    `before` are the visits that count, in the order in which they were made, this one among them where it was cut;
    `known` the changes told so far.
    """
    found = []
    for condition, value in regime(now).items():
        earlier = [(one, theirs) for one in before if (theirs := regime(one).get(condition)) is not None]
        if not earlier or _same(condition, earlier[-1][1], value):
            continue
        told = name_of(condition)
        differing = [one.visit for one, theirs in earlier if not _same(condition, theirs, value)]
        done = {id_ for change in known if change.condition == told for id_ in change.again}
        again = tuple(v.id for v in differing if v.id not in done and _must_be_made_anew(condition, v, now.visit))
        found.append(Changed(visit=now.visit.id, condition=told, before=earlier[-1][1], now=value, again=again))
    return tuple(found)


def regime(made: Made) -> dict[Condition, str]:
    """Everything that is compared, as far as it is known."""
    return dict(_regime(made))


def name_of(condition: Condition) -> str:
    what, of = condition
    return what if what in (MODEL, "evener", "layers per device") else f"{what} of {of}"


def _regime(made: Made) -> Iterator[tuple[Condition, str]]:
    known, visit = made.conditions, made.visit
    yield from ((("build", host), build) for host, build in known.engine_builds.items())
    yield from ((("driver", card), driver) for card, driver in known.drivers.items())
    yield from ((("power limit", card), f"{watts:.0f} W") for card, watts in known.power_limits_w.items())
    if known.link and (cables := _CABLE.findall(known.link)):
        yield ("cable", " and ".join(cables)), _DATE.sub("", known.link)
    if known.model_sha256:
        yield (MODEL, visit.contestant), known.model_sha256
    if known.layers_per_device and known.device_order:
        on = zip(known.device_order, known.layers_per_device, strict=False)
        yield ("layers per device", visit.key), ", ".join(f"{device} {layers}" for device, layers in on)
    if known.evener:
        yield ("evener", ""), known.evener
    yield from ((("temperature", card), f"{least:.0f} C") for card, (least, _) in known.temperatures_c.items())


def _same(condition: Condition, before: str, now: str) -> bool:
    if condition[0] == "temperature":
        return abs(float(before.split()[0]) - float(now.split()[0])) <= BAND_C
    if condition[0] == "cable":
        rates = zip(_RATES.findall(before), _RATES.findall(now), strict=False)
        return all(abs(float(a) - float(b)) <= SAME_RATE * max(float(a), float(b)) for a, b in rates)
    return before == now


def _must_be_made_anew(condition: Condition, earlier: Visit, now: Visit) -> bool:
    if condition[0] in NAMED_ONLY:
        return False
    return condition[0] == MODEL or earlier.block == now.block
