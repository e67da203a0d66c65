"""Prove that memory came back: before the start, while loaded, after the stop, card by card. Pure.

Drivers keep a floor that drifts by hundreds of MiB: within `TOLERANCE_BYTES` that is noted, and nobody is blamed.
For a CPU card the figures are the resident memory of our own processes: the machine's free RAM moves for other reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from evener.records.card import Card, Holder, Scan
from evener.records.deployment import Process
from evener.records.plan import Candidate, DevicePlan
from evener.records.verification import FreedCheck, FreedVerdict

NOISE_BYTES = 32 << 20
TOLERANCE_BYTES = 512 << 20


def check_freed(
    candidate: Candidate, before: Scan, during: Scan | None, after: Scan, processes: Sequence[Process]
) -> tuple[FreedCheck, ...]:
    """One check per planned device. `during` is None when the load never came to an end."""
    return tuple(_check(device, before, during, after, processes) for device in candidate.devices)


def _check(
    plan: DevicePlan, before: Scan, during: Scan | None, after: Scan, processes: Sequence[Process]
) -> FreedCheck:
    pids = frozenset(p.pid for p in processes if p.host == plan.host)
    cards = [_card(plan, scan) for scan in (before, during, after)]
    used = [_used(card, pids) for card in cards]
    verdict, why, holders = judge(used[0], used[2], _held_now(cards[0], cards[2], pids), pids)
    return FreedCheck(
        host=plan.host,
        card=plan.card,
        card_name=plan.card_name,
        before_bytes=used[0],
        during_bytes=used[1],
        after_bytes=used[2],
        tolerance_bytes=TOLERANCE_BYTES,
        verdict=verdict,
        why=why,
        holders=holders,
    )


def judge(
    before: int | None, after: int | None, holders: Sequence[Holder], ours: frozenset[int]
) -> tuple[FreedVerdict, str | None, tuple[Holder, ...]]:
    """The verdict on one card. `holders` are those of the time after that were not there before, ours included."""
    left = tuple(h for h in holders if h.pid in ours)
    if left:
        return "held", f"our own pid {left[0].pid} still holds memory", left
    if before is None or after is None:
        return "unknown", "the driver does not say how much is used", ()
    grown = after - before
    if grown <= NOISE_BYTES:
        return "freed", None, ()
    if grown <= TOLERANCE_BYTES:
        return "freed, drifted", f"{grown >> 20} MiB above the figure before, within {TOLERANCE_BYTES >> 20} MiB", ()
    others = tuple(h for h in holders if h.pid is not None)
    if others:
        return "held", f"held by {', '.join(_name(h) for h in others)}", others
    return "held", f"{grown >> 20} MiB above the figure before, and no process explains it", tuple(holders)


def _name(holder: Holder) -> str:
    who = f"pid {holder.pid} ({holder.command or 'unknown command'}"
    return who + (f" of {holder.user})" if holder.user else ")")


def _card(plan: DevicePlan, scan: Scan | None) -> Card | None:
    host = scan.host(plan.host) if scan else None
    return host.card(plan.card) if host else None


def _used(card: Card | None, ours: frozenset[int]) -> int | None:
    if card is None:
        return None
    if card.kind != "cpu":
        return card.used_bytes
    if card.holders is None:
        return None
    return sum(h.bytes or 0 for h in card.holders if h.pid in ours)


def _held_now(before: Card | None, after: Card | None, ours: frozenset[int]) -> tuple[Holder, ...]:
    """Holders of now that are ours, or that were not there before."""
    if after is None or after.holders is None:
        return ()
    known = {h.pid for h in before.holders or ()} if before else set()
    return tuple(h for h in after.holders if h.pid in ours or h.pid is None or h.pid not in known)
