"""What users of one server do to each other: how many run at once, who gets less, who stalls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from statistics import median

from evener.records.load import Fairness, InFlight, Request

SHARED_TOKENS = 64  # a chat template's own beginning may come from a cache; more than that is the prompt


def in_flight(requests: Iterable[Request], window: tuple[float, float]) -> InFlight:
    """Requests that had been sent and had not ended, over the window (seconds of the run)."""
    start, end = window
    spans = [
        (max(start, r.sent_s), min(end, r.sent_s + r.end_s))
        for r in requests
        if r.end_s is not None and r.sent_s < end and r.sent_s + r.end_s > start
    ]
    # One that ends at the very moment another is sent was not beside it: -1 sorts before +1.
    steps = sorted([(since, 1) for since, _ in spans] + [(until, -1) for _, until in spans])
    return InFlight(
        mean=sum(until - since for since, until in spans) / (end - start),
        peak=max(accumulate(step for _, step in steps), default=0),
    )


def fairness(measured: Iterable[Request]) -> Fairness | None:
    """Over users; None for fewer than two. A user's rate: tokens of its answers / time from sending to their ends.

    Time spent on a request that failed counts, and its tokens do not. Jain, Chiu & Hawe 1984: (sum x)^2 / (n sum x^2).
    """
    tokens: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for request in measured:
        got = request.tokens or 0 if request.failure is None else 0
        tokens[request.user] = tokens.get(request.user, 0) + got
        seconds[request.user] = seconds.get(request.user, 0) + (request.end_s or 0.0)
    rates = [tokens[user] / seconds[user] for user in tokens if seconds[user] > 0]
    if len(rates) < 2 or not median(rates):
        return None
    return Fairness(
        users=len(rates),
        jain=sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)),
        slowest_to_median=min(rates) / median(rates),
    )


def is_cache_hit(request: Request) -> bool:
    """Whether part of its prompt, and not only the template's beginning, came from the server's cache."""
    prompt = request.prompt_tokens or 0
    return (request.cached_tokens or 0) > min(SHARED_TOKENS, prompt // 2)


def gaps_s(request: Request) -> list[float]:
    """Seconds between the reads that brought tokens."""
    return [after - before for (before, _), (after, _) in pairwise(request.token_times)]


def worst_stall_ms(requests: Iterable[Request]) -> float | None:
    """The longest gap of any one stream."""
    longest = max((gap for request in requests for gap in gaps_s(request)), default=None)
    return None if longest is None else longest * 1e3


def usual_gap_s(requests: Sequence[Request], *, between: tuple[float, float]) -> float | None:
    """The median gap of streams, of gaps that lie within that time of the run."""
    start, end = between
    found = [gap for r in requests for at, gap in placed_gaps(r) if start <= at - gap and at <= end]
    return median(found) if found else None


def placed_gaps(request: Request) -> list[tuple[float, float]]:
    """(when it ended, in seconds of the run; how long it was), per gap."""
    return [(request.sent_s + after, after - before) for (before, _), (after, _) in pairwise(request.token_times)]
