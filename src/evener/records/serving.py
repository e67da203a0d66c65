"""The door: one URL for a team. Who may enter, what is behind it, and what each person used."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evener.records.deployment import Deployment

BehindState = Literal["starting", "ready", "draining", "paused", "restarting", "given up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLimits:
    """What one person may use; None is no limit. `tokens_per_day` counts prompts and answers, by UTC days."""

    parallel: int | None = None  # requests at once, waiting ones not counted
    requests_per_minute: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a key. Only its hash is kept: keys are 256 random bits, so nothing can be guessed from it.

    `key_hint` is the key's first characters, which tell two keys apart in a list and open nothing.
    """

    name: str
    key_sha256: str
    key_hint: str
    added_at: datetime
    revoked_at: datetime | None = None
    limits: PersonLimits = field(default_factory=PersonLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one person used on one day (UTC). No prompt and no answer is kept anywhere.

    Tokens are those that the engine counted; `uncounted` answers came without a count.
    """

    person: str
    day: str  # YYYY-MM-DD
    requests: int = 0
    failures: int = 0  # answers with a status of 500 and more, and streams that broke off
    refused: int = 0  # turned away: a limit, or no room in the queue
    prompt_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    seconds: float = 0.0  # from the request's arrival to the last byte of its answer, waiting included
    waited_s: float = 0.0  # of these, in the queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """One deployment behind the door, as it is now."""

    name: str
    model: str  # as requests name it
    layout: str
    hosts: tuple[str, ...]
    state: BehindState
    url: str | None  # of its own server; None while it has none
    slots: int  # requests that it answers at once
    context: int  # tokens that each of them has
    busy: int = 0  # requests in flight there
    restarts: int = 0
    since: datetime | None = None  # in this state
    why: str | None = None  # the last death, or why it is not ready


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorStatus:
    """The whole, as `evener status` and the metrics tell it."""

    url: str
    since: datetime
    behind: tuple[Behind, ...]
    waiting: int  # requests in the queue
    waiting_by_person: dict[str, int]
    in_flight_by_person: dict[str, int]
    answered: int  # since the start
    failed: int
    refused: int
    people: int  # who may enter; 0: no key is asked for, and only this machine is heard
    restarts: int
    tokens_per_s: float | None = None  # of all answers, over the last minute; None while nobody counted any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyToUse:
    """What a person needs to know of one model behind the door."""

    name: str  # the deployment's
    model: str  # what to put into requests
    context: int  # tokens that each request has, its answer included
    slots: int  # requests answered at once; more of them wait
    thinking: str | None  # what a short answer began with, when nobody asked for a mode; None: not known
    good_for: str | None  # how many people it was measured good for, in words; None: never measured as it is
    run: str | None = None  # the run folder's id of that measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNow:
    """The answer of `evener status --json`."""

    door: DoorStatus | None  # what `evener serve` opened; None while there is none
    deployments: tuple[Deployment, ...]  # what `evener up` brought up, those included that have failed
