"""The stages of a run that never wrote its summary, read back from its facts. What is torn stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evener.codec import from_data
from evener.errors import RunUnreadable
from evener.records.context_limits import ContextResult
from evener.records.events import Fact
from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.run import Stage
from evener.records.speed_rows import SpeedResult
from evener.records.verification import CardCheck, FreedCheck

_RESULTS: dict[str, type[Any]] = {"users": UsersResult, "speed": SpeedResult, "context": ContextResult}


def pair(facts: Sequence[Fact]) -> PairResult | None:
    """What two in turns had said at last; None where no visit was finished, or nobody can read it."""
    last = next((fact for fact in reversed(facts) if fact.kind == "paired"), None)
    try:
        return from_data(PairResult, last.data.get("pair"), source=f"event {last.sequence}") if last else None
    except RunUnreadable:
        return None


def stages(facts: Sequence[Fact]) -> tuple[Stage, ...]:
    """One per "layout" fact, with what "ready", "verified", "measured" and "freed" said of it."""
    found: list[Stage] = []
    for fact in facts:
        if fact.kind == "layout" and isinstance(fact.data.get("name"), str):
            found.append(Stage(layout=fact.data["name"]))
        elif found:
            found[-1] = _with(found[-1], fact)
    return tuple(found)


def _with(stage: Stage, fact: Fact) -> Stage:
    data, source = fact.data, f"event {fact.sequence}"
    try:
        if fact.kind == "ready" and isinstance(data.get("load_s"), int | float):
            return replace(stage, load_s=float(data["load_s"]))
        if fact.kind == "verified":
            return replace(stage, checks=tuple(from_data(CardCheck, c, source=source) for c in _checks(data)))
        if fact.kind == "freed":
            return replace(stage, freed=tuple(from_data(FreedCheck, c, source=source) for c in _checks(data)))
        if fact.kind == "measured" and data.get("layout") == stage.layout:
            found = {
                name: from_data(kind, data[name], source=source) for name, kind in _RESULTS.items() if name in data
            }
            return replace(stage, **found)
    except RunUnreadable:
        return stage
    return stage


def _checks(data: dict[str, Any]) -> list[Any]:
    checks = data.get("checks")
    return checks if isinstance(checks, list) else []
