"""The model once on each of several hosts: users divided, memory and speed together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evener.plan.built import built, refused
from evener.plan.placing import Chain
from evener.plan.question import Question
from evener.plan.runs import Load
from evener.plan.speed_values import largest, total
from evener.records.plan import Candidate, Predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One replica: the chain of its host, and how its host does alone with all users."""

    chain: Chain
    alone: Candidate


def built_replicas(replicas: Sequence[Copy], load: Load, question: Question) -> Candidate:
    """The model once on each host, users divided by what each host is predicted to do, else evenly."""
    shares = _divided(load.workload.users, [_rate(one.alone) for one in replicas])
    each = []
    for one, users in zip(replicas, shares, strict=True):
        own = replace(load, workload=replace(load.workload, users=users, objective=load.workload.aim))
        each.append(built(one.chain.head, "host", one.chain, own, question))
    hosts = tuple(host for one in each for host in one.hosts)
    if failed := next((one for one in each if not one.fits), None):
        why = failed.why_not or ""
        return refused("replicas", "replicas", hosts, short_bytes=failed.short_bytes, why=f"{failed.name}: {why}")
    held = [one.longest_context for one in each]
    return Candidate(
        name="replicas", kind="replicas", hosts=hosts, fits=True, short_bytes=0,
        devices=tuple(device for one in each for device in one.devices),
        host_bytes={host: size for one in each for host, size in one.host_bytes.items()},
        servers=tuple(server for one in each for server in one.servers),
        workers=(), predicted=_together(each),
        bench=tuple(command for one in each for command in one.bench),
        marginal=any(one.marginal for one in each),
        longest_context=None if None in held else min(n for n in held if n is not None),
        warnings=tuple(line for one in each for line in one.warnings),
    )  # fmt: skip


def _rate(candidate: Candidate) -> float | None:
    rate = candidate.predicted.users_tokens_per_s if candidate.predicted else None
    return rate.value if rate else None


def _divided(users: int, rates: Sequence[float | None]) -> list[int]:
    """Users in proportion to the rates, everybody at least one; the remainder goes to the fastest."""
    known = [rate for rate in rates if rate is not None]
    weights = known if len(known) == len(rates) else [1.0] * len(rates)
    shares = [max(1, int(users * weight / sum(weights))) for weight in weights]
    fastest = max(range(len(weights)), key=lambda i: weights[i])
    shares[fastest] += users - sum(shares)
    return shares


def _together(made: Sequence[Candidate]) -> Predicted | None:
    """All users of all replicas; one user's tokens and prompts are those of the fastest, which is named."""
    each = [(one.hosts[0], one.predicted) for one in made]
    known = [(host, one, one.decode_tokens_per_s) for host, one in each if one and one.decode_tokens_per_s]
    if len(known) < len(each):
        return None
    rates = [one.users_tokens_per_s for _, one, _ in known if one.users_tokens_per_s is not None]
    loads = [one.load_s for _, one, _ in known if one.load_s is not None]
    host, fastest, _ = max(known, key=lambda one: one[2].value)
    return replace(
        fastest,
        of_host=host,
        users_tokens_per_s=total(rates) if len(rates) == len(each) else None,
        load_s=largest(*loads) if len(loads) == len(each) else None,
    )
