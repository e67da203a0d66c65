"""Judges and people on the same answers: how they agree, what most judges say, judges corrected by people. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from evener.evals import review
from evener.evals.judging.labels import KINDS, WORTH, Labels, Thing, labels, majorities
from evener.records.answers import Judgement, Label, Review
from evener.records.judging import Alike, CorrectedShare, Hits, Kind, Majority, Together
from evener.stats.agreement import agreement, alpha, alpha_interval, corrected
from evener.stats.clusters import estimate

LEAST_LABELS = 20  # of people, before a judge is corrected by them: see the notebook for what fewer are worth
LEAST_CLUSTERS = 10
MAJORITY = "majority"

Clusters = Mapping[str, str]  # question -> what it stands or falls with


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """Who says what about the answers that were judged for one kind of thing. People's labels are of the random pool:
    labels of what decides most speak for themselves only, and correct nobody."""

    kind: Kind
    judges: Mapping[str, Labels]
    people: Mapping[str, Labels]
    unsure: frozenset[Thing]

    def of(self, judges: Collection[str], questions: Collection[str]) -> Voices:
        """What these judges, and people, say of these questions alone."""

        def kept(said: Labels) -> dict[Thing, Label]:
            return {thing: label for thing, label in said.items() if thing[0].question in questions}

        return replace(
            self,
            judges={name: mine for name, said in self.judges.items() if name in judges and (mine := kept(said))},
            people={name: mine for name, said in self.people.items() if (mine := kept(said))},
            unsure=frozenset(thing for thing in self.unsure if thing[0].question in questions),
        )


def voices(judges: Mapping[str, Sequence[Judgement]], reviews: Sequence[Review]) -> tuple[Voices, ...]:
    """One per kind of which a judge has labelled something."""
    return tuple(found for kind in KINDS if (found := _voices(judges, reviews, kind)) is not None)


def _voices(judges: Mapping[str, Sequence[Judgement]], reviews: Sequence[Review], kind: Kind) -> Voices | None:
    said = {name: mine for name, judgements in judges.items() if (mine := labels(judgements, kind))}
    judged = {thing for mine in said.values() for thing in mine}
    if not judged:
        return None
    people = {
        who: known
        for who, theirs in review.by_person(reviews, pool="random").items()
        if (known := {thing: label for thing, label in theirs.items() if thing in judged})
    }
    return Voices(
        kind=kind, judges=said, people=people, unsure=frozenset(review.unsure(reviews, pool="random") & judged)
    )


def together(found: Voices, clusters: Clusters) -> Together | None:
    """Of all judges and people; None where one is alone."""
    everybody = {**found.judges, **{_person(found, name): said for name, said in found.people.items()}}
    if len(everybody) < 2:
        return None
    things = list(dict.fromkeys(thing for said in everybody.values() for thing in said))
    rows = [[said.get(thing) for said in everybody.values()] for thing in things]
    return Together(
        kind=found.kind,
        judges=len(found.judges),
        people=len(found.people),
        n=sum(sum(label is not None for label in row) > 1 for row in rows),
        alpha=alpha(rows),
        interval=alpha_interval(rows, _clusters(things, clusters)),
        pairs=tuple(_alike(a, b, everybody) for a, b in combinations(everybody, 2)),
    )


def _person(found: Voices, name: str) -> str:
    """A person's name; one that a judge has, too, is told apart."""
    return f"{name} (a person)" if name in found.judges else name


def _alike(first: str, second: str, everybody: Mapping[str, Labels]) -> Alike:
    a, b = everybody[first], everybody[second]
    found = agreement([(a[thing], b[thing]) for thing in a if thing in b])
    return Alike(
        first=first,
        second=second,
        n=found.n,
        raw=found.raw,
        kappa=found.kappa,
        kappa_interval=found.kappa_interval,
        ac1=found.ac1,
    )


def with_people(found: Iterable[Voices], judge: str) -> list[tuple[Label, Label]]:
    """(the judge's label, what more than half of the people say) of everything that both labelled."""
    pairs = []
    for one in found:
        said, truth = one.judges.get(judge, {}), review.consensus(one.people)
        pairs += [(label, truth[thing]) for thing, label in said.items() if thing in truth]
    return pairs


