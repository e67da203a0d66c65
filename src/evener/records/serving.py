"""The door: one URL for a team. Who may enter, what is behind it, and what each person used."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evener.records.deployment import Deployment

BehindState = Literal["starting", "ready", "draining", "paused", "restarting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLimits:
    """What one person may use; None is no limit. `tokens_per_day` counts prompts and answers, by UTC days."""

    parallel: int | None = None  # requests at once, waiting ones not counted
    requests_per_minute: int | None = None  # more are refused
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a key. Only its hash is kept: keys are 256 random bits, so nothing can be guessed from it.

    `key_hint` is the key's first characters, which tell two keys apart in a list and open nothing.
    """

    name: str  # as usage tells it
    key_sha256: str  # the hash, in hexadecimal
    key_hint: str
    added_at: datetime  # the key was given
    revoked_at: datetime | None = None  # it opens nothing since; null while it does
    limits: PersonLimits = field(default_factory=PersonLimits)  # what this person may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one person used on one day (UTC). No prompt and no answer is kept anywhere.

    Tokens are those that the engine counted. Of an answer that broke off, each event that had come is an output token.
    """

    person: str  # the name
    day: str  # YYYY-MM-DD
    requests: int = 0  # that came, whatever became of them
    failures: int = 0  # answers with a status of 500 and more, and streams that broke off
    refused: int = 0  # turned away: a limit, or no room in the queue
    prompt_tokens: int = 0  # of answered requests, cached ones included
    output_tokens: int = 0  # of the answers
    uncounted: int = 0  # requests that an engine worked for and gave no count of, hung up on or broken off mostly
    seconds: float = 0.0  # from the request's arrival to the last byte of its answer, waiting included
    waited_s: float = 0.0  # of these, in the queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """One deployment behind the door, as it is now."""

    name: str
    model: str  # as requests name it
    layout: str  # the candidate's name
    hosts: tuple[str, ...]  # that it uses
    state: BehindState  # as it is now
    url: str | None  # of its own server; None while it has none
    slots: int  # requests that it answers at once
    context: int  # tokens that each of them has
    busy: int = 0  # requests in flight there
    restarts: int = 0  # deaths since the door opened
    since: datetime | None = None  # in this state
    why: str | None = None  # the last death, or why it is not ready


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorStatus:
    """The whole, as `evener status` and the metrics tell it."""

    url: str  # without /v1
    since: datetime  # it is open
    behind: tuple[Behind, ...]  # the deployments
    waiting: int  # requests in the queue
    waiting_by_person: dict[str, int]  # of these, each person's
    in_flight_by_person: dict[str, int]  # requests that are being answered
    answered: int  # requests since it opened
    failed: int  # of these, with a status of 500 and more, or a stream that broke
    refused: int  # turned away: no key, a limit, or no room
    people: int  # who may enter; 0: no key is asked for, and only this machine is heard
    restarts: int  # deaths of all deployments
    tokens_per_s: float | None = None  # made in the last second by all; None while nobody counts


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
