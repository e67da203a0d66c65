"""Which candidate wins, in a sentence with reasons. Pure: single machines first, then the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.errors import NameUnknown
from evener.records.plan import Candidate, Verdict, Workload
from evener.records.weights import Weights


def verdict_for(candidates: Sequence[Candidate], weights: Weights, workload: Workload, layout: str) -> Verdict:
    """The verdict for what was asked. A single machine that fits always goes before the cluster."""
    alone = next((c for c in candidates if c.kind in ("card", "host") and c.fits), None)
    reasons = tuple(_reasons(candidates, weights, workload))
    if layout == "auto":
        chosen = alone or next((c for c in candidates if c.fits), None)
        if chosen is None:
            return Verdict(choice=None, kind="none", sentence=_nowhere(candidates, weights), reasons=reasons)
        return Verdict(choice=chosen.name, kind=chosen.kind, sentence=_sentence(chosen, weights), reasons=reasons)
    asked = next((c for c in candidates if c.name == layout), None)
    if asked is None:
        known = ", ".join(["auto", *(c.name for c in candidates)])
        raise NameUnknown(f"--layout {layout}: no such layout", hint=f"one of: {known}")
    sentence = f"{asked.name}, as you asked: {_sentence(asked, weights) if asked.fits else asked.why_not}"
    if asked.kind == "cluster" and asked.fits and alone is not None:
        sentence += f". It also fits on {alone.name} alone, without the link"
    return Verdict(
        choice=asked.name if asked.fits else None,
        kind=asked.kind if asked.fits else "none",
        sentence=sentence,
        reasons=reasons,
    )


def _sentence(chosen: Candidate, weights: Weights) -> str:
    held = gib(sum(d.total_bytes for d in chosen.devices))
    if chosen.kind == "cluster":
        cards = ", ".join(f"{d.layers} layers on {d.host}/{d.card_name}" for d in chosen.devices)
        return f"{weights.name} needs {held}: {cards}"
    return f"{weights.name} needs {held} and fits on {chosen.name} alone; no network in the way"


def _nowhere(candidates: Sequence[Candidate], weights: Weights) -> str:
    if not candidates:
        return "no host of this rig has a card to plan for"
    nearest = min(candidates, key=lambda c: c.short_bytes)
    if nearest.short_bytes == 0:
        return f"{weights.name} would fit on {nearest.name}, but {nearest.why_not}"
    return f"{weights.name} fits nowhere: {nearest.name} comes nearest and is {gib(nearest.short_bytes)} short"


def _reasons(candidates: Sequence[Candidate], weights: Weights, workload: Workload) -> Iterator[str]:
    for candidate in candidates:
        if candidate.fits:
            fullest = max((d.total_bytes / d.offered_bytes for d in candidate.devices if d.offered_bytes), default=None)
            share = "" if fullest is None else f", the fullest card takes {fullest:.0%} of what it offers"
            yield f"{candidate.name}: fits{share}"
        else:
            yield f"{candidate.name}: {candidate.why_not}"
    trained = weights.context_train
    if trained is not None and workload.context > trained:
        yield f"{workload.context} tokens per user are asked, but the model was trained for {trained}"


def gib(count: int) -> str:
    """Bytes for a sentence."""
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
