"""A campaign: which models, in which layouts, measured how; what has been done of it, and how each part ended.

`Campaign` is what campaign.toml says, `Visit` one load of a model in one layout, `Unit` one thing that is measured
while it is loaded. What has ended is in the journal of the campaign's run folder, fact by fact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evener.records.answers import Arm
from evener.records.conditions import Conditions
from evener.records.plan import Value
from evener.records.run import Run, Summary
from evener.records.verification import CardCheck, FreedCheck

Measure = Literal["canary", "speed", "users", "context", "answers"]
UnitState = Literal["done", "partial", "failed", "skipped"]
VisitState = Literal["done", "failed", "does not fit", "skipped"]
VisitRole = Literal["asked", "baseline", "A again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One model in one quantisation and one thinking mode; or a server that runs already, known by its `url` alone.

    `model` is what `evener plan` takes: a path, "demo", a URL, a name of the shelf or of the catalogue.
    """

    name: str
    model: str | None = None
    quantise: str | None = None  # the type that llama-quantize makes of `model`, where it is made here
    url: str | None = None
    served_model: str | None = None  # what to ask that server for
    api_key_env: str | None = None  # the variable that holds its key
    thinking: bool | None = False
    mmproj: str | None = None  # the projector that it sees or hears with
    draft: str | None = None  # the model that drafts for it
    flags: tuple[str, ...] = ()  # of the engine, as after `--`

    @property
    def is_ours(self) -> bool:
        """Whether evener loads it; a server that runs already is taken as it is."""
        return self.url is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedAsked:
    """`bench speed`: lists as llama-bench takes them."""

    prompts: tuple[int, ...] = (512,)  # tokens
    outputs: tuple[int, ...] = (128,)  # tokens
    depths: tuple[int, ...] = (0,)  # tokens that are in the cache before
    repetitions: int = 5  # of each test


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersAsked:
    """`bench users`: the user counts; of a profile its lengths, pauses and limits."""

    counts: tuple[int, ...] = (1, 2, 4, 8)  # of a profile people, else parallel users
    profile: str | None = None  # what they do
    prompts: int | None = None  # measured requests per count
    prompt_tokens: int = 128
    output_tokens: int = 64

    @property
    def name(self) -> str:
        return self.profile or "users"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAsked:
    """`bench context`: prompt lengths in tokens, None for a ladder up to the limit."""

    lengths: tuple[int, ...] | None = None  # of prompts, in tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAsked:
    """A judge of the answers, as `evener judge` takes it. The key is named here, never held."""

    name: str
    api: Literal["openai", "anthropic", "local"] = "openai"  # its language; "local" is loaded here
    url: str | None = None
    model: str | None = None
    api_key_env: str | None = None  # the variable that holds its key
    suites: tuple[str, ...] = ()  # () for all of the campaign's


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersAsked:
    """`eval`: suites by name or path, how often, under which arms, judged by whom."""

    suites: tuple[str, ...]
    quick: bool = False
    epochs: int = 1
    arms: tuple[Arm, ...] = ("single",)
    k: int = 5  # answers per vote
    temperature: float = 0.0
    most_tokens: int = 1024
    judges: tuple[JudgeAsked, ...] = ()  # of what code cannot judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Who is told at the end, and when it stops for somebody: a command, its words as they are (`{text}` stands for the
    news), or a URL that the news is posted to."""

    command: tuple[str, ...] = ()
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """campaign.toml. Each contestant is measured in each layout, over each cable, with each context, `repeats` times.

    `layouts` are "auto", a host, "cluster", "replicas", or a candidate's name; each is held against the one machine
    that the model fits. `a_versus_a`: the first contestant is measured once more, as if it were another: the noise.
    """

    name: str
    contestants: tuple[Contestant, ...]  # who is measured
    layouts: tuple[str, ...] = ("auto", "cluster")
    cables: tuple[str, ...] = ()  # names of the rig's links; () for the one the plan takes
    contexts: tuple[int, ...] = (4096,)  # tokens per user
    parallel: int = 4  # sequences that a load makes room for
    kv: str = "f16"
    repeats: int = 2
    seed: int = 1
    a_versus_a: bool = True
    speed: SpeedAsked | None = None  # one sequence at a time; null: not measured
    users: tuple[UsersAsked, ...] = ()
    context: ContextAsked | None = None
    answers: AnswersAsked | None = None
    budget_s: float | None = None  # the most that it may take, over all sessions
    cool: bool = True  # wait between loads until the cards are as cool as before the first
    notify: Notify | None = None  # who is told
    rig: str | None = None  # path of the rig file, None for the usual one
    path: str | None = None  # of campaign.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One thing that is measured in a visit. `id` is the visit's and the measure's name; it is measured once."""

    id: str
    measure: Measure  # what is measured
    name: str  # what tells it from others of its kind: a profile's name, else the measure
    minutes: float | None = None  # predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One load of one contestant in one layout, and what is measured there, in order. `layout` is what the file says,
    `candidate` the plan's name for it; both None for a server that runs already."""

    id: str
    contestant: str  # its name
    block: int  # 1 is the first repeat; every block holds each layout once, in its own random order
    role: VisitRole  # asked for by the file, what another is held against, or the first one once more
    layout: str | None
    candidate: str | None
    cable: str | None  # a link's name; None for one machine, or the plan's choice
    context: int  # tokens per user
    units: tuple[Unit, ...]  # empty where it does not fit
    load_minutes: float | None = None  # predicted, model fetched and hosts ready
    predicted: Value | None = None  # decode tokens per second of one user
    fullest: float | None = None  # share of the fullest card that the plan takes
    cards_bytes: int | None = None  # on all cards together
    why_not: str | None = None  # why it does not fit: then it is not loaded, and that is its result

    @property
    def key(self) -> str:
        """What repeats share: the same load in another block."""
        return self.id.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """A file that has to be here, or be made here, before the first visit that needs it."""

    contestant: str  # the first one that needs it
    model: str  # as the file names it
    bytes: int | None  # to fetch or write; 0 when it is here, None when nobody knows
    how: Literal["here", "fetch", "quantise"]  # whether it is here, or what brings it


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Everything that will be done, in order: made once, kept in the journal, never made again.

    `proves` says, suite by suite, what the sizes can prove; `notes` what a reader must know.
    """

    visits: tuple[Visit, ...]  # in order
    fetches: tuple[Fetch, ...]  # files, each once
    minutes: float | None  # predicted, of all of it; None where nobody knows of a part
    disk_bytes: int | None  # to fetch and write
    proves: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def visit(self, id_: str) -> Visit | None:
        return next((v for v in self.visits if v.id == id_), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEnd:
    """How a unit ended. `run` is its run folder's id, under the campaign's own `runs/`."""

    unit: str
    visit: str  # its visit's id
    state: UnitState
    run: str | None = None
    why: str | None = None
    evidence: tuple[str, ...] = ()  # the last lines of what was said where it failed
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitEnd:
    """How a load ended. `run` is the deployment's own run folder: plan, checks, logs."""

    visit: str  # its id
    state: VisitState
    run: str | None = None
    why: str | None = None
    evidence: tuple[str, ...] = ()  # the last lines of what the engine said
    load_s: float | None = None
    checks: tuple[CardCheck, ...] = ()
    freed: tuple[FreedCheck, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A contestant that is clearly beaten, and not measured any further. `by` is who beats it."""

    contestant: str  # who
    by: str
    why: str
    after_block: int  # the last one that it was measured in


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A condition that is not what it was when the campaign began: `visit` is the first one measured under it.

    `again`: what had been measured before is measured anew; else both stand, and the report names them.
    """

    visit: str
    condition: str  # in words
    before: str | None  # as it was
    now: str | None  # as it is
    again: tuple[str, ...] = ()  # visits that are measured anew


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignState:
    """What the journal says. A unit that is measured anew has its last end here."""

    campaign: Campaign
    schedule: Schedule
    ends: dict[str, UnitEnd] = field(default_factory=dict)  # unit -> its end
    visit_ends: dict[str, VisitEnd] = field(default_factory=dict)  # visit -> its end
    dropped: tuple[Dropped, ...] = ()
    changed: tuple[Changed, ...] = ()
    resumed: tuple[datetime, ...] = ()
    spent_s: float = 0.0  # measuring and loading, pauses between sessions left out

    @property
    def left(self) -> tuple[Visit, ...]:
        """Visits that are still to be made, in order, the one that was cut included."""
        gone = {one.contestant for one in self.dropped}
        return tuple(v for v in self.schedule.visits if v.id not in self.visit_ends and v.contestant not in gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStatus:
    """`evener compare --status`: where a campaign stands, read from its journal and, while it goes on, its session."""

    id: str
    name: str
    state: Literal["running", "stopped", "complete"]
    units: int  # all that were asked for
    done: int  # that have figures, partial ones too
    failed: int  # that ended with a reason and no figures
    skipped: int  # that will not be measured any more
    visit: str | None = None  # that is under way, or was cut
    unit: str | None = None
    since: datetime | None = None  # when that unit began
    minutes_left: float | None = None  # from what the units took so far; from the prediction before there is any
    dropped: tuple[Dropped, ...] = ()  # who is clearly beaten
    last: str | None = None  # the last news, in one line


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRun:
    """One run of a campaign as a report needs it: which unit it was, its run.json and its summary.

    `files` are what its folder holds, by name: a report leads there.
    """

    unit: str
    run: Run
    summary: Summary | None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignData:
    """A campaign's folder, read. `loads` maps a visit to the run of its deployment."""

    id: str
    state: CampaignState
    started_at: datetime
    ended_at: datetime | None
    partial: str | None
    conditions: Conditions
    units: dict[str, CampaignRun] = field(default_factory=dict)  # unit -> its run
    loads: dict[str, CampaignRun] = field(default_factory=dict)  # visit -> its deployment's run