def rows_of(found: Iterable[Voices], judge: str) -> list[list[Label | None]]:
    """Each thing that the judge labelled: its label, then that of each person by name."""
    rows = []
    for one in found:
        names = list(one.people)
        for thing, label in one.judges.get(judge, {}).items():
            rows.append([label, *(one.people[name].get(thing) for name in names)])
    return rows


def by_majority(found: Voices, clusters: Clusters) -> tuple[Majority, ...]:
    """Of each candidate, or pair of them; nothing where one judge is alone."""
    if len(found.judges) < 2:
        return ()
    said = majorities(found.judges)
    return tuple(
        Majority(
            candidate=candidate,
            kind=found.kind,
            judges=tuple(found.judges),
            passed=_share([(thing, WORTH[label]) for thing in things if (label := said[thing]) is not None], clusters),
            split=sum(said[thing] is None for thing in things),
            split_on=tuple(dict.fromkeys(thing[0].question for thing in things if said[thing] is None)),
        )
        for candidate, things in by_candidate(said).items()
    )


def by_candidate(things: Iterable[Thing]) -> dict[str, list[Thing]]:
    """Things under whose answers they are: a candidate, or "first / second" of a pair."""
    found: dict[str, list[Thing]] = defaultdict(list)
    for thing in things:
        asked, other = thing
        found[asked.candidate if other is None else f"{asked.candidate} / {other.candidate}"].append(thing)
    return dict(found)


def _share(known: Sequence[tuple[Thing, float]], clusters: Clusters) -> Hits | None:
    """How many passed, a tie of a pair counting for neither side; the interval is clustered."""
    if not known:
        return None
    hits = [float(worth == 1.0) for _, worth in known]
    found = estimate(hits, _clusters([thing for thing, _ in known], clusters), share=True)
    return Hits(hits=round(sum(hits)), n=len(hits), interval=found.interval if found else None)


def _clusters(things: Sequence[Thing], clusters: Clusters) -> list[Hashable]:
    return [clusters.get(asked.question, asked.question) for asked, _ in things]


def corrections(found: Voices, clusters: Clusters, *, judge: str | None = None) -> tuple[CorrectedShare, ...]:
    """The shares of one judge, or of the majority of all for None, per candidate."""
    if judge is not None:
        said = dict(found.judges.get(judge, {}))
    else:
        said = {thing: label for thing, label in majorities(found.judges).items() if label is not None}
    return tuple(
        _corrected(found, candidate, {thing: said[thing] for thing in things}, clusters, by=judge or MAJORITY)
        for candidate, things in by_candidate(said).items()
    )


def _corrected(found: Voices, candidate: str, said: Labels, clusters: Clusters, *, by: str) -> CorrectedShare:
    truth = {thing: label for thing, label in review.consensus(found.people).items() if thing in said}
    judge = [WORTH[label] for label in said.values()]
    people = [WORTH[truth[thing]] if thing in truth else None for thing in said]
    groups = _clusters(list(said), clusters)
    why = _too_few([group for group, worth in zip(groups, people, strict=True) if worth is not None])
    better = None if why else corrected(judge, people, groups)
    bare = CorrectedShare(
        candidate=candidate,
        kind=found.kind,
        by=by,
        judge_mean=fmean(judge),
        n=len(judge),
        labelled=len(truth),
        unsure=len(_looked_at(found) & said.keys() - truth.keys()),
        people=sum(any(thing in said for thing in mine) for mine in found.people.values()),
        people_mean=fmean(WORTH[label] for label in truth.values()) if truth else None,
        why=why,
    )
    if better is None:
        return bare
    return replace(bare, mean=min(1.0, max(0.0, better.mean)), interval=_within(better.interval))


def _looked_at(found: Voices) -> set[Thing]:
    return set(found.unsure).union(*found.people.values())


def _within(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return min(1.0, max(0.0, low)), max(0.0, min(1.0, high))


def _too_few(groups: Sequence[Hashable]) -> str | None:
    if len(groups) < LEAST_LABELS:
        return f"people labelled {len(groups)} at random, {LEAST_LABELS} are needed"
    if len(set(groups)) < LEAST_CLUSTERS:
        return (
            f"people's labels are of {len(set(groups))} independent questions or documents, {LEAST_CLUSTERS} are needed"
        )
    return None
