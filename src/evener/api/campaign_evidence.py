"""What is seen of a load when it has ended: cards that differ, memory that is held, the engine's last words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evener.api.campaign_folder import Journal
from evener.codec import from_data
from evener.records.campaign import VisitEnd
from evener.records.verification import CardCheck, FreedCheck

EVIDENCE_LINES = 8  # of each log


def all_but_ended(journal: Journal) -> VisitEnd | None:
    """The end of a visit that was cut after its last unit: it need not be loaded again. None where something is left.

    What was seen of the cards is in the facts of its load.
    """
    state, load = journal.state, journal.last_load()
    visit = next((one for one in state.left if one.id == journal.visited()), None)
    if visit is None or load is None or any(unit.id not in state.ends for unit in visit.units):
        return None
    told = {fact.kind: fact.data for fact in load.facts}
    source = str(load.path)
    checks = from_data(tuple[CardCheck, ...], told.get("verified", {}).get("checks", []), source=source)
    freed = from_data(tuple[FreedCheck, ...], told.get("freed", {}).get("checks", []), source=source)
    cut = [] if freed else ["cut before its memory was seen to come back"]
    return VisitEnd(
        visit=visit.id,
        state="done",
        run=load.path.name,
        why="; ".join([*differing(checks), *still_held(freed), *cut]) or None,
        load_s=told.get("ready", {}).get("load_s"),
        checks=checks,
        freed=freed,
    )


def differing(checks: Sequence[CardCheck]) -> list[str]:
    """Cards that do not hold what was planned."""
    return [
        f"{one.host}/{one.card_name} is {one.verdict}" + (f": {one.why}" if one.why else "")
        for one in checks
        if one.verdict not in ("as planned", "unknown")
    ]


def still_held(freed: Sequence[FreedCheck]) -> list[str]:
    """Cards whose memory did not come back."""
    return [
        f"{one.host}/{one.card_name} was not freed" + (f": {one.why}" if one.why else "")
        for one in freed
        if one.verdict == "held"
    ]


def evidence_of(run: Path) -> Iterator[str]:
    """The last lines of everything that the engine said, host by host."""
    for log in sorted((run / "logs").glob("*/*.log")):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        yield from (f"{log.parent.name}/{log.stem}: {line}" for line in lines[-EVIDENCE_LINES:])
