"""What the machines beyond the first buy, ranked: this model at all, a replica, a second model, context, size, speed.

Pure. Figures are of the same predictions as the candidates'; what cannot be compared has no gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from evener.plan.chains import Chains
from evener.plan.figures import behind_comma, figure, too_close, whose
from evener.plan.placing import SPARE, Chain, longest_context, placed
from evener.plan.question import Question
from evener.plan.runs import Load
from evener.plan.verdict import best_alone, best_of
from evener.plan.words import gib, rate
from evener.records.plan import Benefit, BenefitKind, Candidate, Objective
from evener.records.weights import Weights

WORTH = 1.05  # less is not worth a machine
MATCHING: dict[Objective, tuple[BenefitKind, ...]] = {
    "latency": ("speed",), "crowd": ("replica", "speed"), "prompt": ("speed",), "context": ("context",),
}  # fmt: skip


ORDER: tuple[BenefitKind, ...] = ("replica", "context", "bigger model", "second model", "speed")


def benefits(question: Question, candidates: Sequence[Candidate], chains: Chains) -> tuple[Benefit, ...]:
    """The best first; empty where there is one machine, or nothing fits."""
    if chains.cluster is None or len(_machines(question, chains.cluster)) < 2:
        return ()
    aim = question.workload.aim
    alone = best_alone(candidates, aim)
    if alone is None:
        several = best_of([c for c in candidates if c.kind == "cluster"], aim)
        return () if several is None else (_at_all(several, question.weights, aim),)
    first = next(chain for chain in chains.hosts if chain.head == alone.hosts[0])
    found = [
        *_replica(candidates, alone),
        *_second_model(question, first, chains),
        *_context(question, first, chains.cluster),
        *_bigger(question, chains),
        *_speed(candidates, alone, aim),
    ]
    ranked = sorted(found, key=lambda b: _rank(b, aim))
    if any((b.gain or 0) >= WORTH for b in found):
        return tuple(ranked)
    compared = next((b for b in ranked if b.gain is not None), None)
    why = compared.sentence if compared else "one machine holds everything that two would"
    return (Benefit(kind="nothing", sentence=why, layout=alone.name, gain=compared.gain if compared else None),)


def _machines(question: Question, chain: Chain) -> set[str]:
    seen = ((host, question.scan.host(host)) for host in chain.hosts)
    return {(one.machine_id if one else None) or host for host, one in seen}


def _rank(benefit: Benefit, aim: Objective) -> tuple[bool, int]:
    """What is worth a machine first, then what was asked for. Gains of two kinds are in two units: not compared."""
    wanted = MATCHING[aim]
    order = (*wanted, *(kind for kind in ORDER if kind not in wanted))
    return (benefit.gain or 0.0) < WORTH, order.index(benefit.kind)


def _at_all(several: Candidate, weights: Weights, aim: Objective) -> Benefit:
    speed = behind_comma(several, aim)
    return Benefit(
        kind="this model",
        sentence=f"{weights.name} at all: no machine's cards hold it alone{speed}{_where(several)}",
        layout=several.name,
    )


def _replica(candidates: Sequence[Candidate], alone: Candidate) -> Iterator[Benefit]:
    copies = next((c for c in candidates if c.kind == "replicas" and c.fits), None)
    mine, theirs = figure(alone, "crowd"), figure(copies, "crowd") if copies else None
    if copies is None or mine is None or theirs is None:
        return
    close = ", too close to call" if too_close(mine, theirs) else ""
    yield Benefit(
        kind="replica",
        sentence=f"a replica: all users together {rate(theirs)} instead of {rate(mine)}{close}",
        layout=copies.name,
        gain=theirs.value / mine.value,
    )


def _second_model(question: Question, first: Chain, chains: Chains) -> Iterator[Benefit]:
    others = [chain for chain in chains.hosts if chain.head != first.head and chain.seats[0].card.kind != "cpu"]
    room = {chain.head: sum(seat.room_bytes for seat in chain.seats) for chain in others}
    if not others:
        return
    best = max(others, key=lambda chain: room[chain.head])
    example = _largest(question, lambda w: not _same(w, question.weights) and _fits(best, w, question))
    words = f", e.g. for {example.name} ({gib(example.file_bytes)})" if example else ""
    yield Benefit(
        kind="second model",
        sentence=f"a second model beside the first: {best.head} has {gib(room[best.head])} on its cards{words}",
        layout=best.head,
        gain=2.0 if example else None,
    )


def _context(question: Question, first: Chain, cluster: Chain) -> Iterator[Benefit]:
    if question.weights.attention is None:
        return  # caches measured for one context say nothing of another
    load = Load(weights=question.weights, workload=question.workload, spare=SPARE)
    alone, together = (
        longest_context(chain, load) or longest_context(chain, replace(load, spare=0.0)) for chain in (first, cluster)
    )
    if alone is None or together is None:
        return
    asked = question.workload.context  # which fits on one machine, if need be tightly
    mine, theirs = (max(asked, one.load.workload.context) for one in (alone, together))
    if theirs > mine:
        yield Benefit(
            kind="context",
            sentence=f"longer context: {theirs} tokens for each of {load.workload.users} instead of {mine}",
            layout="cluster",
            gain=theirs / mine,
        )


def _bigger(question: Question, chains: Chains) -> Iterator[Benefit]:
    cluster = chains.cluster
    assert cluster is not None

    def only_together(weights: Weights) -> bool:
        alone = any(_fits(chain, weights, question) for chain in chains.hosts)
        return not alone and _fits(cluster, weights, question)

    mine = question.weights
    larger = _largest(question, lambda w: _same(w, mine) and w.file_bytes > mine.file_bytes and only_together(w))
    larger = larger or _largest(question, lambda w: w.parameters > mine.parameters and only_together(w))
    if larger is not None:
        yield Benefit(
            kind="bigger model",
            sentence=f"a bigger one: {larger.name} ({gib(larger.file_bytes)}), which fits no machine alone",
            layout="cluster",
            gain=larger.file_bytes / mine.file_bytes,
        )


def _speed(candidates: Sequence[Candidate], alone: Candidate, aim: Objective) -> Iterator[Benefit]:
    cluster = best_of([c for c in candidates if c.kind == "cluster" and len(c.hosts) > 1], aim)
    mine, theirs = figure(alone, aim), figure(cluster, aim) if cluster else None
    if cluster is None or mine is None or theirs is None:
        return
    gain = theirs.value / mine.value
    if too_close(mine, theirs):
        verdict = f"speed: too close to call, {whose(aim)}{rate(theirs)} against {rate(mine)} alone"
    elif gain > 1:
        verdict = f"speed: {whose(aim)}{rate(theirs)} instead of {rate(mine)}"
    else:
        verdict = f"no speed: {whose(aim)}{rate(theirs)} against {rate(mine)} alone"
    yield Benefit(kind="speed", sentence=verdict + _where(cluster), layout=cluster.name, gain=gain)


def _where(candidate: Candidate) -> str:
    """What takes a token's time: the link's share, and the slowest device's."""
    shares = candidate.predicted.per_token_ms if candidate.predicted else ()
    if not shares:
        return ""
    whole = sum(share.ms for share in shares)
    link = sum(share.ms for share in shares if share.kind == "link")
    devices: dict[str, float] = {}
    for share in shares:
        if share.kind != "link":
            devices[share.where] = devices.get(share.where, 0.0) + share.ms
    slowest = max(devices, key=lambda where: devices[where])
    cards = {f"{d.host}/{d.device}": f"{d.host}/{d.card_name}" for d in candidate.devices}
    of_it = f"{cards.get(slowest, slowest)} {devices[slowest] / whole:.0%}"
    return f"; of one user's token, {whole:.1f} ms, the link takes {link / whole:.0%}, {of_it}"


def _largest(question: Question, good: Callable[[Weights], bool]) -> Weights | None:
    """The largest of the other models that is good."""
    return next((w for w in sorted(question.others, key=lambda w: -w.file_bytes) if good(w)), None)


def _same(one: Weights, other: Weights) -> bool:
    """Whether two files are quantisations of one model."""
    return (one.architecture, one.layers, one.parameters) == (other.architecture, other.layers, other.parameters)


def _fits(chain: Chain, weights: Weights, question: Question) -> bool:
    if weights.attention is None or sum(weights.slot_bytes) > sum(seat.room_bytes for seat in chain.seats):
        return False
    return placed(chain, Load(weights=weights, workload=question.workload)) is not None
