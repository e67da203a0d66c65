"""How other layouts would do beside the one that is taken, in sentences. Pure; chooses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from evener.plan.figures import BY_MEMORY, CLUSTER, PER_CARD, behind_comma, figure, too_close
from evener.plan.words import rate
from evener.records.plan import Candidate, Objective, Value


def against(chosen: Candidate, candidates: Sequence[Candidate], aim: Objective) -> str:
    """How the best of the other number of machines would do, and splits over several: the best one, and the usual."""
    own = figure(chosen, aim)
    if own is None:
        return ""
    others = _with_figures(candidates, aim, lambda c: (len(c.hosts) > 1) != (len(chosen.hosts) > 1))
    best = max(others, key=lambda pair: pair[1].value, default=None)
    told = {chosen.name, *([best[0].name] if best else [])}
    said = [_compared_with(best, chosen, own)] if best else []
    return "".join([*said, *_splits(candidates, aim, chosen, own, told=told)])


def _compared_with(best: tuple[Candidate, Value], chosen: Candidate, own: Value) -> str:
    other, value = best
    if not too_close(own, value):
        return f". {other.name} would do {rate(value)}, {_share(value, own, chosen)}"
    roomier = other.marginal and not chosen.marginal
    why = "the one that leaves room on its cards" if roomier else "the simpler one"
    return f". {other.name} would do {rate(value)}: too close to call, so {why}"


def _splits(
    candidates: Sequence[Candidate], aim: Objective, chosen: Candidate, own: Value, *, told: Set[str]
) -> Iterator[str]:
    """The best split over several machines where nothing is said of any yet; and the one by memory, as most do it."""
    clusters = _with_figures(candidates, aim, lambda c: c.kind == "cluster")
    best = max(clusters, key=lambda pair: pair[1].value, default=None)
    if best and not told & {c.name for c, _ in clusters}:
        close = ": too close to call" if too_close(own, best[1]) else f", {_share(best[1], own, chosen)}"
        yield f". The best split, {best[0].name}, would do {rate(best[1])}{close}"
    usual = next((figure(c, aim) for c in candidates if c.name == BY_MEMORY and c.fits), None)
    if usual:
        yield f". Split by memory over all cards, as most do, it would do {rate(usual)}, {_share(usual, own, chosen)}"


def _with_figures(
    candidates: Sequence[Candidate], aim: Objective, wanted: Callable[[Candidate], bool]
) -> list[tuple[Candidate, Value]]:
    fitting = [c for c in candidates if c.fits and c.name != BY_MEMORY and wanted(c)]
    return [(c, value) for c in fitting if (value := figure(c, aim)) is not None]


def _share(other: Value, own: Value, chosen: Candidate) -> str:
    factor = other.value / own.value
    whose = {CLUSTER: "the cluster's", "replicas": "the replicas'"}.get(chosen.name, f"{chosen.name}'s")
    return f"{factor:.1f} times as fast" if factor >= 1 else f"{factor:.0%} of {whose}"


def context_against(chosen: Candidate, candidates: Sequence[Candidate], aim: Objective) -> str:
    """How long the contexts of the other number of machines would be, at most."""
    others = [c for c in candidates if c.longest_context and c.name != BY_MEMORY]
    others = [c for c in others if (len(c.hosts) > 1) != (len(chosen.hosts) > 1)]
    best = max(others, key=lambda c: c.longest_context or 0, default=None)
    return "" if best is None else f". {best.name} would hold {best.longest_context} tokens{behind_comma(best, aim)}"


def more_workers(candidates: Sequence[Candidate]) -> Iterator[str]:
    """What a worker for each card gives, against one per host.

    Both rest on the same cards and the same cable, so they err alike: the factor's interval is that of equal ends.
    """
    by_name = {candidate.name: candidate for candidate in candidates}
    for each in candidates:
        usual = by_name.get(each.name.removesuffix(PER_CARD)) if each.name.endswith(PER_CARD) else None
        mine, plain = figure(each, "prompt"), figure(usual, "prompt") if usual else None
        if usual is None or mine is None or plain is None:
            continue
        ends = sorted((mine.low / plain.low, mine.value / plain.value, mine.high / plain.high))
        factor = f"{mine.value / plain.value:.2f} ({ends[0]:.2f} to {ends[-1]:.2f}) times as fast"
        yield f"{usual.name} with a worker for each card: prompts at {rate(mine)} instead of {rate(plain)}, {factor}"
