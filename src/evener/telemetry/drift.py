"""Sustained load: the speed over time, its first third against its last, and what the cards did. Pure.

What happens together is said together. Nothing here says that one is the cause of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evener.records.load import Request
from evener.records.telemetry import CardSample, Drift, DriftVerdict, Sample
from evener.stats.drift import Change, TooShort, change

Event = tuple[float, float]  # when (seconds), how many tokens
Curve = tuple[tuple[float, float], ...]
Seen = list[tuple[float, CardSample]]  # one card's samples, each with its time
WINDOWS = 360  # of one second at least: enough to see how long the speed remembers itself
WORTH_SAYING_C = 3.0
WORTH_SAYING_SHARE = 0.01
TOGETHER = "seen together, which proves no cause"


def token_events(requests: Iterable[Request]) -> list[Event]:
    """When tokens came, in order, on the run's time axis; of warm-up requests too, since they share the machine."""
    return sorted((r.sent_s + at_s, tokens) for r in requests for at_s, tokens in r.token_times)


def steady(requests: Sequence[Request]) -> tuple[float, float] | None:
    """From when every user had begun its measured requests until the first of them had ended its last one.

    None where they never all worked at once.
    """
    mine: dict[int, list[Request]] = {}
    for request in requests:
        if not request.warm_up and request.end_s is not None:
            mine.setdefault(request.user, []).append(request)
    if not mine:
        return None
    begun = max(min(r.sent_s for r in own) for own in mine.values())
    ended = min(max(r.sent_s + (r.end_s or 0.0) for r in own) for own in mine.values())
    return (begun, ended) if ended > begun else None


def drift(events: Iterable[Event], samples: Iterable[Sample], *, from_s: float, to_s: float) -> Drift:
    """What the speed did between `from_s` and `to_s`, and what cards did meanwhile, in one sentence."""
    window_s = max(1.0, (to_s - from_s) / WINDOWS)
    count = int((to_s - from_s) / window_s)
    rates = window_rates(events, from_s=from_s, window_s=window_s, count=count)
    curve = tuple((round(from_s + (i + 0.5) * window_s, 3), round(rate, 3)) for i, rate in enumerate(rates))
    found = change(rates)
    if isinstance(found, TooShort):
        return _unresolved(_too_short(found, window_s), curve, window_s)
    third_s = (to_s - from_s) / 3
    meanwhile = _meanwhile(list(samples), (from_s, from_s + third_s), (to_s - third_s, to_s))
    return _told(found, curve, window_s, meanwhile)


def window_rates(events: Iterable[Event], *, from_s: float, window_s: float, count: int) -> list[float]:
    """Tokens per second in `count` windows from `from_s` on."""
    tokens = [0.0] * count
    for at_s, number in events:
        at = int((at_s - from_s) // window_s)
        if 0 <= at < count:
            tokens[at] += number
    return [number / window_s for number in tokens]


def _told(found: Change, curve: Curve, window_s: float, meanwhile: str) -> Drift:
    if found.first <= 0:
        return _unresolved("no token came in the first third", curve, window_s)
    percent = 100 * found.difference / found.first
    low, high = (100 * bound / found.first for bound in found.interval)
    verdict: DriftVerdict = "no drift" if low <= 0 <= high else "fell" if high < 0 else "rose"
    return Drift(
        curve=curve,
        window_s=window_s,
        verdict=verdict,
        sentence=_speed(found, verdict, percent, low, high) + meanwhile,
        first_tokens_per_s=round(found.first, 3),
        last_tokens_per_s=round(found.last, 3),
        change_percent=round(percent, 2),
        interval_percent=(round(low, 2), round(high, 2)),
        p_value=round(found.p_value, 5),
        blocks=found.blocks,
        block_s=found.block * window_s,
    )


def _speed(found: Change, verdict: DriftVerdict, percent: float, low: float, high: float) -> str:
    if verdict == "no drift":
        most = max(abs(low), abs(high))
        return f"no drift beyond {most:.1f} % ({percent:+.1f} %, 95 % {low:+.1f} to {high:+.1f})"
    small, great = sorted((abs(low), abs(high)))
    return (
        f"tok/s {verdict} {abs(percent):.1f} % (95 % {small:.1f} to {great:.1f}; "
        f"{found.first:.1f} in the first third, {found.last:.1f} in the last)"
    )


def _unresolved(why: str, curve: Curve, window_s: float) -> Drift:
    return Drift(curve=curve, window_s=window_s, verdict="unresolved", why=why, sentence=f"drift unresolved: {why}")


def _too_short(short: TooShort, window_s: float) -> str:
    return (
        f"{_minutes(short.values * window_s)} are too short for a speed that fluctuates like this one; "
        f"about {_minutes(short.needed * window_s)} would do"
    )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _meanwhile(samples: Sequence[Sample], first: tuple[float, float], last: tuple[float, float]) -> str:
    """What is worth saying of the cards: warmer, or held back."""
    said = []
    for (host, _), at in _by_card(samples, first[0], last[1]).items():
        name = f"{host}/{at[-1][1].name}"
        words = [*_warmer(at, first, last), *_held_back([card for _, card in at])]
        if words:
            said.append(f"{name} {' and '.join(words)}")
    return f", while {', '.join(said)} ({TOGETHER})" if said else ""


def _by_card(samples: Sequence[Sample], from_s: float, to_s: float) -> dict[tuple[str, str], Seen]:
    found: dict[tuple[str, str], Seen] = {}
    for sample in samples:
        if from_s <= sample.at_s <= to_s:
            for card in sample.cards:
                found.setdefault((sample.host, card.card), []).append((sample.at_s, card))
    return found


def _warmer(at: Seen, first: tuple[float, float], last: tuple[float, float]) -> list[str]:
    """Means of the first and the last third, like the speeds beside them."""
    before, after = _mean_c(at, first), _mean_c(at, last)
    if before is None or after is None or abs(after - before) < WORTH_SAYING_C:
        return []
    return [f"went from {before:.0f} to {after:.0f} °C"]


def _mean_c(at: Seen, within: tuple[float, float]) -> float | None:
    told = [c.temperature_c for t, c in at if within[0] <= t < within[1] and c.temperature_c is not None]
    return sum(told) / len(told) if told else None


def _held_back(cards: Sequence[CardSample]) -> list[str]:
    told = [card.slowed_by for card in cards if card.slowed_by is not None]
    reasons = list(dict.fromkeys(reason for slowed in told for reason in slowed))
    shares = {reason: sum(reason in slowed for slowed in told) / len(told) for reason in reasons}
    worth = sorted((r for r in reasons if shares[r] >= WORTH_SAYING_SHARE), key=lambda r: -shares[r])
    return [f"was held back by {reason} {100 * shares[reason]:.0f} % of the time" for reason in worth]
