"""Requests of a load test and what they add up to. Definitions: docs/reference/metrics.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FailureClass = Literal[
    "server_error_in_stream",
    "connection_cut",
    "no_token",
    "timeout",
    "context_exceeded",
    "kv_exhausted",
    "http_error",
    "model_loading",
    "client_invalid",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the client saw it. Times are seconds after `sent_s`, which counts from the start of the run.

    TTFT is the first chunk that carries a generated token. `tokens` is the server's count; when it said nothing,
    the chunk count with `tokens_estimated`. `first_chunk_tokens` is None where nobody said how many it carried.
    `failure` is None for a completed request. `chunks` are stream events that carried tokens, `arrivals` the reads
    that brought them: several chunks in one read say nothing about the time between them. `token_times` holds, per
    arrival, its time and the tokens credited to it. `notes` are oddities that do not make it a failure.
    """

    id: int
    layout: str | None = None  # which of a run's layouts it went to
    users: int
    user: int
    sent_s: float
    ttft_s: float | None = None
    ttfa_s: float | None = None
    last_token_s: float | None = None
    end_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: int | None = None
    tokens_estimated: bool = False
    chunks: int = 0
    reasoning_chunks: int = 0
    arrivals: int = 0
    first_chunk_tokens: int | None = None
    finish_reason: str | None = None
    failure: FailureClass | None = None
    detail: str | None = None
    warm_up: bool = False
    server_prompt_ms: float | None = None
    server_predicted_ms: float | None = None
    server_prompt_tokens: int | None = None  # processed, without the cache
    connect_s: float | None = None  # None when an open connection was used; never part of TTFT
    retried: bool = False  # a reused connection was closed before any byte came back
    token_times: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution with its company. `interval` is the 95 % interval of the median, None where n is too small.

    `p90` is None below n = 29: no 95 % order-statistic bound exists there.
    """

    n: int
    mean: float | None
    p50: float | None
    p90: float | None
    interval: tuple[float, float] | None
    unit: str
    p90_interval: tuple[float, float] | None = None
    most: float | None = None  # the greatest value


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How the measured requests of one level ended; warm-up requests are not among them."""

    completed: int
    errored: int
    invalid: int
    by_class: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One user count of a closed loop. Speeds in tokens per second; `total_tokens_per_s` credits tokens by time."""

    users: int
    requests: Counts
    ttft_ms: Spread
    tpot_ms: Spread
    itl_ms: Spread
    per_user_tokens_per_s: Spread
    total_tokens_per_s: float | None
    prefill_tokens_per_s: Spread | None
    duration_s: float
    people: int | None = None
    goodput: float | None = None
    degradation: float | None = None  # per-user rate here / at one user
    note: str | None = None
    batch_ratio: float | None = None  # arrivals / tokens: below 0.9 the gaps are between batches, not tokens
    prompt_tokens: tuple[int, int] | None = None  # least and most, as the server counted them
    output_tokens: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCost:
    """What measuring cost, on this machine. `lag_p95_ms` is how late the event loop woke up."""

    cpu_s: float
    added_ttft_ms: float | None = None
    saturated: bool | None = None
    lag_p95_ms: float | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersResult:
    """The answer of `bench users`. `validity` is "valid" or the reason why the figures must not be used.

    `partial` says why levels are missing or short, `notes` what a reader must know to use the figures.
    """

    url: str
    model: str | None
    prompt_tokens_asked: int
    output_tokens_asked: int
    levels: tuple[Level, ...]
    client: ClientCost
    validity: str = "valid"
    label: str | None = None  # e.g. the layout that was measured
    partial: str | None = None
    notes: tuple[str, ...] = ()
