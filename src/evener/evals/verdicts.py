"""Scores to verdicts: who is better, who may be the best, and when nobody can tell. Pure.

A dimension is a set of questions; each candidate has at most one score per question, the mean of its epochs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from evener.records.verdicts import DimensionVerdict, Fragile, PairVerdict, Policy, Standing, Word
from evener.stats import best, comparisons, power
from evener.stats.clusters import estimate, of_scores

LEVEL = 0.05
MARGIN = 0.03  # closer than three points is practically equal, where the questions suffice to say so

Scores = Mapping[str, Mapping[str, float | None]]  # candidate -> question -> score, None: no evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """What is compared. `clusters` maps each question to its cluster. `outcomes` and `reasons` are counted per
    candidate. `again` is a candidate that is another one asked once more: the noise floor, never ranked."""

    name: str
    clusters: Mapping[str, str]
    scores: Scores
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    again: Mapping[str, str] = field(default_factory=dict)  # candidate -> the one it repeats
    # candidate -> question -> share of its epochs that failed (1 where a score is None and nothing is said; 0 where
    # nobody could have scored it, so that it is no failure of the candidate's)
    failed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def is_policy_of_consequence(self) -> bool:
        """Whether something failed, so that the two policies may say different things."""
        return any(None in column.values() for column in self.scores.values()) or any(
            share > 0 for column in self.failed.values() for share in column.values()
        )


def verdict(
    asked: Dimension, *, policy: Policy = "excluded", margin: float = MARGIN, seed: int = 0
) -> DimensionVerdict:
    """The verdict under `policy`; where the other policy says another word about a pair, it cannot be separated."""
    ranked = [name for name in asked.scores if name not in asked.again]
    standings = sorted(
        (_standing(asked, name, policy) for name in ranked), key=lambda s: (s.mean is None, -(s.mean or 0.0))
    )
    order = [s.candidate for s in standings if s.mean is not None]
    both = (policy, _other(policy)) if asked.is_policy_of_consequence else (policy,)
    words = [_pairs(asked, order, policy=one, margin=margin, seed=seed) for one in both]
    pairs = _stable(words[0], words[-1])
    common = _common(asked, order, policy)
    kept = set[str]().union(*(_may_be_best(asked, order, one, seed=seed) for one in both))
    differ = {(pair.first, pair.second): pair.word in ("better", "worse") for pair in pairs}
    fragile = best.fragility({name: _column(asked, name, common, policy) for name in order}, common)
    answer = DimensionVerdict(
        dimension=asked.name,
        policy=policy,
        standings=tuple(standings),
        pairs=pairs,
        best=tuple(name for name in order if name in kept),
        dropped=tuple(name for name in order if name not in kept),
        groups=best.groups(order, differ),
        fragile=Fragile(
            first=fragile.first,
            second=fragile.second,
            flips=fragile.flips,
            of=fragile.of,
            questions=fragile.questions,
        )
        if fragile
        else None,
        noise=_noise(asked, policy),
        sentence="",
        design=_design(asked, order, common, policy),
    )
    return replace(answer, sentence=sentence(answer))


def sentence(found: DimensionVerdict) -> str:
    """ "drop X and Y; A and B cannot be told apart", in words of the reader."""
    return best_sentence(found.best, found.dropped)


def best_sentence(best_set: Sequence[str], ruled_out: Sequence[str]) -> str:
    dropped = _listed(ruled_out)
    if not best_set:
        return "nothing was scored"
    if len(best_set) == 1 and not ruled_out:
        return f"only {best_set[0]} was scored"
    if len(best_set) == 1:
        return f"{best_set[0]} is the best; {dropped} can be dropped"
    kept = f"which of {_listed(best_set)} is the best cannot be told"
    return f"{dropped} can be dropped; {kept}" if dropped else kept


def _standing(asked: Dimension, name: str, policy: Policy) -> Standing:
    questions = [q for q in asked.scores[name] if _score(asked, name, q, policy) is not None]
    values = [_score(asked, name, q, policy) or 0.0 for q in questions]
    found = estimate(values, [asked.clusters[q] for q in questions], share=comparisons.is_binary(values))
    return Standing(
        candidate=name,
        mean=found.mean if found else None,
        interval=of_scores(found),
        n=len(questions),
        clusters=found.clusters if found else 0,
        unscored=sum(score is None for score in asked.scores[name].values()),
        outcomes=dict(asked.outcomes.get(name, {})),
        reasons=dict(asked.reasons.get(name, {})),
    )


def _score(asked: Dimension, name: str, question: str, policy: Policy) -> float | None:
    score = asked.scores[name].get(question)
    if policy == "excluded" or question not in asked.scores[name]:
        return score
    failed = asked.failed.get(name, {}).get(question, 1.0 if score is None else 0.0)
    if score is None:
        return None if failed == 0 else 0.0
    return score * (1 - failed)


def _common(asked: Dimension, names: Sequence[str], policy: Policy) -> list[str]:
    """Questions for which all of `names` have a score, in the order of the dimension."""
    return [q for q in asked.clusters if names and all(_score(asked, n, q, policy) is not None for n in names)]


def _may_be_best(asked: Dimension, order: Sequence[str], policy: Policy, *, seed: int) -> set[str]:
    """Whoever is dropped must be dropped under each policy, so the caller joins the sets."""
    common = _common(asked, order, policy)
    if not common:
        return set(order)
    columns = {name: _column(asked, name, common, policy) for name in order}
    return set(best.best_set(columns, [asked.clusters[q] for q in common], seed=seed).kept)


def _column(asked: Dimension, name: str, questions: Sequence[str], policy: Policy) -> list[float]:
    return [_score(asked, name, q, policy) or 0.0 for q in questions]


def _pairs(
    asked: Dimension, order: Sequence[str], *, policy: Policy, margin: float, seed: int
) -> tuple[PairVerdict, ...]:
    bare = [_pair(asked, a, b, policy=policy, seed=seed) for a, b in combinations(order, 2)]
    tested = [pair for pair in bare if pair.p is not None]
    corrected = dict(
        zip(
            [(p.first, p.second) for p in tested],
            comparisons.holm([p.p for p in tested if p.p is not None]),
            strict=True,
        )
    )
    models = len(order)
    return tuple(
        _worded(
            replace(pair, p_holm=corrected.get((pair.first, pair.second))),
            asked,
            models=models,
            policy=policy,
            margin=margin,
        )
        for pair in bare
    )


def _pair(asked: Dimension, first: str, second: str, *, policy: Policy, seed: int) -> PairVerdict:
    common = _common(asked, (first, second), policy)
    if not common:
        return PairVerdict(
            first=first,
            second=second,
            word="not comparable",
            gap=None,
            interval=None,
            p=None,
            p_holm=None,
            test=None,
            n=0,
            clusters=0,
            wins=0,
            losses=0,
        )
    a, b = (_column(asked, name, common, policy) for name in (first, second))
    found = comparisons.difference(a, b, [asked.clusters[q] for q in common], seed=seed)
    return PairVerdict(
        first=first,
        second=second,
        word="cannot be separated",
        gap=found.mean,
        interval=found.interval,
        p=found.p,
        p_holm=None,
        test=found.test,
        n=found.n,
        clusters=found.clusters,
        wins=found.wins,
        losses=found.losses,
    )


def _worded(pair: PairVerdict, asked: Dimension, *, models: int, policy: Policy, margin: float) -> PairVerdict:
    if pair.p_holm is None or pair.gap is None:
        return pair
    if pair.p_holm < LEVEL:
        return replace(pair, word="better" if pair.gap > 0 else "worse")
    if _is_equal(pair, asked, policy=policy, margin=margin):
        return replace(pair, word="practically equal")
    if power.design(pair.clusters, models).is_impossible:
        return replace(pair, word="cannot be separated by design")
    return replace(pair, needed=_needed(pair, asked, models=models, policy=policy))


def _needed(pair: PairVerdict, asked: Dimension, *, models: int, policy: Policy) -> int | None:
    """Questions that would find a gap like this one: by who wins, or by how these differences vary."""
    gap = abs(pair.gap or 0.0)
    if pair.test == "exact McNemar":
        return power.questions_needed(gap, models=models, discordance=(pair.wins + pair.losses) / pair.clusters)
    found = estimate(*_gaps(pair, asked, policy))
    if found is None or found.se is None:
        return None
    return power.questions_like(gap, found.se, found.n, found.clusters, models=models)


def _gaps(pair: PairVerdict, asked: Dimension, policy: Policy) -> tuple[list[float], list[str]]:
    """(differences, clusters) of the questions that both have."""
    common = _common(asked, (pair.first, pair.second), policy)
    a, b = (_column(asked, name, common, policy) for name in (pair.first, pair.second))
    return [x - y for x, y in zip(a, b, strict=True)], [asked.clusters[q] for q in common]


def _is_equal(pair: PairVerdict, asked: Dimension, *, policy: Policy, margin: float) -> bool:
    gaps, clusters = _gaps(pair, asked, policy)
    return comparisons.is_equivalent(gaps, clusters, margin=margin, binary=pair.test == "exact McNemar")


def _stable(here: Sequence[PairVerdict], there: Sequence[PairVerdict]) -> tuple[PairVerdict, ...]:
    """A word that holds under one policy only is taken back, and said so."""
    other = {(pair.first, pair.second): pair.word for pair in there}
    return tuple(
        pair
        if pair.word not in ("better", "worse", "practically equal")
        or other.get((pair.first, pair.second)) == pair.word
        else replace(pair, word=_TAKEN_BACK, flips_with_policy=True)
        for pair in here
    )


_TAKEN_BACK: Word = "cannot be separated"


def _other(policy: Policy) -> Policy:
    return "counted wrong" if policy == "excluded" else "excluded"


def _noise(asked: Dimension, policy: Policy) -> float | None:
    """The greatest gap between a candidate and itself, asked once more."""
    gaps = []
    for again, first in asked.again.items():
        common = _common(asked, (again, first), policy) if first in asked.scores else []
        if common:
            a, b = (_column(asked, name, common, policy) for name in (again, first))
            gaps.append(abs(sum(a) - sum(b)) / len(common))
    return max(gaps, default=None)


def _design(asked: Dimension, order: Sequence[str], common: Sequence[str], policy: Policy) -> str:
    """What this size could prove at best."""
    n, clusters, models = len(common), len({asked.clusters[q] for q in common}), len(order)
    if models < 2:
        return "one candidate: nothing to compare"
    if n == 0:
        return "no question is common to all candidates"
    able = power.design(clusters, models)
    if able.sweep is None:
        return f"{clusters} independent questions and {models} candidates: no answers could separate any two"
    gap = _detectable(asked, order, common, policy)
    found = "no gap is found 4 times in 5" if gap is None else f"a gap of {gap * 100:.0f} points is found 4 times in 5"
    return (
        f"{n} questions in {clusters} clusters, {models} candidates: {found}, {able.sweep}-0 is the least that counts"
    )


def _detectable(asked: Dimension, order: Sequence[str], common: Sequence[str], policy: Policy) -> float | None:
    """The gap that is found 4 times in 5. Right or wrong, each question for itself: as planned, and where differences
    do not vary at all. Else by the pair whose differences vary most."""
    clusters = [asked.clusters[q] for q in common]
    columns = [_column(asked, name, common, policy) for name in order]
    groups = len(set(clusters))
    gaps = [[x - y for x, y in zip(a, b, strict=True)] for a, b in combinations(columns, 2)]
    errors = [found.se for one in gaps if (found := estimate(one, clusters)) is not None and found.se is not None]
    spread = max(errors, default=0.0) * math.sqrt(groups)
    if spread < 1e-9 or (groups == len(common) and all(map(comparisons.is_binary, columns))):
        return power.detectable_gap(groups, models=len(order))
    return power.graded_gap(groups, spread, models=len(order))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
