"""What a reader must know beside the figures of a load test, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.bench.load import Load
from evener.bench.probe import Server
from evener.records.load import Level, Mixed, OpenLoop, Request

BATCHES_BELOW = 0.9
FALLS_BELOW = 0.95  # of the best total with fewer users; less is noise
UNFAIR_BELOW = 0.5  # of the median user's rate


def level_notes(
    here: Level, earlier: Sequence[Level], done: Sequence[Request], load: Load, server: Server
) -> Iterator[str]:
    """Of one level; `done` are its measured requests that completed."""
    measured = here.requests
    sent = measured.completed + measured.errored + measured.invalid
    if sent < load.requests_at(here.users):
        yield f"cut short: {sent} of {load.requests_at(here.users)} requests"
    if best := _better(here, earlier):
        yield f"total falls: {here.total_tokens_per_s:.1f} tok/s, {best.total_tokens_per_s:.1f} with {best.users}"
    if server.slots is not None and _at_once(here) > server.slots:
        who = "people" if here.people is not None else "requests" if here.open_loop else "users"
        yield f"{who} wait in the queue: the server has {server.slots} slots"
    if here.open_loop:
        yield _by_the_clock(here, here.open_loop)
    if here.open_loop and here.open_loop.late:
        yield (
            f"{here.open_loop.late} of {sent} requests were sent late, up to {here.open_loop.latest_s:.1f} s:"
            f" at most {here.open_loop.most_in_flight} may be in flight"
        )
    if here.fairness and here.fairness.slowest_to_median < UNFAIR_BELOW:
        yield f"unfair: the slowest user gets {here.fairness.slowest_to_median:.0%} of what the median one gets"
    if silent := sum(r.ttfa_s is None for r in done):
        yield f"never answered, reasoning only: {silent} of {len(done)}"
    if here.batch_ratio is not None and here.batch_ratio < BATCHES_BELOW:
        yield f"tokens come in batches ({here.batch_ratio:.2f} arrivals per token): ITL is between batches"
    if any(r.tokens_estimated for r in done):
        yield "the server counts no tokens: chunks were counted"
    if here.output_tokens and here.output_tokens != (load.output_tokens, load.output_tokens) and not load.replay:
        yield f"answers of {_between(here.output_tokens)} tokens, {load.output_tokens} asked"
    if load.mode == "warm":
        yield _hits(here)
    elif cached := sum(bool(r.cached_tokens) for r in done):
        yield f"part of the prompt came from a cache: {cached} of {len(done)}"
    if measured.by_class.get("kv_exhausted"):
        yield f"killed, the KV pool ran full: {measured.by_class['kv_exhausted']} of {sent}"


def _by_the_clock(here: Level, loop: OpenLoop) -> str:
    asked = "as recorded" if loop.rate_asked_per_s is None else f"{loop.rate_asked_per_s:g} requests/s asked"
    sent = "" if loop.rate_per_s is None else f", {loop.rate_per_s:.3g} sent"
    flying = "" if here.in_flight is None else f", up to {here.in_flight.peak} of {loop.most_in_flight} in flight"
    return f"{asked}{sent}{flying}"


def _at_once(here: Level) -> int:
    """Parallel sequences. Users who never pause are as many; people and requests by the clock are counted."""
    if here.people is None and here.open_loop is None:
        return here.users
    return here.in_flight.peak if here.in_flight else 0


def _hits(here: Level) -> str:
    if here.cache is None:
        return "warm: the server does not say what came from its cache"
    found = f"{here.cache.hits} of {here.cache.of} prompts were found in the cache"
    if not here.cache.prompt_tokens:
        return f"warm: {found}"
    return f"warm: {found}, {here.cache.cached_tokens / here.cache.prompt_tokens:.0%} of all their tokens"


def _better(here: Level, earlier: Sequence[Level]) -> Level | None:
    """The level with fewer users whose total was best, when this one falls below it by more than noise."""
    fewer = [o for o in earlier if o.users < here.users and o.total_tokens_per_s is not None]
    best = max(fewer, key=lambda o: o.total_tokens_per_s or 0.0, default=None)
    if best is None or best.total_tokens_per_s is None or here.total_tokens_per_s is None:
        return None
    return best if here.total_tokens_per_s < FALLS_BELOW * best.total_tokens_per_s else None


def result_notes(levels: Sequence[Level], load: Load) -> Iterator[str]:
    """Of the whole result."""
    asked = load.shared_prefix_tokens + load.prompt_tokens
    seen = [count for one in levels if one.prompt_tokens for count in one.prompt_tokens]
    if seen and not load.replay and load.turns == 1 and {*seen} != {asked}:
        yield f"prompts of {_between((min(seen), max(seen)))} tokens, {asked} asked"
    if parts := {one.part for one in levels} - {0}:
        yield f"resumed: measured in {max(parts) + 1} parts"


def mixed_notes(mixed: Mixed | None) -> Iterator[str]:
    """Of a mixed load, where there is one."""
    if mixed is not None and mixed.users_asked not in (None, mixed.users):
        yield f"mixed load: {mixed.users} decode, {mixed.users_asked} asked: the long prompt needs a slot, too"
    if mixed is not None and (failed := sum(one.failure is not None for one in mixed.arrivals)):
        yield f"mixed load: {failed} of {len(mixed.arrivals)} long prompts were not answered"


def _between(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"
