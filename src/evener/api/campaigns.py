"""`evener compare`: begin a campaign, go on with one, say where one stands. Visits are made in the schedule's order."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evener import state
from evener.api import campaign_dropping, campaign_folder, campaign_judging, campaign_visits
from evener.api.bench_eyes import EYES, Eyes
from evener.api.campaign_evidence import all_but_ended, differing, still_held
from evener.api.campaign_folder import Journal
from evener.api.campaign_log import VisitLog
from evener.api.campaign_units import WHATS
from evener.api.campaign_visits import OverBudget, Sitting
from evener.api.rig import Rig
from evener.api.session import OnMessage
from evener.campaign.journal import state_of, status_of
from evener.codec import to_data
from evener.edges import deployments, notify, run_folder
from evener.edges.control import Message
from evener.edges.run_folder import RunData
from evener.errors import ConfigurationError, EvenerError, Interrupted, NameUnknown, RunUnreadable
from evener.records.campaign import Campaign, CampaignState, CampaignStatus, Schedule, Unit, Visit
from evener.records.card import Scan
from evener.records.events import Fact

__all__ = ["Ended", "Wishes", "begin", "find", "go_on", "status", "unfinished"]

STEPS = ("visit begun", "unit begun", "unit ended", "visit ended", "dropped")  # facts that move a campaign on


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What this session does otherwise than the file says."""

    wait_for_cards: bool = False
    budget_s: float | None = None
    eyes: Eyes = EYES


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a campaign came to its end. `partial` says what is missing, None when nothing is."""

    path: Path
    status: CampaignStatus
    partial: str | None
    is_clean: bool  # nothing failed, every card did as planned, all memory came back


def begin(campaign: Campaign, schedule: Schedule, *, text: str, rig: Rig, scan: Scan) -> Path:
    """A folder for a campaign that is new; `go_on` makes it. `text` is that of its file."""
    record = rig.record
    if record.path is not None and Path(record.path).is_file():
        record = replace(record, path=str(Path(record.path).resolve()))  # to be found from elsewhere too
    return campaign_folder.create(campaign, schedule, text=text, rig=record, scan=scan).path


def rig_of(data: RunData) -> Rig:
    """The rig as its file says now: whoever was named as a holder may have been declared. What no file says is as it
    was when the campaign began."""
    record = data.run.rig
    if record is None or (record.path is not None and Path(record.path).is_file()):
        return Rig.open(record.path if record else None)
    return Rig(record)


def unfinished(file: Path) -> Path | None:
    """The campaign that was begun with this file and is not at its end, or was cut before its report was written; the
    newest of several.

    Raises ConfigurationError where the file has been changed since.
    """
    if not file.is_file():
        return None
    for path in campaign_folder.campaigns():
        try:
            data = campaign_folder.read(path)
            is_told = data.summary is not None and (path / campaign_folder.PAGE).exists()
            begun = not is_told and state_of(data.facts).campaign.path == str(file.resolve())
        except RunUnreadable:  # cut before it was planned: nothing is lost
            continue
        if begun:
            if campaign_folder.text_of(path / campaign_folder.FILE) != campaign_folder.text_of(file):
                raise ConfigurationError(
                    f"{file} has been changed since {path.name} was begun with it",
                    hint=f"--resume {path.name} goes on as it was begun, --new begins another",
                )
            return path
    return None


def find(run: str | None) -> Path:
    """A campaign by any name of its run; None and "last" are the newest. Raises NameUnknown, RunUnreadable."""
    if run in (None, "last"):
        found = next(campaign_folder.campaigns(), None)
        if found is None:
            raise NameUnknown(f"there is no campaign in {state.runs_folder()}", hint="evener compare --init")
        return found
    path = run_folder.find_run(state.runs_folder(), str(run))
    campaign_folder.read(path)
    return path


def status(path: Path) -> CampaignStatus:
    """Where a campaign stands, also while another session makes it."""
    data = campaign_folder.read(path)
    held = campaign_folder.is_held(path)
    found = status_of(state_of(data.facts), data.facts, id=path.name, now=datetime.now(UTC), is_running=held)
    return found if data.summary is None or held else replace(found, state="complete", visit=None, unit=None)


def _now(journal: Journal, *, is_running: bool) -> CampaignStatus:
    return status_of(journal.state, journal.facts, id=journal.id, now=datetime.now(UTC), is_running=is_running)


async def go_on(path: Path, wishes: Wishes, say: OnMessage) -> Ended:
    """Make what is left of a campaign. Raises HostBusy while another session makes it, and whatever stops it: then it
    goes on from there another time."""
    before = campaign_folder.read(path)
    require_keys(state_of(before.facts).campaign)
    if before.summary is not None and before.summary.partial is None:  # nothing is left
        return Ended(path=path, status=status(path), partial=None, is_clean=_is_clean(state_of(before.facts)))
    with run_folder.alone(path):
        journal = campaign_folder.reopen(path)
        log = VisitLog(folder=journal.folder)

        def both(message: Message) -> None:
            log.take(message)
            say(message)

        def heard(fact: Fact) -> None:
            both({"fact": to_data(fact)})
            if fact.kind in STEPS:
                say({"campaign": to_data(_now(journal, is_running=True))})

        journal.on_fact = heard
        campaign = journal.state.campaign
        again = f"evener compare --resume {journal.id} goes on from there"
        try:
            partial = await _made(journal, campaign, wishes, both)
        except (asyncio.CancelledError, Interrupted):
            raise Interrupted("interrupted; everything that was started has been stopped", hint=again) from None
        except EvenerError as error:
            await _tell(campaign, journal, f"{campaign.name} has stopped: {error.message}")
            error.hint = f"{error.hint}; then {again}" if error.hint else again
            raise
        journal.finish(partial)
        over = replace(_now(journal, is_running=False), state="complete", visit=None, unit=None)
        ended = Ended(path=path, status=over, partial=partial, is_clean=_is_clean(journal.state))
        await _tell(campaign, journal, _news(ended))
        return ended


def require_keys(campaign: Campaign) -> None:
    """Raises ConfigurationError for the first key that is named and not there: better now than in the middle of it."""
    judges = campaign.answers.judges if campaign.answers else ()
    named = [(one.name, one.api_key_env) for one in campaign.contestants] + [(j.name, j.api_key_env) for j in judges]
    for name, variable in named:
        if variable and not os.environ.get(variable, "").strip():
            raise ConfigurationError(f"{name}: ${variable} is not set", hint=f"export {variable}=...")


async def _made(journal: Journal, campaign: Campaign, wishes: Wishes, say: OnMessage) -> str | None:
    """All visits, then the judges. Why it is not all that was asked for, None when it is."""
    sitting = Sitting(
        journal=journal,
        campaign=campaign,
        rig=rig_of(campaign_folder.read(journal.path)),
        say=say,
        wait_for_cards=wishes.wait_for_cards,
        eyes=wishes.eyes,
        require_time=_Budget(journal=journal, seconds=wishes.budget_s or campaign.budget_s).require,
    )
    if (end := all_but_ended(journal)) is not None:
        journal.visit_ended(end)
    journal.sweep(but=_cut(journal))
    try:
        while left := journal.state.left:
            await campaign_visits.made(left[0], sitting)
            campaign_dropping.dropped(journal, left[0])
        await campaign_judging.judged(sitting)
    except OverBudget as over:
        return str(over)
    finally:
        deployments.forget(sitting.deployment)  # one that failed is told by its visit
    return None


def _is_clean(state: CampaignState) -> bool:
    ends = state.visit_ends.values()
    return (
        all(end.state != "failed" for end in state.ends.values())
        and all(end.state != "failed" for end in ends)
        and not any(differing(end.checks) for end in ends)
        and not any(still_held(end.freed) for end in ends)
    )


def _cut(journal: Journal) -> Path | None:
    """The run of the unit that was under way when the last session ended."""
    under_way = journal.under_way()
    units = (unit for visit in journal.state.schedule.visits for unit in visit.units)
    unit = next((unit for unit in units if unit.id == under_way), None)
    return journal.cut_run(unit.id, WHATS[unit.measure]) if unit else None


@dataclass(kw_only=True)
class _Budget:
    """Time over all sessions. What would begin after its end, or is predicted to outlast it, is not begun."""

    journal: Journal
    seconds: float | None
    begun_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def require(self, what: Unit | Visit) -> None:
        if self.seconds is None:
            return
        since = (datetime.now(UTC) - self.journal.facts[-1].at).total_seconds()
        left = self.seconds - self.journal.state.spent_s - max(0.0, since)
        minutes = what.load_minutes if isinstance(what, Visit) else what.minutes
        if left <= 60 * (minutes or 0.0):
            raise OverBudget(self._said())

    def _said(self) -> str:
        state = self.journal.state
        visits = state.left
        units = sum(unit.id not in state.ends for visit in visits for unit in visit.units)
        assert self.seconds is not None
        return (
            f"its budget of {self.seconds / 3600:.3g} h is used up: {units} units of {len(visits)} visits are missing"
        )


# ---- who is told


def _news(ended: Ended) -> str:
    one = ended.status
    said = f"{one.name} is complete" if ended.partial is None else f"{one.name} has ended: {ended.partial}"
    failed = f", {one.failed} failed" if one.failed else ""
    return f"{said}; {one.done} of {one.units} units measured{failed}: evener report {one.id}"


async def _tell(campaign: Campaign, journal: Journal, text: str) -> None:
    if campaign.notify is None:
        return
    faults = []
    if campaign.notify.command:
        faults.append(await notify.by_command(campaign.notify.command, text))
    if campaign.notify.url:
        faults.append(await notify.by_post(campaign.notify.url, {"text": text, "run": journal.id}))
    for fault in filter(None, faults):
        journal.on_fact(
            Fact(sequence=0, at=datetime.now(UTC), kind="caution", data={"text": f"nobody was told: {fault}"})
        )
