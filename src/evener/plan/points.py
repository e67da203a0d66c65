"""Many plans in short: a row per question, and which of several models or quantisations to look at first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evener.errors import EvenerError
from evener.plan import money
from evener.plan.money import Prices
from evener.records.card import Scan
from evener.records.plan import Candidate, Plan, Predicted, Workload
from evener.records.rig import Rig
from evener.records.weights import Weights
from evener.records.whatif import Answer, Point, Seats

IN_RAM = ("experts-in-ram", "partial-offload")  # layouts that need main memory, which may be slow, or unknown
TPOT_MS = 100.0  # ten tokens a second are faster than people read


def point(
    plan: Plan,
    *,
    rig: Rig,
    scan: Scan,
    prices: Prices,
    layout: str = "auto",
    changes: Mapping[str, str],
    seats: Seats | None = None,
    estimate: str | None = None,
) -> Point:
    """A plan's answer in one row."""
    verdict = plan.verdict
    chosen = plan.candidate(verdict.choice) if verdict.choice else None
    fewest = chosen if layout != "auto" else on_fewest(plan.candidates, chosen)
    predicted = (chosen.predicted if chosen else None) or Predicted()
    cost = None
    if chosen is not None:
        people = seats.people if seats else plan.workload.users
        cost = money.cost(chosen, seats=people, prices=prices, money=rig.money)
    return Point(
        model=plan.model.name,
        quantisation=plan.model.quantisation,
        file_bytes=plan.model.file_bytes,
        parameters=plan.model.parameters,
        active_parameters=plan.model.active_parameters,
        changes=dict(changes),
        workload=plan.workload,
        answer=answer(fewest),
        choice=chosen.name if chosen else None,
        hosts=chosen.hosts if chosen else (),
        fewest_hosts=fewest.hosts if fewest else (),
        fewest_tight=fewest is not None and fewest.marginal,
        kind=verdict.kind,
        needs_bytes=sum(device.total_bytes for device in chosen.devices if device.position >= 0) if chosen else None,
        short_bytes=0 if chosen else min((c.short_bytes for c in plan.candidates if not c.fits), default=0),
        full=fullness(chosen, scan) if chosen else None,
        tight=chosen is not None and chosen.marginal,
        quick=is_quick(predicted, plan.workload, tpot_limit_ms=seats.profile.tpot_limit_ms if seats else TPOT_MS),
        decode_tokens_per_s=predicted.decode_tokens_per_s,
        users_tokens_per_s=predicted.users_tokens_per_s,
        prefill_tokens_per_s=predicted.prefill_tokens_per_s,
        seats=seats,
        cost=cost,
        estimate=estimate,
        depth=predicted.depth,
    )


def faulty(weights: Weights, workload: Workload, changes: Mapping[str, str], error: EvenerError) -> Point:
    """The row of a question that has no answer."""
    return Point(
        model=weights.name,
        quantisation=weights.quantisation,
        file_bytes=weights.file_bytes,
        parameters=weights.parameters,
        active_parameters=weights.active_parameters,
        changes=dict(changes),
        workload=workload,
        answer="no",
        choice=None,
        hosts=(),
        fewest_hosts=(),
        fewest_tight=False,
        kind="none",
        needs_bytes=None,
        short_bytes=0,
        full=None,
        tight=False,
        quick=None,
        decode_tokens_per_s=None,
        users_tokens_per_s=None,
        prefill_tokens_per_s=None,
        fault=error.message,
    )


def on_fewest(candidates: Sequence[Candidate], chosen: Candidate | None) -> Candidate | None:
    """The layout on the fewest machines, on their cards alone where that goes, and with room; else the chosen one."""
    fitting = [*([chosen] if chosen else []), *(c for c in candidates if c.fits)]
    return min(fitting, key=lambda c: (c.kind in IN_RAM, len(c.hosts), c.marginal), default=None)


def answer(fewest: Candidate | None) -> Answer:
    if fewest is None:
        return "no"
    if fewest.kind in IN_RAM:
        return "with main memory"
    return "one machine" if len(fewest.hosts) == 1 else "several machines"


def is_quick(predicted: Predicted, workload: Workload, *, tpot_limit_ms: float) -> bool | None:
    """Whether each of the users gets a token as often as that, all being answered at once. None where nobody knows."""
    rate = predicted.users_tokens_per_s
    return None if rate is None else rate.value / workload.users >= 1000 / tpot_limit_ms


def fullness(candidate: Candidate, scan: Scan) -> float | None:
    """What it needs of all that its machines offer; of what its cards offer, where it is a choice of cards.

    A fast card is filled to the brim on purpose, so the fullest card says nothing.
    """
    on_cards = [device for device in candidate.devices if device.position >= 0]  # the head's CPU has -1
    held = {device.card for device in on_cards}
    offered = sum(
        card.offered_bytes or 0
        for host in scan.hosts
        if host.name in candidate.hosts
        for card in host.cards
        if card.id in held or (candidate.kind != "card" and card.kind != "cpu" and card.device and not card.excluded)
    )
    return sum(device.total_bytes for device in on_cards) / offered if offered else None


def ranked(points: Iterable[Point]) -> tuple[Point, ...]:
    """What is quick enough for every user first, then one machine before several, then the model with more parameters.

    More parameters are no promise: how good the answers are is not known here.
    """
    order = ("one machine", "several machines", "with main memory", "no")
    return tuple(sorted(points, key=lambda p: (p.quick is not True, order.index(p.answer), -p.parameters, p.model)))


def best_of(points: Sequence[Point]) -> Point | None:
    """Of one model's quantisations, the largest that fits one machine, else the largest that fits several.

    None when none fits on cards.
    """
    on_one = [p for p in points if p.answer == "one machine"]
    fitting = on_one or [p for p in points if p.answer == "several machines"]
    return max(fitting, key=lambda p: p.file_bytes, default=None)
