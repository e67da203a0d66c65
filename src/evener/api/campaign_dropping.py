"""After a block: who is clearly beaten, by what has been measured until then. Only a budget is a reason to drop."""

from __future__ import annotations

from collections.abc import Iterator

from evener.api import verdicts
from evener.api.campaign_folder import Journal
from evener.api.campaign_judging import answered
from evener.campaign.eliminate import beaten
from evener.codec import to_data
from evener.edges.run_folder import open_head
from evener.errors import EvenerError
from evener.records.campaign import CampaignState, Visit
from evener.records.load import UsersResult
from evener.records.verdicts import DimensionVerdict


def dropped(journal: Journal, visit: Visit) -> None:
    """Write down who is dropped, where `visit` was the last one of its block."""
    state = journal.state
    if state.campaign.budget_s is None or any(one.block <= visit.block for one in state.left):
        return
    for one in beaten(state, dict(_users(journal, state)), _dimensions(journal, state), after_block=visit.block):
        journal.add("dropped", {"dropped": to_data(one)})


def _users(journal: Journal, state: CampaignState) -> Iterator[tuple[str, UsersResult]]:
    for visit in state.schedule.visits:
        for unit in visit.units:
            end = state.ends.get(unit.id)
            if unit.measure == "users" and end is not None and end.run is not None:
                _, summary = open_head(journal.runs / end.run)
                stages = summary.stages if summary else ()
                yield from ((unit.id, stage.users) for stage in stages if stage.users is not None)


def _dimensions(journal: Journal, state: CampaignState) -> tuple[DimensionVerdict, ...]:
    """What the answers prove so far; nothing where fewer than two contestants have answered the same."""
    runs = [journal.runs / str(state.ends[unit].run) for unit in answered(state)]
    try:
        return verdicts.verdicts(runs).dimensions if len(runs) > 1 else ()
    except EvenerError:
        return ()
