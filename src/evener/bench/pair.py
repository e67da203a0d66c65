"""Two servers in turns: who is measured when, and what the pairs say. Pure: knows results, starts nothing.

The order is A B B A or B A A B, by chance for every four visits: what drifts slowly - heat, a neighbour, the time of
day - falls on both alike. Both visits of a pair ask for the same prompts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import median

from evener.bench.load import Load
from evener.records.conditions import Conditions
from evener.records.load import Level, UsersResult
from evener.records.pair import Difference, Metric, PairOutcome, PairResult, Side, SideName
from evener.stats import paired

SEEDS_APART = 100_003  # between the prompts of two pairs
_LOWER_IS_FASTER = ("ttft_ms",)
_WORDS: dict[Metric, str] = {
    "per_user_tokens_per_s": "tokens per second of each user",
    "total_tokens_per_s": "tokens per second of all users",
    "ttft_ms": "time to the first token",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One side measured once. Both visits of a pair have the same number and seed."""

    pair: int
    side: SideName
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited:
    """A visit and what it gave."""

    visit: Visit
    users: UsersResult


def visits(pairs: int, *, seed: int) -> tuple[Visit, ...]:
    """Every visit in its order: A B B A or B A A B, four by four, as the seed has it."""
    draw = random.Random(f"pairs/{seed}")
    order: list[SideName] = []
    while len(order) < 2 * pairs:
        order += draw.choice((("A", "B", "B", "A"), ("B", "A", "A", "B")))
    return tuple(
        Visit(pair=at // 2, side=side, seed=seed + SEEDS_APART * (at // 2))
        for at, side in enumerate(order[: 2 * pairs])
    )


def result(
    a: Side,
    b: Side,
    visited: Sequence[Visited],
    *,
    load: Load,
    pairs: int,
    margin: float,
    partial: str | None = None,
) -> PairResult:
    """What the visits so far say. The verdict is about the first user count: tokens per second of one user, or of all
    together where there are several."""
    users = load.users[0]
    metric: Metric = "per_user_tokens_per_s" if users == 1 else "total_tokens_per_s"
    differences = tuple(_differences(visited, load.users, margin=margin))
    of_verdict = next(d for d in differences if (d.metric, d.users) == (metric, users))
    invalid = _invalid(visited)
    outcome: PairOutcome = "unknown" if invalid else of_verdict.outcome
    differing, unknown = apart(a.conditions, b.conditions)
    return PairResult(
        a=a,
        b=b,
        outcome=outcome,
        sentence=sentence(a, b, of_verdict, outcome, margin=margin),
        basis=basis(of_verdict, requests=load.requests_at(users), margin=margin),
        verdict_metric=metric,
        verdict_users=users,
        margin=margin,
        pairs_asked=pairs,
        requests_each=load.requests_at(users),
        differences=differences,
        differing=differing,
        unknown=unknown,
        validity=invalid or "valid",
        partial=partial,
        notes=tuple(_notes(visited, pairs)),
    )


def apart(a: Conditions, b: Conditions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Conditions that are known to differ, and those that nobody knows of one of the two."""
    differing, unknown = [], []
    for name in (field.name for field in fields(Conditions)):
        mine, other = getattr(a, name), getattr(b, name)
        if mine is None or other is None:
            unknown.append(name)
        elif mine != other:
            differing.append(name)
    return tuple(differing), tuple(unknown)


def _differences(visited: Sequence[Visited], users: Sequence[int], *, margin: float) -> Iterator[Difference]:
    for count in users:
        for metric in _WORDS:
            if metric != "total_tokens_per_s" or count > 1:
                yield difference(_pairs(visited, metric, count), metric=metric, users=count, margin=margin)


def _pairs(visited: Sequence[Visited], metric: Metric, users: int) -> list[tuple[float, float]]:
    """(A, B) of each pair that has both; a visit that must not be used, or gave no figure, leaves its pair out."""
    values: dict[int, dict[SideName, float]] = {}
    for one in visited:
        level = next((level for level in one.users.levels if level.users == users), None)
        value = _value(level, metric) if level and one.users.validity == "valid" and not one.users.partial else None
        if value:
            values.setdefault(one.visit.pair, {})[one.visit.side] = value
    return [(sides["A"], sides["B"]) for _, sides in sorted(values.items()) if len(sides) == 2]


def _value(level: Level, metric: Metric) -> float | None:
    if metric == "total_tokens_per_s":
        return level.total_tokens_per_s
    return level.ttft_ms.p50 if metric == "ttft_ms" else level.per_user_tokens_per_s.p50


def difference(pairs: Sequence[tuple[float, float]], *, metric: Metric, users: int, margin: float) -> Difference:
    """What the pairs say of one figure."""
    shift = paired.shift(paired.log_ratios(pairs)) if pairs else None
    change = paired.as_change(shift.estimate) if shift else None
    bounds = shift.interval if shift else None
    interval = (paired.as_change(bounds[0]), paired.as_change(bounds[1])) if bounds else None
    return Difference(
        metric=metric,
        users=users,
        pairs=tuple(pairs),
        a=median(a for a, _ in pairs) if pairs else None,
        b=median(b for _, b in pairs) if pairs else None,
        change=change,
        interval=interval,
        outcome=judged(change, interval, margin=margin, lower_is_faster=metric in _LOWER_IS_FASTER),
    )


def judged(
    change: float | None, interval: tuple[float, float] | None, *, margin: float, lower_is_faster: bool = False
) -> PairOutcome:
    """A difference needs an interval that keeps clear of none, and an estimate beyond the margin. None that matters
    needs the whole interval within the margin. Everything else cannot be separated."""
    if change is None:
        return "unknown"
    if interval is None:
        return "cannot be separated"
    if -margin <= interval[0] and interval[1] <= margin:
        return "no difference that matters"
    if interval[0] <= 0 <= interval[1] or abs(change) <= margin:
        return "cannot be separated"
    return "B is faster" if (change > 0) != lower_is_faster else "B is slower"


def sentence(a: Side, b: Side, found: Difference, outcome: PairOutcome, *, margin: float) -> str:
    """The verdict in words."""
    who = f"{b.label} (B) and {a.label} (A)"
    if outcome == "unknown" or found.change is None:
        return f"{who}: there is no verdict"
    where = "for one user" if found.users == 1 else f"for {found.users} users together"
    if outcome in ("B is faster", "B is slower"):
        word = outcome.removeprefix("B is ")
        return f"{b.label} (B) is {abs(found.change):.1%} {word} than {a.label} (A) {where}"
    if outcome == "no difference that matters":
        return f"{who} differ by less than {margin:.0%} {where}"
    return f"{who} cannot be separated {where}"


def basis(found: Difference, *, requests: int, margin: float) -> str:
    """What the verdict stands on, in one line."""
    n = len(found.pairs)
    about = f"{_WORDS[found.metric]}, {n} pair{'' if n == 1 else 's'} of {requests} requests each"
    if found.change is None:
        return about
    if found.interval is None:
        return f"{about}; change {found.change:+.1%}, and an interval needs {paired.fewest_pairs()} pairs"
    low, high = found.interval
    return (
        f"{about}; change {found.change:+.1%}, 95 % interval {low:+.1%} to {high:+.1%} (signed ranks of the paired "
        f"ratios); less than {margin:.0%} is taken not to matter"
    )


def _invalid(visited: Sequence[Visited]) -> str | None:
    """Why nothing here must be used, when no visit of a side may be."""
    for side in ("A", "B"):
        reasons = [one.users.validity for one in visited if one.visit.side == side]
        if reasons and all(reason != "valid" for reason in reasons):
            return f"{side}: {reasons[0]}"
    return None


def _notes(visited: Sequence[Visited], pairs: int) -> Iterator[str]:
    for one in visited:
        where = f"pair {one.visit.pair + 1}, {one.visit.side}"
        if one.users.validity != "valid":
            yield f"{where}: left out: {one.users.validity}"
        for level in one.users.levels:
            if failed := level.requests.errored + level.requests.invalid:
                classes = ", ".join(f"{n} {name}" for name, n in level.requests.by_class.items())
                yield f"{where}: {failed} of {failed + level.requests.completed} requests failed: {classes}"
    if pairs < paired.fewest_pairs():
        yield f"{pairs} pairs can separate nothing: an interval needs {paired.fewest_pairs()}"
