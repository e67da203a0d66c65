"""The stages of a run that never wrote its summary, read back from its facts. What is torn stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evener.codec import from_data
from evener.errors import RunUnreadable
from evener.records.events import Fact
from evener.records.load import UsersResult
from evener.records.run import Stage
from evener.records.verification import CardCheck, FreedCheck


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
            return replace(stage, users=from_data(UsersResult, data.get("users"), source=source))
    except RunUnreadable:
        return stage
    return stage


def _checks(data: dict[str, Any]) -> list[Any]:
    checks = data.get("checks")
    return checks if isinstance(checks, list) else []
