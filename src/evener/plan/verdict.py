"""Which candidate wins, in a sentence with reasons. Pure.

Where every layout on cards has a predicted speed the fastest wins. Of those that are too close to call (one's likely
speed lies within the other's interval) it is the one that leaves some of each card free, then the one with the fewest
machines, with llama-server on the rig's first host and one worker per host. For the longest context only those that
hold the longest are compared. Else a rule decides: single machines first, then the cluster, then what leaves a part in
RAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evener.errors import ConfigurationError, NameUnknown
from evener.plan.compared import against, context_against, more_workers
from evener.plan.figures import BY_MEMORY, ON_ANOTHER, PER_CARD, behind_comma, figure, speed_of, too_close
from evener.plan.routes import UNSTATED
from evener.plan.words import gib, layers
from evener.records.plan import Candidate, Objective, Verdict, Workload
from evener.records.weights import Weights

MARGINAL = "; marginal: with 5 % of each card kept free it would not"
_RULE = ("card", "host", "cluster", "experts-in-ram", "partial-offload")


def verdict_for(
    candidates: Sequence[Candidate],
    weights: Weights,
    workload: Workload,
    layout: str = "auto",
    *,
    one_server: bool = False,
) -> Verdict:
    """The verdict for what was asked; `one_server` takes nothing that needs several.

    Raises NameUnknown for a layout that is none, ConfigurationError for one that needs more than one server.
    """
    reasons = tuple(_reasons(candidates, weights, workload))
    if layout == "auto":
        chosen = best_of(candidates, workload.aim, one_server=one_server)
        if chosen is None:
            return Verdict(choice=None, kind="none", sentence=_nowhere(candidates, weights), reasons=reasons)
        others = context_against if chosen.longest_context else against
        sentence = _sentence(chosen, weights, workload.aim) + others(chosen, candidates, workload.aim)
        return Verdict(choice=chosen.name, kind=chosen.kind, sentence=sentence, reasons=reasons)
    asked = next((c for c in candidates if c.name == layout), None)
    if asked is None:
        known = ", ".join(["auto", *(c.name for c in candidates)])
        when = "; a worker for each card is one --for prompt, where it is faster" if layout.endswith(PER_CARD) else ""
        raise NameUnknown(f"--layout {layout}: no such layout", hint=f"one of: {known}{when}")
    if one_server and asked.fits and not asked.one_server:
        alone = best_of(candidates, workload.aim, one_server=True)
        now = f"--layout {alone.name} is what it would run now; " if alone else ""
        raise ConfigurationError(
            f"--layout {layout}: {len(asked.servers)} servers, and evener up runs one",
            hint=f"{now}evener plan --commands has a command line for each server",
        )
    return Verdict(
        choice=asked.name if asked.fits else None,
        kind=asked.kind if asked.fits else "none",
        sentence=_as_asked(asked, candidates, weights, workload.aim),
        reasons=reasons,
    )


def best_of(candidates: Sequence[Candidate], aim: Objective, *, one_server: bool = False) -> Candidate | None:
    """The candidate to take; `one_server` leaves out what needs several. None when nothing fits."""
    fitting = [c for c in candidates if c.fits and c.name != BY_MEMORY and (c.one_server or not one_server)]
    if aim == "context" and (longest := max((c.longest_context or 0 for c in fitting), default=0)):
        fitting = [c for c in fitting if c.longest_context == longest]
    on_cards = [c for c in fitting if c.kind in ("card", "host", "cluster")]
    known = [c for c in fitting if figure(c, aim) is not None]
    if known and all(c in known for c in on_cards):
        return _fastest(known, aim)
    by_rule = [c for kind in _RULE for c in fitting if c.kind in _alike(kind)]
    return next(iter(by_rule), None)


def best_alone(candidates: Sequence[Candidate], aim: Objective) -> Candidate | None:
    """The best single machine that holds everything on its cards."""
    return best_of([c for c in candidates if c.kind in ("card", "host")], aim)


def _alike(kind: str) -> tuple[str, ...]:
    return ("card", "host") if kind in ("card", "host") else (kind,)


def _fastest(known: Sequence[Candidate], aim: Objective) -> Candidate:
    """Of those too close to the fastest what is not marginal, the simplest, the fastest, the fewest devices."""
    figures = [(candidate, value) for candidate in known if (value := figure(candidate, aim)) is not None]
    top = max((value for _, value in figures), key=lambda v: v.value)
    close = [(c, v) for c, v in figures if v.value >= top.value or too_close(v, top)]
    return min(
        close,
        key=lambda pair: (pair[0].marginal, *_parts(pair[0]), -pair[1].value, len(pair[0].devices)),
    )[0]


def _parts(candidate: Candidate) -> tuple[int, bool, bool]:
    """What somebody would have to look after, from the usual to the unusual."""
    return len(candidate.hosts), candidate.name.startswith(ON_ANOTHER), candidate.name.endswith(PER_CARD)


def _sentence(chosen: Candidate, weights: Weights, aim: Objective) -> str:
    return _fits(chosen, weights, aim) + (f"{MARGINAL} fit" if chosen.marginal else "")


def _fits(chosen: Candidate, weights: Weights, aim: Objective) -> str:
    held = gib(sum(d.total_bytes for d in chosen.devices))
    context = chosen.longest_context
    speed = f", up to {context} tokens per user" if context else ""
    speed += behind_comma(chosen, aim)
    if chosen.kind == "cluster":
        cards = ", ".join(f"{layers(d.layers)} on {d.host}/{d.card_name}" for d in chosen.devices)
        return f"{weights.name} needs {held}: {cards}{_not_as_usual(chosen)}{speed}"
    if chosen.kind == "replicas":
        return f"{weights.name} on each of {' and '.join(chosen.hosts)}, users divided{speed}; no network in the way"
    if chosen.kind == "experts-in-ram":
        ram = gib(sum(chosen.host_bytes.values()))
        return f"{weights.name} fits on {chosen.hosts[0]} with experts in RAM: {held} on cards, {ram} in RAM{speed}"
    if chosen.kind == "partial-offload":
        left = sum(d.layers for d in chosen.devices if d.position < 0)
        return f"{weights.name} fits on {chosen.hosts[0]} with {layers(left)} left to its CPU{speed}"
    return f"{weights.name} needs {held} and fits on {chosen.name} alone{speed}; no network in the way"


def _not_as_usual(cluster: Candidate) -> str:
    """Where llama-server runs, if not on the rig's first host; which hosts run several workers."""
    several = [host for host, count in Counter(worker.host for worker in cluster.workers).items() if count > 1]
    head = f"; llama-server on {cluster.servers[0].host}" if cluster.name.startswith(ON_ANOTHER) else ""
    return head + (f"; a worker for each card on {' and '.join(several)}" if several else "")


