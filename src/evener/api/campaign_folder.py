"""A campaign's run folder: its journal, and the runs of its units and loads, nested in it.

<campaign's folder>/
    campaign.toml   what was asked for, word for word
    events.jsonl    the journal: `campaign.journal` says what its facts mean
    runs/           a run folder for each unit and each load
    cut/            what was begun and is not gone on with: nothing reads it but people
    logs/visits/    what was said at each visit, a file each
    report.html     its report, written after its end
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evener import __version__, state
from evener.campaign import journal
from evener.codec import to_data
from evener.edges.run_folder import RunData, RunFolder, list_runs, new_run_id, open_run
from evener.edges.writing import write_whole, writing
from evener.errors import RunUnreadable
from evener.records.campaign import Campaign, CampaignState, Schedule, UnitEnd, VisitEnd
from evener.records.card import Scan
from evener.records.conditions import Conditions
from evener.records.events import Fact
from evener.records.rig import Rig
from evener.records.run import Run, Summary

WHAT, LOAD = "compare", "up"  # as `evener runs --what` knows a campaign, and each of its loads
FILE = "campaign.toml"
PAGE = "report.html"
RUNS, CUT = "runs", "cut"
BEFORE_IT_BEGINS = ("campaign", "schedule")
CLOCK_STEP = timedelta(seconds=1)  # ids of run folders have whole seconds

OnFact = Callable[[Fact], None]


@dataclass(kw_only=True)
class Journal:
    """A campaign that is being made: facts are on the disk before they are anywhere else."""

    folder: RunFolder
    facts: list[Fact]
    on_fact: OnFact = field(default=lambda _fact: None)

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def id(self) -> str:
        return self.folder.path.name

    @property
    def runs(self) -> Path:
        """Where the runs of its units and loads are."""
        return self.folder.path / RUNS

    @property
    def state(self) -> CampaignState:
        return journal.state_of(self.facts)

    def add(self, kind: str, data: dict[str, Any]) -> None:
        fact = self.folder.fact(kind, data)
        self.facts.append(fact)
        self.on_fact(fact)

    def unit_ended(self, end: UnitEnd) -> None:
        self.add("unit ended", {"end": to_data(end)})

    def visit_ended(self, end: VisitEnd) -> None:
        self.add("visit ended", {"end": to_data(end)})

    # ---- what was cut

    def cut_run(self, unit: str, what: str) -> Path | None:
        """The run that this unit was cut in; None where it has not begun yet, or left nothing."""
        begun = self._begun(unit)
        if begun is None:
            return None
        strays = [path for path in self._strays() if f"-{what}-" in path.name]
        later = [path for path in strays if (at := _started_at(path)) and at >= begun - CLOCK_STEP]
        return later[-1] if later else None

    def set_aside(self, path: Path) -> None:
        """A run that nobody goes on with: out of the way, and still there to be looked at."""
        target = self.path / CUT / path.name
        with writing(target):
            target.parent.mkdir(exist_ok=True)
            path.rename(target)

    def last_load(self) -> RunData | None:
        """The last load that no end names."""
        loads = [path for path in self._strays() if f"-{LOAD}-" in path.name]
        return open_run(loads[-1]) if loads else None

    def sweep(self, *, but: Path | None = None) -> None:
        """Set aside every run that no end names, but for one that will be gone on with."""
        for path in self._strays():
            if path != but:
                self.set_aside(path)

    def _strays(self) -> list[Path]:
        state = self.state
        ends: list[UnitEnd | VisitEnd] = [*state.ends.values(), *state.visit_ends.values()]
        named = {end.run for end in ends}
        return [path for path in list_runs(self.runs) if path.name not in named]

    def _begun(self, unit: str) -> datetime | None:
        """When a unit without an end was begun, the first of several times; None where that counts no more."""
        visit, begun = unit.rpartition(":")[0], None
        for fact in self.facts:
            if fact.kind == "unit begun" and fact.data["unit"] == unit:
                begun = begun or fact.at
            has_ended = fact.kind == "unit ended" and fact.data["end"]["unit"] == unit
            if has_ended or (fact.kind == "changed" and visit in fact.data["changed"]["again"]):
                begun = None
        return begun

    def visited(self) -> str | None:
        """The visit that was begun last."""
        return next((str(f.data["visit"]) for f in reversed(self.facts) if f.kind == "visit begun"), None)

    def under_way(self) -> str | None:
        """The unit that was begun last and has no end."""
        last = next((fact for fact in reversed(self.facts) if fact.kind in ("unit begun", "unit ended")), None)
        return None if last is None or last.kind == "unit ended" else str(last.data["unit"])

    def finish(self, partial: str | None) -> None:
        self.folder.finish(Summary(ended_at=datetime.now(UTC), partial=partial))


def create(campaign: Campaign, schedule: Schedule, *, text: str, rig: Rig, scan: Scan) -> Journal:
    """A new campaign's folder. `text` is that of its file. Raises HostError when it cannot be written."""
    now = datetime.now(UTC)
    run = Run(
        id=new_run_id(WHAT, at=now),
        what=WHAT,
        started_at=now,
        conditions=Conditions(evener=__version__),
        rig=rig,
        scan=scan,
    )
    folder = RunFolder.create(state.runs_folder(), run)
    write_whole(folder.path / FILE, text)
    with writing(folder.path / RUNS):
        (folder.path / RUNS).mkdir()
    made = Journal(folder=folder, facts=[])
    made.add("campaign", {"campaign": to_data(campaign)})
    made.add("schedule", {"schedule": to_data(schedule)})
    return made


def reopen(path: Path) -> Journal:
    """Go on with a campaign. Raises RunUnreadable for a folder of something else."""
    data = read(path)
    made = Journal(folder=RunFolder.reopen(data), facts=list(data.facts))
    if any(fact.kind not in BEFORE_IT_BEGINS for fact in made.facts):
        made.add("campaign resumed", {})
    return made


def read(path: Path) -> RunData:
    """A campaign's own run, with its journal. Raises RunUnreadable."""
    data = open_run(path)
    if data.run.what != WHAT:
        raise RunUnreadable(f"{path.name} is no campaign", hint=f"evener runs --what {WHAT}")
    return data


def campaigns() -> Iterator[Path]:
    """All campaigns, the newest first."""
    return (path for path in reversed(list_runs(state.runs_folder())) if f"-{WHAT}-" in path.name)


def text_of(file: Path) -> str | None:
    """What a campaign file says, None where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def is_held(path: Path) -> bool:
    """Whether a session makes this campaign now: it holds the run."""
    with suppress(OSError), (path / "run.json").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _started_at(path: Path) -> datetime | None:
    """By the name of a run folder, to the second."""
    with suppress(ValueError):
        return datetime.strptime(path.name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return None
