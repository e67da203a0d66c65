"""One measured thing: what `run.json` and `summary.json` of a run folder hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from evener.records.card import Scan
from evener.records.conditions import Conditions
from evener.records.context_limits import ContextResult
from evener.records.evaluation import EvalResult
from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.plan import Plan
from evener.records.rig import Rig
from evener.records.speed_rows import SpeedResult
from evener.records.telemetry import Cooled, Drift, Telemetry
from evener.records.verification import CardCheck, FreedCheck

# 1: the times of tokens stand in the rows of requests.jsonl; 2: in token_times.jsonl.
# Each has a small real run in tests/captures/runs, for ever.
SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`run.json`: written first; only its schema is ever raised, when a newer evener goes on with the run."""

    id: str
    what: str  # "demo", "up", "users"
    started_at: datetime
    conditions: Conditions
    plan: Plan | None = None
    rig: Rig | None = None
    scan: Scan | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One layout of a run, from load to freed memory. `layout` is the candidate's name."""

    layout: str
    load_s: float | None = None
    checks: tuple[CardCheck, ...] = ()
    users: UsersResult | None = None
    freed: tuple[FreedCheck, ...] = ()
    telemetry: Telemetry | None = None  # what its hosts did meanwhile; each second of it is in telemetry.jsonl
    drift: Drift | None = None  # of a sustained load
    cooled: tuple[Cooled, ...] = ()  # waits before repeats
    speed: SpeedResult | None = None  # of `bench speed`
    context: ContextResult | None = None  # of `bench context`
    evaluation: EvalResult | None = None  # of `eval`


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """`summary.json`: written last; its presence means the run is complete. `partial` marks an interrupted one."""

    ended_at: datetime
    stages: tuple[Stage, ...] = field(default=())
    partial: str | None = None
    pair: PairResult | None = None  # of `bench pair`
    schema: int = SCHEMA
