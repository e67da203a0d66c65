"""A campaign's folder, read for a report: its journal, and the head of every run that an end names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from evener.api.campaign_folder import RUNS, read
from evener.campaign.journal import state_of
from evener.edges.run_folder import open_head
from evener.errors import RunUnreadable
from evener.records.campaign import CampaignData, CampaignRun


def open_campaign(path: Path) -> CampaignData:
    """Everything but rows and samples, which stay where they are. Raises RunUnreadable.

    A run that cannot be read is left out: its unit's end says that there was one.
    """
    data = read(path)
    state = state_of(data.facts)
    runs = path / RUNS
    return CampaignData(
        id=path.name,
        state=state,
        started_at=data.run.started_at,
        ended_at=data.summary.ended_at if data.summary else None,
        partial=data.summary.partial if data.summary else None,
        conditions=data.run.conditions,
        units=dict(_heads(runs, {unit: end.run for unit, end in state.ends.items()})),
        loads=dict(_heads(runs, {visit: end.run for visit, end in state.visit_ends.items()})),
    )


def _heads(runs: Path, named: dict[str, str | None]) -> Iterator[tuple[str, CampaignRun]]:
    for name, run in named.items():
        if run is not None:
            with suppress(RunUnreadable):
                head, summary = open_head(runs / run)
                files = tuple(sorted(one.name for one in (runs / run).iterdir() if one.is_file()))
                yield name, CampaignRun(unit=name, run=head, summary=summary, files=files)
