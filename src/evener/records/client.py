"""What the load client itself adds to what it measures, on one machine at one user count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMachine:
    """What a check of the client holds for. `machine` is a digest of the machine's id, never the id itself."""

    machine: str
    cpu: str | None  # the processor's name
    threads: int | None  # that this process may use
    python: str  # its version
    evener: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCheck:
    """The client against a server of its own whose token times are known, `users` streams at once.

    Added TTFT is what the client reports less what the server did, per request: the way through two sockets and the
    client's own lateness. `fault` says in one line why figures taken at this user count must not be used.
    """

    users: int  # streams at once
    requests: int  # whose times were compared
    added_ttft_ms: float  # mean
    added_ttft_p95_ms: float | None  # None below 59 requests
    added_ttft_most_ms: float  # the greatest
    itl_error_percent: float  # mean, of the time between tokens
    cpu_share: float  # of one core, while it measured
    lag_p95_ms: float | None  # how late the event loop woke up
    saturated: bool
    fault: str | None = None
    machine: ClientMachine  # what it holds for
    taken_at: datetime
