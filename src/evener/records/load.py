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
# cold: every prompt begins with another token and the server is told not to use its cache; warm: prompts share a
# beginning, and the cache is used.
Mode = Literal["cold", "warm"]
# closed: each user sends when the former answer has ended. The others send by the clock, whatever has been answered.
Arrivals = Literal["closed", "constant", "poisson", "replay"]
Comfort = Literal["yes", "no", "unresolved"]
# A percentile of all requests, of which the failed ones never end: "never" where it lies among those, since JSON has
# no infinity; None where n is too small for it.
Percentile = float | Literal["never"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the client saw it. Times are seconds after `sent_s`, which counts from the start of the run.

    TTFT is the first chunk that carries a generated token. `tokens` is the server's count; when it said nothing,
    the chunk count with `tokens_estimated`. `first_chunk_tokens` is None where nobody said how many it carried.
    `failure` is None for a completed request. `chunks` are stream events that carried tokens, `arrivals` the reads
    that brought them: several chunks in one read say nothing about the time between them. `token_times` holds, per
    arrival, its time and the tokens credited to it; in a run folder they have a file of their own, `TokenTimes`.
    `notes` are oddities that do not make it a failure.
    `warm_up` marks what was sent for the load's sake, before a level's measured requests and beside the last of them:
    its tokens count in totals by time, and it enters no percentile.
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
    turn: int = 0  # in its conversation, from 0
    part: int = 0  # of the run: 0 before it was first resumed
    given_up: bool = False  # a warm-up that the client ended when its level was over; its tokens are chunks
    long: bool = False  # the long prompt of a mixed load
    late_s: float | None = None  # how long after it was due it was sent, where requests are sent by the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTimes:
    """When the tokens of one request came: longer than all else that is known of it, and apart for that.

    Written before the row itself: times without a row, and rows without times, are what a crash has left.
    """

    row: int  # of requests.jsonl, from 0 on
    at_s: tuple[float, ...]  # per arrival, seconds after `sent_s`
    tokens: tuple[float, ...]  # per arrival, the tokens credited to it


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution with its company. `interval` is the 95 % interval of the median, None where n is too small.

    `p90` is None below n = 29, and `p95` below n = 59: no 95 % order-statistic bound exists there.
    """

    n: int
    mean: float | None
    p50: float | None
    p90: float | None
    interval: tuple[float, float] | None
    unit: str
    p90_interval: tuple[float, float] | None = None
    most: float | None = None  # the greatest value
    p95: float | None = None
    p95_interval: tuple[float, float] | None = None  # 95 % interval of the 95th percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """Percentiles over all requests that were measured, the failed ones counted as waiting for ever.

    A percentile that lies among the failed ones is "never"; one that n is too small for is null, as in a spread.
    """

    n: int  # all of them
    failed: int  # of these
    p50: Percentile
    p90: Percentile  # None below n = 29
    p95: Percentile  # None below n = 59
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What people accept, in milliseconds: the wait for the first token, and the time per token after it."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestShare:
    """A share of requests. `interval` covers it with 95 % (docs/decisions/0016)."""

    met: int  # requests that it is about
    of: int  # all of them, failed ones too
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Whether all users got the same. A user's rate is its tokens / the time it spent waiting and reading."""

    users: int  # with at least one measured request
    jain: float  # Jain's index: 1 when all rates are equal, 1/users when one user has everything
    slowest_to_median: float  # the slowest user's rate / the median user's


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """Parallel sequences as this client saw them: requests that were sent and had not ended, within the window."""

    mean: float  # over the window
    peak: int  # the most at one moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What the server said of its slots while a level was measured. A member is None where it does not say."""

    source: Literal["metrics", "slots"]  # /metrics, else /slots
    polls: int  # answers that were read
    deferred_mean: float | None  # requests that waited for a slot, over the polls
    deferred_most: int | None  # of these, the most at one poll
    busy_slots: float | None  # slots that decoded together, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """How much of the prompts came from the server's cache, and what that was worth."""

    hits: int  # requests that found part of their prompt there
    of: int  # completed requests for which the server said
    cached_tokens: int  # found there
    prompt_tokens: int  # of all those requests
    ttft_hit_ms: Spread  # of the hits
    ttft_miss_ms: Spread  # of the others


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoop:
    """Requests sent by the clock, whatever had been answered by then."""

    rate_asked_per_s: float | None  # None for a replay by its own times
    rate_per_s: float | None  # as sent
    most_in_flight: int  # the client's own cap: what is due beyond it waits at the client
    late: int  # measured requests that the cap held back
    latest_s: float  # the longest that one of them was held back


@dataclass(frozen=True, slots=True, kw_only=True)
class LongArrival:
    """One long prompt that arrived while others decoded."""

    ttft_ms: float | None  # its own
    worst_stall_ms: float | None  # the longest gap between arrivals of any other stream until its first token
    usual_gap_ms: float | None  # the median gap of the other streams before it came
    prompt_tokens: int | None  # as the server counted it
    failure: FailureClass | None = None  # None when it was answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Users who decode while one long prompt arrives, several times."""

    users: int  # who decode; the long prompt is one more, and has a slot
    prompt_tokens_asked: int  # of the long prompt
    arrivals: tuple[LongArrival, ...]  # one per repeat
    worst_stall_ms: Spread  # over the arrivals
    usual_gap_ms: Spread  # over the arrivals
    ttft_ms: Spread  # of the long prompts
    limited_by: str | None = None  # why the long prompt is shorter than was asked
    users_asked: int | None = None  # more than there are slots for, beside the long prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Comfortable:
    """For how many it is good: the largest count that holds, with all smaller ones, at these limits.

    A count holds when the lower end of the 95 % interval of its share within the limits is at least the target.
    """

    unit: Literal["people", "users"]  # what is counted
    limits: Limits  # what people accept
    target_share: float  # of the requests, which must be within the limits
    holds_for: int | None  # None when not even the smallest count is known to hold
    unresolved_at: int | None  # the next greater count when n cannot decide it
    requests_needed: int | None  # how many requests would decide it at the share seen; None when none would
    fails_at: int | None  # the next greater count when it does not hold
    sentence: str  # all of this in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How the measured requests of one level ended; warm-up requests are not among them."""

    completed: int
    errored: int
    invalid: int
    by_class: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One user count of a closed loop. Speeds in tokens per second; `total_tokens_per_s` credits tokens by time.

    `users` are those who send; in an open loop it is the most in flight. Where they are people, who think and read,
    `people` is the same count, and `in_flight` says how many parallel sequences they were.
    """

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
    requests_per_s: float | None = None  # completed, of all that ended in the window; None when it was cut short
    goodput: float | None = None  # requests per second that met the limits, of all that ended in the window
    degradation: float | None = None  # per-user rate here / at one user
    note: str | None = None
    batch_ratio: float | None = None  # arrivals / tokens: below 0.9 the gaps are between batches, not tokens
    prompt_tokens: tuple[int, int] | None = None  # least and most, as the server counted them
    output_tokens: tuple[int, int] | None = None
    mode: Mode = "cold"  # levels of different modes are never compared
    ttfa_ms: Spread | None = None  # time to the first answer token, of requests that have one
    connect_ms: Spread | None = None  # of requests that opened a connection; part of no other figure
    adjusted_ttft_ms: Adjusted | None = None  # failed requests count as waiting for ever
    adjusted_tpot_ms: Adjusted | None = None  # the same
    within_limits: RequestShare | None = None  # measured requests that met the limits
    comfort: Comfort | None = None  # whether the share within limits is above the target; None without limits
    fairness: Fairness | None = None  # None in an open loop
    in_flight: InFlight | None = None  # parallel sequences
    queue: Queue | None = None  # None when the server does not say
    cache: CacheUse | None = None  # None when the server counts no cached tokens
    open_loop: OpenLoop | None = None  # None in a closed loop
    worst_stall_ms: float | None = None  # the longest gap between arrivals of any one stream
    part: int = 0  # of the run in which it was measured


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
    prompt_tokens_asked: int | None  # None for recorded prompts: their lengths are their own
    output_tokens_asked: int
    levels: tuple[Level, ...]
    client: ClientCost
    validity: str = "valid"
    label: str | None = None  # e.g. the layout that was measured
    partial: str | None = None
    notes: tuple[str, ...] = ()
    mode: Mode = "cold"  # results of different modes are never compared
    arrivals: Arrivals = "closed"  # when requests are sent: when an answer has ended, or by the clock
    profile: str | None = None  # what the people do, by name
    people: bool = False  # whether the levels count people, who think and read
    turns: int = 1  # requests per conversation
    think_s: float = 0.0  # between an answer and the same user's next request, on average
    shared_prefix_tokens: int = 0  # at the beginning of every prompt, the same for all
    limits: Limits | None = None  # what people accept
    comfortable: Comfortable | None = None  # None without limits
    mixed: Mixed | None = None  # None unless it was asked for
    kv_exhausted_from: int | None = None  # the fewest users whose requests were ended because the KV pool ran full
