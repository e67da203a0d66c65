"""Requests to levels and to the answer of `bench users`. Pure: the same requests always give the same figures.

Definitions: docs/reference/metrics.md. Failed requests are counted by class and enter no percentile and no total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from evener.bench.load import Load
from evener.bench.probe import Server
from evener.records.load import ClientCost, Counts, Level, Request, Spread, UsersResult
from evener.stats.intervals import quantile, quantile_interval

P90_FROM_N = 29  # below it no two values of the sample bound the 90th percentile with 95 % confidence
BATCHES_BELOW = 0.9
FALLS_BELOW = 0.95  # of the best total with fewer users; less is noise
SHARED_TOKENS = 64  # a chat template's own beginning may come from a cache; more than that is the prompt


def spread(values: Iterable[float], unit: str, *, independent: bool = True) -> Spread:
    """A distribution with n and the intervals that n allows. Values of one stream after another are not independent,
    and get none."""
    known = list(values)
    wide_enough = len(known) >= P90_FROM_N
    return Spread(
        n=len(known),
        mean=fmean(known) if known else None,
        p50=quantile(known, 0.5),
        p90=quantile(known, 0.9) if wide_enough else None,
        interval=quantile_interval(known, 0.5) if independent else None,
        p90_interval=quantile_interval(known, 0.9) if independent else None,
        most=max(known, default=None),
        unit=unit,
    )


def decode_rate(request: Request) -> float | None:
    """(N - n_first) / (t_last - t_first), tokens per second. None for an answer that came in one piece.

    Where nobody said how many tokens the first read brought, it is taken to be an average one.
    """
    if request.ttft_s is None or request.last_token_s is None or not request.tokens or not request.arrivals:
        return None
    tokens = request.tokens - (request.first_chunk_tokens or request.tokens / request.arrivals)
    seconds = request.last_token_s - request.ttft_s
    return tokens / seconds if tokens > 0 and seconds > 0 else None


def window(requests: Sequence[Request]) -> tuple[float, float] | None:
    """When every user was busy, in seconds of the run: from the first measured request to the first idle user."""
    measured = [r for r in requests if not r.warm_up]
    if not measured:
        return None
    last_end: dict[int, float] = {}
    for request in measured:
        last_end[request.user] = max(last_end.get(request.user, 0.0), request.sent_s + (request.end_s or 0.0))
    start, end = min(r.sent_s for r in measured), min(last_end.values())
    return (start, end) if end > start else None


def total_rate(requests: Sequence[Request]) -> float | None:
    """Tokens per second of all users while all were busy: each token counts when it arrived, warm-ups included."""
    busy = window(requests)
    if busy is None:
        return None
    start, end = busy
    tokens = sum(
        credit
        for request in requests
        if request.failure is None
        for at_s, credit in request.token_times
        if start <= request.sent_s + at_s <= end
    )
    return tokens / (end - start)


def level(users: int, requests: Sequence[Request], *, asked: int) -> Level:
    """One user count. `asked` is the number of measured requests; with fewer the level was cut short."""
    measured = [r for r in requests if not r.warm_up]
    done = [r for r in measured if r.failure is None]
    busy = window(requests)
    rates = _known(map(decode_rate, done))
    whole = len(measured) >= asked
    return Level(
        users=users,
        requests=counts(measured),
        ttft_ms=spread((r.ttft_s * 1e3 for r in done if r.ttft_s is not None), "ms"),
        tpot_ms=spread((1e3 / rate for rate in rates), "ms"),
        itl_ms=spread((gap for r in done for gap in _gaps_ms(r)), "ms", independent=False),
        per_user_tokens_per_s=spread(rates, "tok/s"),
        total_tokens_per_s=total_rate(requests) if whole and done else None,
        prefill_tokens_per_s=_prefill(done),
        duration_s=busy[1] - busy[0] if busy else 0.0,
        batch_ratio=_ratio(sum(r.arrivals for r in done), sum(r.tokens or 0 for r in done)),
        prompt_tokens=_range(r.prompt_tokens for r in done),
        output_tokens=_range(r.tokens for r in done),
    )


def counts(requests: Iterable[Request]) -> Counts:
    classes = Counter(r.failure for r in requests)
    completed, invalid = classes.pop(None, 0), classes["client_invalid"]
    by_class = {str(name): n for name, n in sorted(classes.items(), key=str) if n}
    return Counts(completed=completed, errored=sum(by_class.values()) - invalid, invalid=invalid, by_class=by_class)


def users_result(
    requests: Sequence[Request], *, load: Load, server: Server, client: ClientCost, partial: str | None = None
) -> UsersResult:
    """All levels that were begun, their notes, and whether the figures may be used."""
    begun = [n for n in load.users if any(r.users == n and not r.warm_up for r in requests)]
    levels: list[Level] = []
    for users in begun:
        mine = [r for r in requests if r.users == users]
        bare = level(users, mine, asked=load.requests_at(users))
        bare = replace(bare, degradation=_degradation(bare, levels))
        levels.append(replace(bare, note="; ".join(_level_notes(bare, levels, mine, load, server)) or None))
    return UsersResult(
        url=str(server.url),
        model=server.model,
        prompt_tokens_asked=load.prompt_tokens,
        output_tokens_asked=load.output_tokens,
        levels=tuple(levels),
        client=client,
        validity="; ".join(_invalid(levels, requests, client)) or "valid",
        partial=partial,
        notes=(*server.notes, *_prompt_note(levels, load)),
    )


def _degradation(here: Level, earlier: Sequence[Level]) -> float | None:
    one = here if here.users == 1 else next((other for other in earlier if other.users == 1), None)
    if one is None or not one.per_user_tokens_per_s.p50 or here.per_user_tokens_per_s.p50 is None:
        return None
    return here.per_user_tokens_per_s.p50 / one.per_user_tokens_per_s.p50


def _level_notes(
    here: Level, earlier: Sequence[Level], requests: Sequence[Request], load: Load, server: Server
) -> Iterable[str]:
    measured, done = here.requests, [r for r in requests if not r.warm_up and r.failure is None]
    sent = measured.completed + measured.errored + measured.invalid
    if sent < load.requests_at(here.users):
        yield f"cut short: {sent} of {load.requests_at(here.users)} requests"
    if best := _better(here, earlier):
        yield f"total falls: {here.total_tokens_per_s:.1f} tok/s, {best.total_tokens_per_s:.1f} with {best.users}"
    if server.slots is not None and here.users > server.slots:
        yield f"users wait in the queue: the server has {server.slots} slots"
    if silent := sum(r.ttfa_s is None for r in done):
        yield f"never answered, reasoning only: {silent} of {len(done)}"
    if here.batch_ratio is not None and here.batch_ratio < BATCHES_BELOW:
        yield f"tokens come in batches ({here.batch_ratio:.2f} arrivals per token): ITL is between batches"
    if any(r.tokens_estimated for r in done):
        yield "the server counts no tokens: chunks were counted"
    if here.output_tokens and here.output_tokens != (load.output_tokens, load.output_tokens):
        yield f"answers of {_between(here.output_tokens)} tokens, {load.output_tokens} asked"
    if cached := sum(bool(r.cached_tokens) for r in done):
        yield f"part of the prompt came from a cache: {cached} of {len(done)}"


def _better(here: Level, earlier: Sequence[Level]) -> Level | None:
    """The level with fewer users whose total was best, when this one falls below it by more than noise."""
    fewer = [o for o in earlier if o.users < here.users and o.total_tokens_per_s is not None]
    best = max(fewer, key=lambda o: o.total_tokens_per_s or 0.0, default=None)
    if best is None or best.total_tokens_per_s is None or here.total_tokens_per_s is None:
        return None
    return best if here.total_tokens_per_s < FALLS_BELOW * best.total_tokens_per_s else None


def _prompt_note(levels: Sequence[Level], load: Load) -> Iterable[str]:
    seen = _range(n for one in levels if one.prompt_tokens for n in one.prompt_tokens)
    if seen and seen != (load.prompt_tokens, load.prompt_tokens):
        yield f"prompts of {_between(seen)} tokens, {load.prompt_tokens} asked"


def _invalid(levels: Sequence[Level], requests: Sequence[Request], client: ClientCost) -> Iterable[str]:
    if client.saturated:
        yield f"this client was saturated: its loop woke up {client.lag_p95_ms:g} ms late (p95)"
    hits = sum(_is_cache_hit(r) for r in requests if not r.warm_up and r.failure is None)
    if hits:
        yield f"prompts came from a cache in {hits} requests"
    if levels and not any(one.requests.completed for one in levels):
        yield "no request completed"


def _is_cache_hit(request: Request) -> bool:
    prompt = request.prompt_tokens or 0
    return (request.cached_tokens or 0) > min(SHARED_TOKENS, prompt // 2)


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


def _gaps_ms(request: Request) -> list[float]:
    return [(after[0] - before[0]) * 1e3 for before, after in pairwise(request.token_times)]


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _range(values: Iterable[int | None]) -> tuple[int, int] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def _between(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"
