"""The plan's candidates as a schedule sees them: their figures, and the one machine that each is held against. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.campaign.placement import Placement
from evener.plan.verdict import best_alone
from evener.records.plan import Candidate, Plan, Predicted


def placement(candidate: Candidate, plan: Plan) -> Placement:
    """A candidate as a schedule sees it."""
    if not candidate.fits:
        return Placement(candidate=None, why_not=candidate.why_not)
    if candidate.kind == "replicas":
        return Placement(candidate=candidate.name, hosts=candidate.hosts, copies=tuple(_copies(candidate, plan)))
    if not candidate.one_server:
        return Placement(candidate=None, why_not=f"{len(candidate.servers)} servers, and evener loads one at a time")
    predicted = candidate.predicted or Predicted()
    on_cards = [device for device in candidate.devices if device.position >= 0]
    shares = [device.total_bytes / device.offered_bytes for device in on_cards if device.offered_bytes]
    users, prefill = predicted.users_tokens_per_s, predicted.prefill_tokens_per_s
    return Placement(
        candidate=candidate.name,
        hosts=candidate.hosts,
        devices=tuple((device.host, device.card, device.layers) for device in candidate.devices if device.layers),
        baseline=_baseline(plan) if len(candidate.hosts) > 1 else None,
        load_s=predicted.load_s.value if predicted.load_s else None,
        decode=predicted.decode_tokens_per_s,
        users_tokens_per_s=users.value if users else None,
        prefill_tokens_per_s=prefill.value if prefill else None,
        fullest=max(shares, default=None),
        cards_bytes=sum(device.total_bytes for device in on_cards),
    )


def _baseline(plan: Plan) -> str | None:
    """The single machine that does best; where the model fits none, the one that lacks least."""
    best = best_alone(plan.candidates, plan.workload.aim)
    if best is not None:
        return best.name
    alone = [one for one in plan.candidates if one.kind == "host"] or [c for c in plan.candidates if c.kind == "card"]
    return min(alone, key=lambda one: one.short_bytes).name if alone else None


def _copies(candidate: Candidate, plan: Plan) -> Iterator[str]:
    """Where each copy is: the best layout of its own host."""
    for host in candidate.hosts:
        own = best_alone([one for one in plan.candidates if one.hosts == (host,)], plan.workload.aim)
        if own is not None:
            yield own.name
