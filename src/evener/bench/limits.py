"""What people accept, and for how many a server stays within it. Pure.

The interval of its share of good requests decides: a count holds when the lower end, never above Wilson's, reaches the
target, fails when the upper end stays below, and is unresolved otherwise, which is an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evener.records.load import Comfort, Comfortable, Level, Limits, RequestShare
from evener.stats.intervals import share_interval, tries_needed

MOST_NEEDED = 100_000  # more requests than that would decide nothing in a lifetime


def meets(limits: Limits, *, ttft_ms: float | None, tpot_ms: float | None) -> bool:
    """Whether a completed request is within them. One that came in a single piece has no time per token."""
    if ttft_ms is None:
        return False
    return (limits.ttft_ms is None or ttft_ms <= limits.ttft_ms) and (
        limits.tpot_ms is None or tpot_ms is None or tpot_ms <= limits.tpot_ms
    )


def share(met: int, of: int) -> RequestShare:
    return RequestShare(met=met, of=of, interval=share_interval(met, of))


def comfort(seen: RequestShare, target: float) -> Comfort:
    """Whether the share is above the target, as far as its interval tells."""
    if seen.interval is None:
        return "unresolved"
    low, high = seen.interval
    return "yes" if low >= target else "no" if high < target else "unresolved"


def requests_needed(seen: RequestShare, target: float) -> int | None:
    """How many requests would decide it if the share stayed as it is; None when none would, or too many."""
    return tries_needed(seen.met, seen.of, target, most=MOST_NEEDED)


def comfortable(levels: Sequence[Level], limits: Limits, target: float, *, profile: str | None) -> Comfortable | None:
    """For how many it is good. A count holds only with all smaller ones that were measured. None without levels."""
    known = sorted((one for one in levels if one.within_limits is not None), key=lambda one: one.users)
    if not known:
        return None
    held = [one for one, _ in zip(known, _while_comfortable(known), strict=False)]
    stop = known[len(held)] if len(held) < len(known) else None
    unresolved = stop is not None and stop.comfort != "no"
    verdict = Comfortable(
        unit="people" if known[0].people is not None else "users",
        limits=limits,
        target_share=target,
        holds_for=held[-1].users if held else None,
        unresolved_at=stop.users if stop and unresolved else None,
        requests_needed=_needed(stop, target) if stop and unresolved else None,
        fails_at=stop.users if stop and not unresolved else None,
        sentence="",
    )
    return replace(verdict, sentence=_sentence(verdict, stop, profile))


def _while_comfortable(levels: Iterable[Level]) -> Iterable[Level]:
    for one in levels:
        if one.comfort != "yes":
            return
        yield one


def _needed(level: Level, target: float) -> int | None:
    """None for a level that was cut short: it is the rest that is missing."""
    if level.comfort is None or level.within_limits is None:
        return None
    return requests_needed(level.within_limits, target)


def _sentence(verdict: Comfortable, stop: Level | None, profile: str | None) -> str:
    asked = f"{verdict.target_share:.0%} of requests with {in_words(verdict.limits)}"
    what = f"{profile}: {asked}" if profile else asked
    if verdict.holds_for is None:
        start = "not known to be comfortable for anybody" if verdict.unresolved_at else "comfortable for nobody"
    else:
        start = f"comfortable for {_count(verdict.holds_for, verdict.unit)}"
    if stop is None or stop.within_limits is None:
        return f"{start} ({what}), the most that were measured"
    seen = _seen(stop.within_limits)
    if verdict.fails_at is not None:
        return f"{start} ({what}); with {stop.users} only {seen}"
    if stop.comfort is None:
        return f"{start} ({what}); {stop.users} were measured only in part"
    more = f"; {verdict.requests_needed} requests would decide" if verdict.requests_needed else ""
    return f"{start} ({what}); {stop.users} cannot be decided: {seen}{more}"


def in_words(limits: Limits) -> str:
    """ "TTFT within 2000 ms and 66 ms per token"."""
    first = f"TTFT within {limits.ttft_ms:g} ms" if limits.ttft_ms is not None else None
    then = f"{limits.tpot_ms:g} ms per token" if limits.tpot_ms is not None else None
    return " and ".join(part for part in (first, then) if part) or "any time"


def _seen(seen: RequestShare) -> str:
    interval = f" ({seen.interval[0]:.0%}-{seen.interval[1]:.0%})" if seen.interval else ""
    return f"{seen.met} of {seen.of}{interval}"


def _count(n: int, unit: str) -> str:
    return {"people": "1 person", "users": "1 user"}[unit] if n == 1 else f"{n} {unit}"
