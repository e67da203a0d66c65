"""What `bench context` found: how long a prompt may be, by four ceilings, and what happens on the way there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evener.records.load import ClientCost
from evener.records.speed_rows import Repeated

CeilingName = Literal["trained", "configured", "memory", "quality"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One limit of the context, in tokens of one sequence. `tokens` is None where nobody knows; `why` says so.

    `at_least`: nothing failed up to there, so the limit itself lies higher or there.
    """

    name: CeilingName
    tokens: int | None
    why: str  # how it is known: the header, /props, a prediction, loads, or which length failed
    at_least: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Questions with one right answer each, judged by code. `interval` is the share's at 95 %, None for n = 0."""

    n: int
    right: int  # answered rightly
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthScored:
    """Needles at one place of the prompt."""

    depth: float  # 0 is the beginning of the prompt, 1 its end
    scored: Scored  # of that place alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLength:
    """One prompt length. `tokens` is what was asked for, answer excluded; the server's own tokenizer counted it.

    `truncated` says that the server worked on fewer tokens than were sent without saying so; None where it does not
    tell. Requests that failed are in `by_class` and in no score.
    """

    tokens: int
    prompt_tokens: tuple[int, int] | None  # as the server counted them: least and most
    needles: Scored  # one fact in a long text, asked for; all places together
    depths: tuple[DepthScored, ...]  # the same needles, place by place
    reasoning: Scored  # several facts far apart that must be put together
    ttft_ms: Repeated
    prefill_tokens_per_s: Repeated
    decode_tokens_per_s: Repeated
    truncated: bool | None = None
    by_class: dict[str, int] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """One context that was really loaded, verified, and taken down again."""

    context: int  # tokens per user
    held: bool  # loaded and verified
    load_s: float | None = None
    why: str | None = None  # why it was not held


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResult:
    """The answer of `bench context`. `validity` is "valid" or the reason why the figures must not be used.

    All of it holds under one allocation: `allocation` says which.
    """

    url: str
    model: str | None
    allocation: str
    ceilings: tuple[Ceiling, ...]  # trained, configured, memory, quality
    binding: CeilingName | None  # the lowest of those that are known
    sentence: str
    lengths: tuple[ContextLength, ...]  # the shortest first
    client: ClientCost
    reloads: tuple[Reload, ...] = ()  # contexts really loaded, with `--reload`
    rtt_ms: float | None = None  # median time of a small question on an open connection; taken off each TTFT
    label: str | None = None  # the layout that was measured
    validity: str = "valid"
    partial: str | None = None  # why lengths or loads are missing
    notes: tuple[str, ...] = ()
