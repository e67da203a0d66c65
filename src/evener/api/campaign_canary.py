"""Whether a layout computes what the contestant's first one does: their canaries, held against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evener.api.campaign_folder import Journal
from evener.edges.run_folder import read_answers
from evener.evals import canary
from evener.evals.canary import Compared
from evener.records.answers import Answer
from evener.records.campaign import CampaignState, Unit, UnitEnd, Visit


def reference(state: CampaignState, unit: str) -> UnitEnd | None:
    """The canary of the contestant's first layout that was measured, None where `unit` is that one."""
    mine = next(visit for visit, one in _canaries(state) if one.id == unit)
    ends = (
        state.ends[one.id] for visit, one in _canaries(state) if visit.contestant == mine.contestant and one.id != unit
        and one.id in state.ends
    )  # fmt: skip
    return next((end for end in ends if end.state == "done" and end.run), None)


def parted(journal: Journal, unit: str, run: Path) -> str | None:
    """How the answers in `run` differ from those of the first layout beyond the engine's own noise; None where they do
    not, or nobody can tell."""
    first = reference(journal.state, unit)
    if first is None or first.run is None:
        return None
    theirs, mine = read_answers(journal.runs / first.run), read_answers(run)
    across = canary.compare(mine, theirs)
    if canary.verdict(across, itself(theirs)) != "differs":
        return None
    return f"answers differ from those of {first.visit}: {canary.told(across)}"


def itself(answers: tuple[Answer, ...]) -> Compared | None:
    """What a layout that was asked twice differs from itself; None where it was asked once."""
    again = [replace(one, asked=replace(one.asked, epoch=0)) for one in answers if one.asked.epoch == 1]
    return canary.compare(answers, again) if again else None


def _canaries(state: CampaignState) -> Iterator[tuple[Visit, Unit]]:
    for visit in state.schedule.visits:
        yield from ((visit, unit) for unit in visit.units if unit.measure == "canary")
