"""Requests to levels and to the answer of `bench users`. Pure: the same requests always give the same figures.

Definitions: docs/reference/metrics.md. Failed requests are counted by class and enter no percentile and no total, but
for the adjusted percentiles, in which they never end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evener.bench.limits import comfort, comfortable, meets, share
from evener.bench.load import Load
from evener.bench.mixed import mixed_result
from evener.bench.notes import level_notes, mixed_notes, result_notes
from evener.bench.probe import Server
from evener.bench.sharing import fairness, gaps_s, in_flight, is_cache_hit, worst_stall_ms
from evener.bench.spreads import adjusted, spread
from evener.records.load import (
    CacheUse,
    ClientCost,
    Counts,
    Level,
    Limits,
    OpenLoop,
    Queue,
    Request,
    Spread,
    UsersResult,
)

LATE_FROM_S = 0.1  # a request sent by the clock is late from here; less is the grain of a busy machine
PLAIN = Load()


def decode_rate(request: Request) -> float | None:
    """(N - n_first) / (t_last - t_first), tokens per second. None for an answer that came in one piece.

    Where nobody said how many tokens the first read brought, it is taken to be an average one.
    """
    if request.ttft_s is None or request.last_token_s is None or not request.tokens or not request.arrivals:
        return None
    tokens = request.tokens - (request.first_chunk_tokens or request.tokens / request.arrivals)
    seconds = request.last_token_s - request.ttft_s
    return tokens / seconds if tokens > 0 and seconds > 0 else None


def tpot_ms(request: Request) -> float | None:
    """Time per token after the first, the inverse of the decode rate."""
    rate = decode_rate(request)
    return 1e3 / rate if rate else None


def window(measured: Iterable[Request]) -> tuple[float, float] | None:
    """From the first measured request to the end of the last, in seconds of the run. Everybody is busy all the time:
    who has no measured request any more goes on with others."""
    spans = [(r.sent_s, r.sent_s + (r.end_s or 0.0)) for r in measured]
    start, end = min((s for s, _ in spans), default=0.0), max((e for _, e in spans), default=0.0)
    return (start, end) if end > start else None


def total_rate(requests: Iterable[Request], busy: tuple[float, float]) -> float:
    """Tokens per second of all users within the window: each token counts when it arrived, warm-ups included.

    Of a request that was given up nobody has counted the tokens: its reads count as many as others' reads brought.
    """
    good = [r for r in requests if r.failure is None and _overlaps(r, busy)]
    per_read = _tokens_per_read(good)
    tokens = 0.0
    for request in good:
        worth = per_read if request.given_up else 1.0
        came = sum(credit for at_s, credit in request.token_times if _within(request.sent_s + at_s, busy))
        tokens += came * worth
    return tokens / (busy[1] - busy[0])


def _tokens_per_read(requests: Iterable[Request]) -> float:
    whole = [r for r in requests if not r.given_up and r.tokens and r.chunks]
    return sum(r.tokens or 0 for r in whole) / sum(r.chunks for r in whole) if whole else 1.0


def _overlaps(request: Request, busy: tuple[float, float]) -> bool:
    return request.sent_s <= busy[1] and request.sent_s + (request.end_s or 0.0) >= busy[0]


def _within(at_s: float, busy: tuple[float, float]) -> bool:
    return busy[0] <= at_s <= busy[1]


def level(users: int, requests: Sequence[Request], *, asked: int, load: Load = PLAIN) -> Level:
    """One user count, of all requests of the run: what was sent at other counts may have run beside.

    `asked` is the number of measured requests; with fewer the level was cut short.
    """
    measured = [r for r in requests if r.users == users and not r.warm_up]
    done = done_at(measured, users)
    failed = len(measured) - len(done)
    busy = window(measured)
    rates = _known(map(decode_rate, done))
    ttfts, tpots = [r.ttft_s * 1e3 for r in done if r.ttft_s is not None], _known(map(tpot_ms, done))
    whole = len(measured) >= asked
    here = Level(
        users=users,
        people=users if load.people else None,
        mode=load.mode,
        requests=counts(measured),
        ttft_ms=spread(ttfts, "ms"),
        ttfa_ms=spread((r.ttfa_s * 1e3 for r in done if r.ttfa_s is not None), "ms"),
        tpot_ms=spread(tpots, "ms"),
        itl_ms=spread((gap * 1e3 for r in done for gap in gaps_s(r)), "ms", independent=False),
        per_user_tokens_per_s=spread(rates, "tok/s"),
        total_tokens_per_s=total_rate(requests, busy) if whole and done and busy else None,
        requests_per_s=len(_ended_in(busy, requests)) / (busy[1] - busy[0]) if whole and done and busy else None,
        prefill_tokens_per_s=_prefill(done),
        connect_ms=spread((r.connect_s * 1e3 for r in measured if r.connect_s is not None), "ms"),
        adjusted_ttft_ms=adjusted(ttfts, failed=failed, unit="ms"),
        adjusted_tpot_ms=adjusted(tpots, failed=failed, unit="ms"),
        duration_s=busy[1] - busy[0] if busy else 0.0,
        batch_ratio=_ratio(sum(r.arrivals for r in done), sum(r.tokens or 0 for r in done)),
        prompt_tokens=_range(r.prompt_tokens for r in done),
        output_tokens=_range(r.tokens for r in done),
        fairness=fairness(measured) if load.arrivals == "closed" else None,
        in_flight=in_flight(requests, busy) if busy else None,
        cache=_cache(done),
        open_loop=_open_loop(measured, load) if load.arrivals != "closed" else None,
        worst_stall_ms=worst_stall_ms(done),
        part=max((r.part for r in measured), default=0),
    )
    return replace(here, **_against_limits(load, requests, measured, busy, whole=whole)) if load.limits else here


def _against_limits(
    load: Load,
    requests: Iterable[Request],
    measured: Sequence[Request],
    busy: tuple[float, float] | None,
    *,
    whole: bool,
) -> dict[str, Any]:
    """What a level says of the limits. One that was cut short says nothing about comfort: the slow ones are missing."""
    limits = load.limits
    assert limits is not None
    seen = share(sum(_is_good(r, limits) for r in measured), len(measured))
    good = [r for r in _ended_in(busy, requests) if _is_good(r, limits)] if busy else []
    return {
        "within_limits": seen,
        "comfort": comfort(seen, load.target_share) if whole else None,
        "goodput": len(good) / (busy[1] - busy[0]) if whole and busy else None,
    }


def _ended_in(busy: tuple[float, float], requests: Iterable[Request]) -> list[Request]:
    """Completed requests whose end lies in the window, those beside the measured ones too: as tokens are counted."""
    done = (r for r in requests if r.failure is None and not r.given_up and r.end_s is not None)
    return [r for r in done if _within(r.sent_s + (r.end_s or 0.0), busy)]


def _is_good(request: Request, limits: Limits) -> bool:
    ttft_ms = None if request.ttft_s is None else request.ttft_s * 1e3
    return request.failure is None and meets(limits, ttft_ms=ttft_ms, tpot_ms=tpot_ms(request))


def _cache(done: Sequence[Request]) -> CacheUse | None:
    told = [r for r in done if r.cached_tokens is not None]
    if not told:
        return None
    hits, misses = [r for r in told if is_cache_hit(r)], [r for r in told if not is_cache_hit(r)]
    return CacheUse(
        hits=len(hits),
        of=len(told),
        cached_tokens=sum(r.cached_tokens or 0 for r in told),
        prompt_tokens=sum(r.prompt_tokens or 0 for r in told),
        ttft_hit_ms=spread((r.ttft_s * 1e3 for r in hits if r.ttft_s is not None), "ms"),
        ttft_miss_ms=spread((r.ttft_s * 1e3 for r in misses if r.ttft_s is not None), "ms"),
    )


def _open_loop(measured: Sequence[Request], load: Load) -> OpenLoop:
    sent = sorted(r.sent_s for r in measured)
    late = [r.late_s for r in measured if (r.late_s or 0.0) > LATE_FROM_S]
    return OpenLoop(
        rate_asked_per_s=load.rate_per_s,
        rate_per_s=(len(sent) - 1) / (sent[-1] - sent[0]) if len(sent) > 1 and sent[-1] > sent[0] else None,
        most_in_flight=load.most_in_flight,
        late=len(late),
        latest_s=max((one for one in late if one is not None), default=0.0),
    )


def counts(requests: Iterable[Request]) -> Counts:
    classes = Counter(r.failure for r in requests)
    completed, invalid = classes.pop(None, 0), classes["client_invalid"]
    by_class = {str(name): n for name, n in sorted(classes.items(), key=str) if n}
    return Counts(completed=completed, errored=sum(by_class.values()) - invalid, invalid=invalid, by_class=by_class)


def users_result(
    requests: Sequence[Request],
    *,
    load: Load,
    server: Server,
    client: ClientCost,
    partial: str | None = None,
    queues: Mapping[int, Queue] | None = None,
) -> UsersResult:
    """All levels that were begun, their notes, and whether the figures may be used. `queues` are by user count."""
    levels: list[Level] = []
    for users in load.levels:
        mine = latest_part(requests, users)
        if any(r.users == users and not r.warm_up for r in mine):
            bare = level(users, mine, asked=load.requests_at(users), load=load)
            bare = replace(bare, degradation=_degradation(bare, levels), queue=(queues or {}).get(users))
            levels.append(
                replace(bare, note="; ".join(level_notes(bare, levels, done_at(mine, users), load, server)) or None)
            )
    mixed = mixed_result(requests, load.mixed, server) if load.mixed else None
    return UsersResult(
        url=str(server.url),
        model=server.model,
        prompt_tokens_asked=None if load.replay else load.shared_prefix_tokens + load.prompt_tokens,
        output_tokens_asked=load.output_tokens,
        levels=tuple(levels),
        client=client,
        validity="; ".join(_invalid(levels, requests, client, load)) or "valid",
        partial=partial,
        notes=(*server.notes, *result_notes(levels, load), *mixed_notes(mixed)),
        mode=load.mode,
        arrivals=load.arrivals,
        profile=load.profile,
        people=load.people,
        turns=load.turns,
        think_s=load.think_s,
        shared_prefix_tokens=load.shared_prefix_tokens,
        limits=load.limits,
        comfortable=(
            comfortable(levels, load.limits, load.target_share, profile=load.profile) if load.limits else None
        ),
        mixed=mixed,
        kv_exhausted_from=min((one.users for one in levels if one.requests.by_class.get("kv_exhausted")), default=None),
    )


def latest_part(requests: Sequence[Request], users: int) -> list[Request]:
    """The requests of the part of the run in which this count was measured last: a level is never made of two."""
    part = max((r.part for r in requests if r.users == users and not r.warm_up), default=0)
    return [r for r in requests if r.part == part]


def done_at(requests: Iterable[Request], users: int) -> list[Request]:
    """The measured requests of this count that completed."""
    return [r for r in requests if r.users == users and not r.warm_up and r.failure is None]


def _degradation(here: Level, earlier: Sequence[Level]) -> float | None:
    one = here if here.users == 1 else next((other for other in earlier if other.users == 1), None)
    if one is None or not one.per_user_tokens_per_s.p50 or here.per_user_tokens_per_s.p50 is None:
        return None
    return here.per_user_tokens_per_s.p50 / one.per_user_tokens_per_s.p50


def _invalid(levels: Sequence[Level], requests: Sequence[Request], client: ClientCost, load: Load) -> Iterable[str]:
    if client.saturated:
        yield f"this client was saturated: its loop woke up {client.lag_p95_ms:g} ms late (p95)"
    hits = sum(is_cache_hit(r) for r in requests if not r.warm_up and r.failure is None)
    if hits and load.mode == "cold":
        yield f"prompts came from a cache in {hits} requests"
    if levels and not any(one.requests.completed for one in levels):
        yield "no request completed"


def _prefill(done: Sequence[Request]) -> Spread | None:
    """By the server's own clock where it says, else prompt / TTFT. Cached prompts do not count."""
    fresh = [r for r in done if not r.cached_tokens]
    own = [
        1e3 * r.server_prompt_tokens / r.server_prompt_ms
        for r in fresh
        if r.server_prompt_tokens and r.server_prompt_ms
    ]
    if own:
        return spread(own, "tok/s by the server")
    seen = [r.prompt_tokens / r.ttft_s for r in fresh if r.prompt_tokens and r.ttft_s]
    return spread(seen, "tok/s by TTFT") if seen else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _range(values: Iterable[int | None]) -> tuple[int, int] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
