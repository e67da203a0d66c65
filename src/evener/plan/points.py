"""Many plans in short: a row per question, and which of several models or quantisations to look at first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evener.errors import EvenerError
from evener.plan import money
from evener.plan.money import Prices
from evener.records.plan import Candidate, Plan, Predicted, Workload
from evener.records.rig import Rig
from evener.records.weights import Weights
from evener.records.whatif import Answer, Point, Seats

TIGHT = 0.95  # a fuller card leaves no room for what an estimate may miss


def point(
    plan: Plan,
    *,
    rig: Rig,
    prices: Prices,
    changes: Mapping[str, str],
    seats: Seats | None = None,
    estimate: str | None = None,
) -> Point:
    """A plan's answer in one row."""
    verdict = plan.verdict
    chosen = plan.candidate(verdict.choice) if verdict.choice else None
    full = fullest(chosen) if chosen else None
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
        answer=answer(chosen),
        choice=chosen.name if chosen else None,
        hosts=chosen.hosts if chosen else (),
        kind=verdict.kind,
        needs_bytes=sum(device.total_bytes for device in chosen.devices) if chosen else None,
        short_bytes=0 if chosen else min((c.short_bytes for c in plan.candidates if not c.fits), default=0),
        full=full,
        tight=full is not None and full >= TIGHT,
        decode_tokens_per_s=predicted.decode_tokens_per_s,
        users_tokens_per_s=predicted.users_tokens_per_s,
        prefill_tokens_per_s=predicted.prefill_tokens_per_s,
        seats=seats,
        cost=cost,
        estimate=estimate,
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
        kind="none",
        needs_bytes=None,
        short_bytes=0,
        full=None,
        tight=False,
        decode_tokens_per_s=None,
        users_tokens_per_s=None,
        prefill_tokens_per_s=None,
        fault=error.message,
    )


def answer(chosen: Candidate | None) -> Answer:
    if chosen is None:
        return "no"
    return "one machine" if len(chosen.hosts) == 1 else "several machines"


def fullest(candidate: Candidate) -> float | None:
    """The largest share that a card gives of what it offers."""
    shares = (d.total_bytes / d.offered_bytes for d in candidate.devices if d.offered_bytes)
    return max(shares, default=None)


def ranked(points: Iterable[Point]) -> tuple[Point, ...]:
    """One row per model, what fits one machine first, then by the tokens per second of all users together.

    That is an order by place and speed. How good the answers are is not known here.
    """
    fits = {"one machine": 0, "several machines": 1, "no": 2}
    return tuple(sorted(points, key=lambda p: (fits[p.answer], -_rate(p), -p.parameters, p.model)))


def best_of(points: Sequence[Point]) -> Point | None:
    """Of one model's quantisations, the largest that fits one machine, else the largest that fits several.

    None when none fits.
    """
    on_one = [p for p in points if p.answer == "one machine"]
    fitting = on_one or [p for p in points if p.answer == "several machines"]
    return max(fitting, key=lambda p: p.file_bytes, default=None)


def _rate(point: Point) -> float:
    return point.users_tokens_per_s.value if point.users_tokens_per_s else 0.0
