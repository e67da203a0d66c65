"""What the second machine brought or cost: layouts against each other, or why nobody can say. Pure.

Two layouts are separated when the 95 % intervals of their medians do not overlap. This is stricter than a test of
the difference at 5 %: where it says "slower", it is; where it says "cannot be separated", more requests may tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from evener.report.parts import Comparison, Layout, Speed
from evener.report.words import company, count, listed, number, percent

_LEAST_FOR_INTERVAL = 6  # 2 * 0.5**6 < 5 %: the smallest n whose range covers the median 19 times in 20


def common_users(layouts: Sequence[Layout]) -> int | None:
    """The smallest user count that every usable layout has measured, else the smallest that any has."""
    measured = [{level.users for level in x.levels} for x in layouts if x.measured and not x.invalid]
    if not measured:
        return None
    shared = set.intersection(*measured)
    return min(shared or set.union(*measured), default=None)


def speed(layout: Layout, users: int) -> Speed:
    """One layout's speed for each of `users` users."""

    def unknown(why: str) -> Speed:
        return Speed(layout=layout.name, users=users, value=None, interval=None, n=0, why=why)

    if not layout.measured:
        return unknown("not measured")
    if layout.invalid:
        return unknown(f"not usable: {layout.invalid}")
    level = next((level for level in layout.levels if level.users == users), None)
    if level is None:
        return unknown(f"not measured with {count(users, 'user')}")
    rates = level.per_user_tokens_per_s
    if not rates.p50:
        return unknown("no request was completed")
    return Speed(layout=layout.name, users=users, value=rates.p50, interval=rates.interval, n=rates.n)


def compare(base: Layout, other: Layout, users: int) -> Comparison:
    """`other` against `base`: by how much, or why nobody can say."""
    a, b = speed(base, users), speed(other, users)
    verdict = partial(Comparison, base=base.name, other=other.name, users=users)
    if a.value is None or b.value is None:
        missing = [f"{x.label}: {s.why}" for x, s in ((base, a), (other, b)) if s.value is None]
        return verdict(
            outcome="unknown", change=None, interval=None, sentence="there is no verdict", basis="; ".join(missing)
        )
    change = b.value / a.value - 1
    basis = f"{_basis(base, a)}; {_basis(other, b)}"
    if a.interval is None or b.interval is None or a.interval[0] <= 0:
        return verdict(
            outcome="unknown",
            change=change,
            interval=None,
            sentence="too few requests for a verdict",
            basis=f"{basis}. An interval needs at least {_LEAST_FOR_INTERVAL} completed requests in each",
        )
    interval = (b.interval[0] / a.interval[1] - 1, b.interval[1] / a.interval[0] - 1)
    if interval[0] <= 0 <= interval[1]:
        return verdict(
            outcome="cannot be separated",
            change=change,
            interval=interval,
            sentence="the two cannot be separated",
            basis=f"{basis}. These 95 % intervals overlap: a real difference may exist, and more requests may show it",
        )
    found = verdict(
        outcome="slower" if change < 0 else "faster",
        change=change,
        interval=interval,
        sentence=_difference(base, other, change),
        basis=basis,
    )
    return replace(found, basis=f"{basis}. With each median at the far end of its interval: {bounds(found)}")


def _basis(layout: Layout, found: Speed) -> str:
    return f"{layout.label}: {company(found.n, found.interval)}"


def _difference(base: Layout, other: Layout, change: float) -> str:
    """In words: what further machines cost or gained, or how two layouts of the same machines differ."""
    further = len(set(other.hosts) - set(base.hosts))
    if other.kind == "cluster" and further and set(base.hosts) < set(other.hosts):
        word = "host" if other.one_machine else "machine"
        who = f"the second {word}" if len(other.hosts) == 2 else f"the {count(further, f'further {word}')}"
        return f"{who} {'cost' if change < 0 else 'gained'} {percent(abs(change))}"
    return f"{other.label} is {percent(abs(change))} {'slower' if change < 0 else 'faster'} than {base.label}"


def base_of(layouts: Sequence[Layout], users: int) -> Layout | None:
    """What the others are held against: the fastest layout on one machine, else the fastest of all."""
    known = [x for x in layouts if speed(x, users).value is not None]
    alone = [x for x in known if len(x.hosts) == 1]
    return max(alone or known, key=lambda x: speed(x, users).value or 0.0, default=None)


def comparisons(layouts: Sequence[Layout], users: int | None) -> tuple[Comparison, ...]:
    """Every other layout against the base; none where fewer than two were tried."""
    if users is None or (base := base_of(layouts, users)) is None:
        return ()
    return tuple(compare(base, other, users) for other in layouts if other is not base)


def bounds(found: Comparison) -> str | None:
    """ "42 % to 47 %", without a sign; None where there is no difference to bound."""
    if found.interval is None or found.outcome == "cannot be separated":
        return None
    low, high = sorted(abs(end) for end in found.interval)
    return f"{percent(low)} to {percent(high)}"


def headline(layouts: Sequence[Layout], against: Sequence[Comparison], users: int | None) -> str:
    """One sentence: how fast, and what the further machines did."""
    if users is None:
        return _without_speeds(layouts)
    each = "for one user" if users == 1 else f"for each of {users} users"
    if len(against) > 1:
        return _among_many({x.name: x for x in layouts}, against, users, each)
    parts = [_spoken(x, speed(x, users), each if i == 0 else "") for i, x in enumerate(layouts)]
    return ": ".join(["; ".join(parts), *(found.sentence for found in against)])


def _spoken(layout: Layout, found: Speed, each: str) -> str:
    figure = found.why or "unknown" if found.value is None else f"{number(found.value)} tok/s"
    return f"{layout.label}: {figure} {each}".rstrip()


def _among_many(by_name: Mapping[str, Layout], against: Sequence[Comparison], users: int, each: str) -> str:
    """Who wins; or who cannot be told apart from the best single machine."""
    base = by_name[against[0].base]

    def rate(name: str) -> str:
        return number(speed(by_name[name], users).value)

    def named(some: Sequence[Comparison]) -> str:
        return listed([f"{by_name[c.other].label} ({rate(c.other)})" for c in some])

    if better := [c for c in against if c.outcome == "faster"]:
        return f"{named(better)} beat {base.label} ({rate(base.name)}), tok/s {each}"
    if open_ := [c for c in against if c.outcome != "slower"]:
        return f"{base.label} ({rate(base.name)}) cannot be separated from {named(open_)}, tok/s {each}"
    return f"{base.label} is the fastest of {len(by_name)} layouts: {rate(base.name)} tok/s {each}"


def _without_speeds(layouts: Sequence[Layout]) -> str:
    """When no speed was measured: what can be said about memory."""
    if not layouts:
        return "Nothing was measured"
    bad = next((x for x in layouts if x.invalid), None)
    if bad:
        where = f"{bad.label}: t" if bad.kind or len(layouts) > 1 else "T"
        return f"{where}he result is invalid ({bad.invalid})"
    checks = [check for x in layouts for check in x.checks]
    if not checks:
        return f"{listed([x.label for x in layouts])}: no speed was measured"
    kept = sum(check.verdict == "as planned" for check in checks)
    return f"{listed([x.label for x in layouts])}: {kept} of {count(len(checks), 'card')} as planned, no speed measured"
