"""Penalties of translations to verdicts: who makes fewer errors, and when nobody can tell. Pure.

A ratio of sums: penalty over source units. All candidates translate the same segments, so that two are compared by the
differences of their penalties, document by document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from evener.evals.judging.scores import NOT_TRANSLATED, Penalties
from evener.evals.scoring.translation import PER, Mqm, mqm
from evener.evals.verdicts import LEVEL, best_sentence
from evener.records.verdicts import JudgedBy, PairVerdict, PenaltyStanding, PenaltyVerdict, Policy, Word
from evener.stats import best, comparisons, power
from evener.stats.clusters import ratio, sums

POLICIES: tuple[Policy, ...] = ("excluded", "counted wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Segments in one direction, and what one judge found in each candidate's translations of them."""

    name: str
    judged: JudgedBy
    clusters: Mapping[str, str]  # segment -> its document
    sizes: Mapping[str, int]  # segment -> source units
    found: Mapping[str, Penalties]  # candidate -> penalties
    again: Mapping[str, str] = field(default_factory=dict)  # candidate -> the one it repeats


def penalty_verdict(asked: Direction, *, policy: Policy = "excluded", seed: int = 0) -> PenaltyVerdict:
    """The verdict under `policy`; where the other policy says another word about a pair, it cannot be separated."""
    columns = {one: {name: _column(asked.found[name], one) for name in asked.found} for one in POLICIES}
    standings = sorted(
        (_standing(asked, name, columns) for name in asked.found if name not in asked.again),
        key=lambda s: (_mean(s, policy) is None, _mean(s, policy) or 0.0),
    )
    order = [s.candidate for s in standings if _mean(s, policy) is not None]
    words = {one: _pairs(asked, order, columns[one], seed=seed) for one in POLICIES}
    kept = set[str]().union(*(_may_be_best(asked, order, columns[one], seed=seed) for one in POLICIES))
    found = PenaltyVerdict(
        dimension=asked.name,
        judged=asked.judged,
        standings=tuple(standings),
        pairs=_stable(words[policy], words["counted wrong" if policy == "excluded" else "excluded"]),
        best=tuple(name for name in order if name in kept),
        dropped=tuple(name for name in order if name not in kept),
        noise=_noise(asked, columns[policy]),
        sentence="",
        policy=policy,
    )
    return replace(found, sentence=best_sentence(found.best, found.dropped))


Column = Mapping[str, float]  # segment -> penalty


def _column(found: Penalties, policy: Policy) -> dict[str, float]:
    """What is known of each segment. A segment without a translation counts as one critical error, or not at all."""
    known = {}
    for name, penalty in found.penalties.items():
        failed = found.failed.get(name, 0.0)
        if policy == "counted wrong" and (penalty is not None or failed == 1):
            known[name] = (penalty or 0.0) * (1 - failed) + NOT_TRANSLATED * failed
        elif penalty is not None:
            known[name] = penalty
    return known


def _mean(standing: PenaltyStanding, policy: Policy) -> float | None:
    return standing.per_1000 if policy == "excluded" else standing.counted_wrong


def _standing(asked: Direction, name: str, columns: Mapping[Policy, Mapping[str, Column]]) -> PenaltyStanding:
    bare, wrong = (_mqm(asked, columns[policy][name]) for policy in POLICIES)
    return PenaltyStanding(
        candidate=name,
        per_1000=bare.per_1000 if bare else None,
        interval=bare.interval if bare else None,
        counted_wrong=wrong.per_1000 if wrong else None,
        segments=bare.n if bare else 0,
        documents=bare.documents if bare else 0,
        unscored=sum(penalty is None for penalty in asked.found[name].penalties.values()),
    )


def _mqm(asked: Direction, column: Column) -> Mqm | None:
    names = list(column)
    return mqm(list(column.values()), [asked.sizes[q] for q in names], [asked.clusters[q] for q in names])


