"""What the cables would give that a cluster does not take: of two between the same hosts one is used. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evener.plan.built import predicted_of
from evener.plan.chains import Chains
from evener.plan.figures import figure_of, too_close
from evener.plan.placing import Chain, placed
from evener.plan.question import Question
from evener.plan.routes import cables, route
from evener.plan.runs import Load
from evener.plan.verdict import best_of
from evener.plan.words import rate
from evener.records.plan import Candidate, Value
from evener.records.speed import LinkSpeed


def over_others(question: Question, candidates: Sequence[Candidate], chains: Chains) -> Iterator[str]:
    """A line for each cable that the best cluster leaves unused, cut anew for it."""
    aim = question.workload.aim
    best = best_of([c for c in candidates if c.name in chains.clusters], aim)
    mine = figure_of(best.predicted, aim) if best else None
    if best is None or mine is None:
        return
    chain = chains.clusters[best.name]
    for host in best.hosts:
        taken, others = _cables(chain.head, host, question)
        for other in others:
            theirs = _figure(replace(chain, links={**chain.links, host: other}), question)
            if theirs is not None:
                close = ", too close to call" if too_close(mine, theirs) else ""
                yield f"{best.name} over {other.name}: {rate(theirs)} instead of {rate(mine)} over {taken}{close}"


def _cables(head: str, host: str, question: Question) -> tuple[str | None, list[LinkSpeed]]:
    """The name of the cable in use to a host, and the others."""
    near, far = question.rig.host(head), question.rig.host(host)
    if near is None or far is None:
        return None, []
    taken = route(near, far, question.rig, question.scan).link
    every = cables(near, far, question.rig, question.scan)
    return (taken.name if taken else None), [speed for link, speed in every.items() if link != taken]


def _figure(chain: Chain, question: Question) -> Value | None:
    done = placed(chain, Load(weights=question.weights, workload=question.workload))
    return figure_of(predicted_of(chain, done, question), question.workload.aim) if done else None
