"""Candidates and the verdict: the single machine first, then what lies beyond. Pure: a question in, a plan out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evener.errors import ConfigurationError
from evener.plan import memory
from evener.plan.built import built, built_as, built_experts_in_ram, built_partial
from evener.plan.chains import Chains, chains_of
from evener.plan.figures import BY_MEMORY, CLUSTER, PER_CARD, figure
from evener.plan.other_cables import over_others
from evener.plan.placing import MOST_DEVICES, Chain, by_memory
from evener.plan.question import Question
from evener.plan.replicas import Copy, built_replicas
from evener.plan.runs import Load
from evener.plan.second_machine import benefits
from evener.plan.verdict import verdict_for
from evener.plan.ways_out import ways_out
from evener.records.plan import Candidate, ModelSummary, Plan, Verdict
from evener.records.weights import Weights

__all__ = ["Question", "judged", "make_plan"]

SHORT_OF_CARDS = ("none", "experts-in-ram", "partial-offload")


def make_plan(question: Question, *, layout: str = "auto", advice: bool = True) -> Plan:
    """All candidates and the verdict for `layout`.

    Each card, each host, experts in RAM or some layers there, replicas, and the clusters. `layout` is "auto", a host's
    name, "cluster", "cluster-on-HOST", or any candidate's name. Without `advice` neither what the second machine and
    another cable would give nor ways out are looked for. Raises NameUnknown for any other layout, ModelError where the
    model's cache is not known, and ConfigurationError for drafts of a model that has nothing to draft with.
    """
    _require_drafting(question)
    candidates = tuple(_candidates(question))
    return Plan(
        model=_summary(question.weights),
        workload=question.workload,
        verdict=judged(question, candidates, layout=layout, advice=advice),
        candidates=candidates,
    )


def _require_drafting(question: Question) -> None:
    if memory.mtp_drafts(question.weights, question.workload) and not question.weights.mtp_layers:
        raise ConfigurationError(
            f"--drafts: {question.weights.name} has no MTP blocks to draft with",
            hint="models of the catalogue whose names end in -mtp have some; or --draft MODEL",
        )


def judged(
    question: Question, candidates: Sequence[Candidate], *, layout: str = "auto", advice: bool = True
) -> Verdict:
    """The verdict over `candidates`, which may have been confirmed meanwhile."""
    verdict = verdict_for(
        candidates, question.weights, question.workload, layout, one_server=question.one_server
    )  # fmt: skip
    if not advice:
        return verdict
    chains = chains_of(question)
    return replace(
        verdict,
        reasons=(*verdict.reasons, *over_others(question, candidates, chains)),
        second_machine=benefits(question, candidates, chains),
        ways_out=ways_out(question, candidates, chains, layout) if verdict.kind in SHORT_OF_CARDS else (),
    )


def _summary(weights: Weights) -> ModelSummary:
    return ModelSummary(
        name=weights.name,
        architecture=weights.architecture,
        quantisation=weights.quantisation,
        file_bytes=weights.file_bytes,
        layers=weights.layers,
        parameters=weights.parameters,
        active_parameters=weights.active_parameters,
        context_train=weights.context_train,
    )


def _candidates(question: Question) -> Iterator[Candidate]:
    load = Load(weights=question.weights, workload=question.workload)
    chains = chains_of(question)
    alone: list[Copy] = []
    for chain in chains.hosts:
        if len(chain.seats) > 1:
            for seat in sorted(chain.seats, key=lambda s: -s.offered_bytes):
                yield built(seat.name, "card", Chain(seats=(seat,), head=chain.head, links={}), load, question)
        whole = built(chain.head, "host", chain, load, question)
        alone.append(Copy(chain=chain, alone=whole))
        yield whole
        if not whole.fits and whole.short_bytes and chain.seats[0].card.kind != "cpu":
            yield from _partly_in_ram(chain, load, question)
    copies = [one for one in _on_machines_of_their_own(alone, question) if one.alone.fits]
    if len(copies) > 1 and question.workload.users >= len(copies):
        yield built_replicas(copies, load, question)
    yield from _clusters(chains, load, question)


def _clusters(chains: Chains, load: Load, question: Question) -> Iterator[Candidate]:
    """With llama-server on the first host, and on each other one; with a worker per card where that is faster."""
    made: dict[str, Candidate] = {}
    for name, chain in chains.clusters.items():
        made[name] = built(name, "cluster", chain, load, question)
        if _is_worth_a_row(name, made):
            yield made[name]
    first = made.get(CLUSTER)
    whole = chains.cluster
    if first is not None and first.predicted is not None and whole is not None and len(whole.seats) <= MOST_DEVICES:
        yield built_as(BY_MEMORY, "cluster", whole, by_memory(whole, load), question)


def _is_worth_a_row(name: str, made: Mapping[str, Candidate]) -> bool:
    """Where all cards together are too few, no other head helps; and more workers have to be predicted faster."""
    one, first = made[name], made[CLUSTER]
    if one.fits and name.endswith(PER_CARD):
        mine, plain = (figure(c, "prompt") for c in (one, made[name.removesuffix(PER_CARD)]))
        return mine is not None and (plain is None or mine.value > plain.value)
    return one.fits or name == CLUSTER or not one.short_bytes or (first.fits and not name.endswith(PER_CARD))


def _partly_in_ram(chain: Chain, load: Load, question: Question) -> Iterator[Candidate]:
    experts = built_experts_in_ram(chain, load, question)
    if experts is not None:
        yield experts
    if experts is None or not experts.fits:
        partial = built_partial(chain, load, question)
        if partial is not None:
            yield partial


def _on_machines_of_their_own(copies: Sequence[Copy], question: Question) -> list[Copy]:
    """Of hosts that are one machine, the first."""
    machines: dict[str, Copy] = {}
    for copy in copies:
        seen = question.scan.host(copy.chain.head)
        machines.setdefault((seen.machine_id if seen else None) or copy.chain.head, copy)
    return list(machines.values())