def _pairs(asked: Direction, order: Sequence[str], columns: Mapping[str, Column], *, seed: int) -> list[PairVerdict]:
    bare = [_pair(asked, a, b, columns, seed=seed) for a, b in combinations(order, 2)]
    holm = iter(comparisons.holm([pair.p for pair in bare if pair.p is not None]))
    corrected = [replace(pair, p_holm=next(holm)) if pair.p is not None else pair for pair in bare]
    return [_worded(pair, asked, columns, models=len(order)) for pair in corrected]


def _gaps(asked: Direction, first: str, second: str, columns: Mapping[str, Column]) -> dict[str, float]:
    a, b = columns[first], columns[second]
    return {q: a[q] - b[q] for q in a if q in b}


def _pair(asked: Direction, first: str, second: str, columns: Mapping[str, Column], *, seed: int) -> PairVerdict:
    gaps = _gaps(asked, first, second, columns)
    documents = [asked.clusters[q] for q in gaps]
    found = ratio(list(gaps.values()), [asked.sizes[q] for q in gaps], documents)
    totals = sums(list(gaps.values()), documents)
    ends = found.interval if found else None
    return PairVerdict(
        first=first,
        second=second,
        word="not comparable" if found is None else "cannot be separated",
        gap=PER * found.mean if found else None,
        interval=None if ends is None else (PER * ends[0], PER * ends[1]),
        p=comparisons.sign_flips(totals, seed=seed) if found else None,
        p_holm=None,
        test="sign flips" if found else None,
        n=len(gaps),
        clusters=len(totals),
        wins=sum(total < 0 for total in totals),
        losses=sum(total > 0 for total in totals),
    )


def _worded(pair: PairVerdict, asked: Direction, columns: Mapping[str, Column], *, models: int) -> PairVerdict:
    if pair.p_holm is None or pair.gap is None:
        return pair
    if pair.p_holm < LEVEL:
        return replace(pair, word="better" if pair.gap < 0 else "worse")
    if power.design(pair.clusters, models).is_impossible:
        return replace(pair, word="cannot be separated by design")
    gaps = _gaps(asked, pair.first, pair.second, columns)
    found = ratio(list(gaps.values()), [asked.sizes[q] for q in gaps], [asked.clusters[q] for q in gaps])
    if found is None or not found.se:
        return pair
    return replace(pair, needed=power.questions_like(abs(found.mean), found.se, found.n, found.clusters, models=models))


def _stable(here: Sequence[PairVerdict], there: Sequence[PairVerdict]) -> tuple[PairVerdict, ...]:
    """A word that holds under one policy only is taken back, and said so."""
    other = {frozenset((pair.first, pair.second)): (pair.first, pair.word) for pair in there}
    return tuple(
        pair
        if pair.word not in _TURNED or _as_first(pair.first, other[frozenset((pair.first, pair.second))]) == pair.word
        else replace(pair, word="cannot be separated", flips_with_policy=True)
        for pair in here
    )


_TURNED: Mapping[Word, Word] = {"better": "worse", "worse": "better"}


def _as_first(name: str, said: tuple[str, Word]) -> Word:
    first, word = said
    return word if first == name else _TURNED.get(word, word)


def _may_be_best(asked: Direction, order: Sequence[str], columns: Mapping[str, Column], *, seed: int) -> Sequence[str]:
    common = [q for q in asked.clusters if all(q in columns[name] for name in order)]
    if len(order) < 2 or not common:
        return order
    scores = {name: [-columns[name][q] for q in common] for name in order}
    return best.best_set(scores, [asked.clusters[q] for q in common], seed=seed).kept


def _noise(asked: Direction, columns: Mapping[str, Column]) -> float | None:
    """The greatest gap between a candidate and itself, asked once more."""
    found = []
    for name, first in asked.again.items():
        if name in columns and first in columns:
            gaps = _gaps(asked, name, first, columns)
            size = sum(asked.sizes[q] for q in gaps)
            found += [PER * abs(sum(gaps.values())) / size] if size else []
    return max(found, default=None)