def _as_asked(asked: Candidate, candidates: Sequence[Candidate], weights: Weights, aim: Objective) -> str:
    sentence = f"{asked.name}, as you asked: {_sentence(asked, weights, aim) if asked.fits else asked.why_not}"
    alone = best_alone(candidates, aim)
    if asked.kind == "cluster" and asked.fits and alone is not None:
        sentence += f". It also fits on {alone.name} alone, without the link"
        if figure(alone, aim) is not None:
            sentence += f": {speed_of(alone, aim)}"
    return sentence


def _nowhere(candidates: Sequence[Candidate], weights: Weights) -> str:
    if not candidates:
        return "no host of this rig has a card to plan for"
    on_cards = [c for c in candidates if c.kind in ("card", "host", "cluster") and c.name != BY_MEMORY]
    nearest = min(on_cards or candidates, key=lambda c: c.short_bytes)
    if nearest.short_bytes == 0:
        return f"{weights.name} would fit on {nearest.name}, but {nearest.why_not}"
    short = f"{weights.name} fits nowhere: {nearest.name} comes nearest and is {gib(nearest.short_bytes)} short"
    return f"{short} ({nearest.why_not})"


def _reasons(candidates: Sequence[Candidate], weights: Weights, workload: Workload) -> Iterator[str]:
    for candidate in candidates:
        if not candidate.fits:
            yield f"{candidate.name}: {candidate.why_not}"
            continue
        on_cards = [d for d in candidate.devices if d.position >= 0 and d.offered_bytes]  # the head's CPU is no card
        fullest = max((d.total_bytes / (d.offered_bytes or 1) for d in on_cards), default=None)
        share = "" if fullest is None else f", the fullest card takes {fullest:.0%} of what it offers"
        marginal = MARGINAL if candidate.marginal else ""
        context = f", holds up to {candidate.longest_context} tokens per user" if candidate.longest_context else ""
        yield f"{candidate.name}: fits{share}{context}{marginal}"
        yield from (f"{candidate.name}: {warning}" for warning in candidate.warnings)
    yield from more_workers(candidates)
    yield from _unstated(candidates)
    trained = weights.context_train
    if trained is not None and workload.context > trained:
        yield f"{workload.context} tokens per user are asked, but the model was trained for {trained}"


def _unstated(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Hosts that the head could not dial: their command lines are no use as they are."""
    workers = (worker for candidate in candidates for worker in candidate.workers)
    for host in dict.fromkeys(w.host for w in workers if w.listen.startswith(UNSTATED)):
        yield f"{host} has no address: put it in place of {UNSTATED}{host} before you run a command line"
