"""What would be different: points of a sweep, cells of a grid, models that fit. Field names are the JSON contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evener.records.plan import CandidateKind, Plan, Value, Workload

Answer = Literal["one machine", "several machines", "with main memory", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What one person does with a model. All figures are assumptions; `why` gives the reasons."""

    name: str
    prompt_tokens: int  # of one request, what is shared included
    output_tokens: int  # of one answer
    shared_prefix_tokens: int  # of the prompt, what the server has in its cache already
    think_s: float  # between an answer and the next request
    ttft_limit_s: float  # the longest wait for the first token that people accept
    tpot_limit_ms: float  # the longest time per token after it that people accept
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seats:
    """How many people are how many parallel sequences: `users` is the mean and two standard deviations."""

    profile: Profile  # what they do
    people: int
    answer_s: float  # one answer at the profile's limits
    mean: float  # of the people, how many wait for an answer at one moment, on average
    users: int  # parallel sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a layout costs, and the assumptions behind it. A member is None where a price or a speed is not known."""

    currency: str  # of every amount here
    hardware: float | None  # prices of the cards that it uses
    cards_without_price: tuple[str, ...]  # why the hardware is unknown
    watts: float | None  # while it answers
    per_seat: float | None  # hardware per person, or per user where no people were named
    energy_per_million_tokens: float | None  # of its cards
    hardware_per_million_tokens: float | None  # what its cards lose in value over their life
    per_million_tokens: float | None  # both
    assumptions: tuple[str, ...]  # behind these figures, in sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One question and its answer in short.

    `changes` says what was asked: option to value. `answer` is how many machines it takes at least, on their cards
    alone. What is tight would not fit with 5 % of each card kept free. `quick` is whether each user gets the tokens
    per second that the profile asks for, 10 without one.
    """

    changes: dict[str, str]
    workload: Workload
    model: str
    quantisation: str
    file_bytes: int
    parameters: int
    active_parameters: int | None
    answer: Answer
    choice: str | None  # the layout to take: the speeds are its own
    hosts: tuple[str, ...]  # of the choice
    fewest_hosts: tuple[str, ...]  # of the layout on the fewest machines
    fewest_tight: bool  # whether that layout is tight
    kind: CandidateKind
    needs_bytes: int | None  # on all cards of the choice
    short_bytes: int  # what is missing on the nearest candidate, 0 when it fits
    full: float | None  # what the choice takes of all that its hosts offer
    tight: bool  # whether the choice is tight
    quick: bool | None
    decode_tokens_per_s: Value | None  # of one user alone
    users_tokens_per_s: Value | None  # of all users together
    prefill_tokens_per_s: Value | None
    seats: Seats | None = None  # where people were named
    cost: Cost | None = None  # of the choice
    estimate: str | None = None  # why the sizes are an estimate, None when they are the file's own
    depth: int | None = None  # tokens that each sequence has seen already at these speeds, None without any
    fault: str | None = None  # why there is no answer, in one line


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """`evener plan --sweep`, `--grid`, `--quant any`, and `evener plan` without a model."""

    kind: Literal["sweep", "grid", "quantisations", "models"]
    rig: str | None  # the rig file
    axes: dict[str, tuple[str, ...]]  # what was varied, and its values
    points: tuple[Point, ...]  # a row each
    notes: tuple[str, ...] = ()  # what is assumed, and how the rows are ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer(Plan):
    """`evener plan --json`: the plan, and what was asked around it.

    `changes` holds the what-if options that were given. `costs` is by candidate, for those that fit; empty where nobody
    named a price. `notes` say what is assumed.
    """

    changes: dict[str, str]
    seats: Seats | None  # where people were named
    costs: dict[str, Cost]
    notes: tuple[str, ...]
