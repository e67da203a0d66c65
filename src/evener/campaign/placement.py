"""What the plan answers about one contestant in one layout, which a schedule is made of. Computes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from evener.records.plan import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One load that somebody may want: `layout` as the file says it, or a machine that another is held against."""

    contestant: str
    layout: str
    cable: str | None
    context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The plan's answer to a wish. A figure is None where nobody can predict it.

    `devices` say what is where: two candidates that have the same are one load. `baseline` is the layout of the one
    machine that it has to be held against, None for one machine. `copies` are the layouts that the copies of a replica
    have, each on its own.
    """

    candidate: str | None  # the plan's name, None when it does not fit
    hosts: tuple[str, ...] = ()
    devices: tuple[tuple[str, str, int], ...] = ()  # host, card, layers: of those that hold some, in the engine's order
    why_not: str | None = None
    baseline: str | None = None
    copies: tuple[str, ...] = ()
    load_s: float | None = None
    decode: Value | None = None  # tokens per second of one user
    users_tokens_per_s: float | None = None  # of all that the load makes room for
    prefill_tokens_per_s: float | None = None
    fullest: float | None = None  # share of the fullest card
    cards_bytes: int | None = None  # on all cards together


AS_IT_RUNS = Placement(candidate=None)  # a server that runs already: nothing is predicted of it
