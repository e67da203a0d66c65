"""Judgements to results: penalties, rubrics, pairs, and the judge's own passport. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

from evener.evals.judging.labels import Thing, labels, latest
from evener.evals.judging.talking import SEVERITY_DETAIL
from evener.evals.judging.tasks import source_of
from evener.evals.scoring.translation import mqm, penalty, units
from evener.records.answers import Asked, Judgement, Label
from evener.records.judging import Hits, MqmResult, PairJudged, Passport, RubricResult
from evener.records.questions import Question
from evener.stats.agreement import agreement, alpha
from evener.stats.clusters import estimate
from evener.stats.comparisons import difference
from evener.stats.intervals import wilson


def share(hits: Iterable[bool]) -> Hits | None:
    """None for none."""
    known = list(hits)
    return Hits(hits=sum(known), n=len(known), interval=wilson(sum(known), len(known))) if known else None


def mqm_results(questions: Mapping[str, Question], judgements: Sequence[Judgement]) -> tuple[MqmResult, ...]:
    """One judge's, per candidate and direction. A segment that was answered several times has its mean penalty."""
    grouped: dict[tuple[str, str], dict[str, list[Judgement]]] = defaultdict(lambda: defaultdict(list))
    for one in latest(judgements, "mqm"):
        question = questions[one.asked.question]
        grouped[one.asked.candidate, question.category][question.id].append(one)
    return tuple(
        found
        for (candidate, direction), segments in grouped.items()
        if (found := _mqm(candidate, direction, segments, questions)) is not None
    )


def _mqm(
    candidate: str, direction: str, segments: Mapping[str, list[Judgement]], questions: Mapping[str, Question]
) -> MqmResult | None:
    means = [fmean(penalty_of(one) for one in judged) for judged in segments.values()]
    sizes = [units(source_of(questions[name])) for name in segments]
    found = mqm(means, sizes, [questions[name].cluster for name in segments])
    if found is None:
        return None
    every = [one for judged in segments.values() for one in judged]
    sound = [(questions[asked.question].cluster, said == "right") for (asked, _), said in labels(every, "mqm").items()]
    return MqmResult(
        candidate=candidate,
        direction=direction,
        per_1000=found.per_1000,
        interval=found.interval,
        segments=found.n,
        documents=found.documents,
        errors=dict(Counter(flaw["severity"] for one in every for flaw in one.details[SEVERITY_DETAIL])),
        invented=sum(one.details.get("invented", 0) for one in every),
        sound=_clustered(sound),
    )


def penalty_of(one: Judgement) -> float:
    """Of one translation, by the errors that the judge quoted from it."""
    return penalty([flaw["severity"] for flaw in one.details[SEVERITY_DETAIL]])


def rubric_results(
    judgements: Sequence[Judgement], clusters: Mapping[str, str] | None = None
) -> tuple[RubricResult, ...]:
    """One judge's, per candidate; its last verdict on each answer counts."""
    passed: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for (asked, _), said in labels(judgements, "rubric").items():
        passed[asked.candidate].append(((clusters or {}).get(asked.question, asked.question), said == "right"))
    return tuple(RubricResult(candidate=name, passed=_clustered(known)) for name, known in passed.items())


def _clustered(known: Sequence[tuple[str, bool]]) -> Hits:
    """A share of answers given as (cluster, hit): epochs of one question are not independent."""
    hits = [float(hit) for _, hit in known]
    found = estimate(hits, [name for name, _ in known], share=True)
    return Hits(hits=round(sum(hits)), n=len(hits), interval=found.interval if found else None)


def pair_results(judgements: Sequence[Judgement], clusters: Mapping[str, str] | None = None) -> tuple[PairJudged, ...]:
    """One judge's, per pair of candidates. Both orders must have a verdict, else the question does not count; a winner
    that changes with the order is a tie."""
    orders: dict[Thing, set[str]] = defaultdict(set)
    for one in latest(judgements, "pair"):
        orders[one.asked, one.other].add(
            _unswapped(one.verdict or "") if one.details.get("swapped") else one.verdict or ""
        )
    changed = {thing for thing, seen in orders.items() if seen == {"A", "B"}}
    return pairs_of(labels(judgements, "pair"), clusters or {}, by_order=changed)


def pairs_of(
    said: Mapping[Thing, Label | None], clusters: Mapping[str, str], *, by_order: Collection[Thing] = ()
) -> tuple[PairJudged, ...]:
    """Per pair of candidates, by one label for each question; None is no label.

    Epochs of a question and questions of one cluster are not independent: the test counts clusters.
    """
    found: dict[tuple[str, str], dict[Thing, Label]] = defaultdict(dict)
    for thing, label in said.items():
        if label is not None and thing[1] is not None:
            found[thing[0].candidate, thing[1].candidate][thing] = label
    return tuple(_pair(first, second, mine, clusters, by_order) for (first, second), mine in found.items())


def _pair(
    first: str, second: str, said: Mapping[Thing, Label], clusters: Mapping[str, str], by_order: Collection[Thing]
) -> PairJudged:
    counted = Counter(said.values())
    ahead, behind = ([float(label == side) for label in said.values()] for side in ("first", "second"))
    return PairJudged(
        first=first,
        second=second,
        first_wins=counted["first"],
        second_wins=counted["second"],
        ties=counted["tie"],
        order_changed=sum(thing in by_order for thing in said),
        p=difference(ahead, behind, [clusters.get(asked.question, asked.question) for asked, _ in said]).p,
    )


def _unswapped(verdict: str) -> str:
    return {"A": "B", "B": "A"}.get(verdict, verdict)


def passport(
    judgements: Sequence[Judgement],
    *,
    people: Sequence[tuple[Label, Label]] = (),
    rows: Sequence[Sequence[Label | None]] = (),
) -> Passport:
    """Of one judge. `people` holds (its label, the people's) of answers that both labelled, `rows` its label of each
    answer and those of each person by name. A probe whose answer stands in several runs counts once."""
    asked = [
        one for one in judgements if one.probe is not None and one.outcome != "judge_error"
    ]  # an outage says nothing
    once = {(one.probe, _key(one)): one for one in asked if one.probe != "retest"}
    probes: dict[str, list[Judgement]] = defaultdict(list)
    for one in (*once.values(), *(one for one in asked if one.probe == "retest")):
        probes[one.probe or ""].append(one)
    known, alike = probes["known"], agreement(people)
    return Passport(
        known=share(one.verdict == one.details.get("truth") for one in known),
        known_right=share(one.verdict == "CORRECT" for one in known if one.details.get("truth") == "CORRECT"),
        known_wrong=share(one.verdict == "INCORRECT" for one in known if one.details.get("truth") == "INCORRECT"),
        retest=_retest(judgements, probes["retest"]),
        order=_order(judgements),
        identical=share(one.verdict == "TIE" for one in probes["identical"]),
        length=share(one.verdict in ("TIE", one.details.get("truth")) for one in probes["length"]),
        family=share(one.verdict in ("TIE", one.details.get("truth")) for one in probes["family"]),
        people=share(a == b for a, b in people),
        kappa=alike.kappa,
        ac1=alike.ac1,
        kappa_interval=alike.kappa_interval,
        alpha=alpha(rows) if people else None,
    )


def _retest(judgements: Sequence[Judgement], again: Sequence[Judgement]) -> Hits | None:
    """Two replies that could not be read agree in nothing."""
    first = {_key(one): one.verdict for one in judgements if one.probe is None and one.outcome != "judge_error"}
    both = [(first[_key(one)], one.verdict) for one in again if _key(one) in first]
    return share(a == b for a, b in both if (a, b) != (None, None))


def _order(judgements: Sequence[Judgement]) -> Hits | None:
    pairs = pair_results(judgements)
    n = sum(p.first_wins + p.second_wins + p.ties for p in pairs)
    kept = n - sum(p.order_changed for p in pairs)
    return Hits(hits=kept, n=n, interval=wilson(kept, n)) if n else None


def _key(one: Judgement) -> tuple[Asked, Asked | None, bool, object]:
    return one.asked, one.other, bool(one.details.get("swapped")), one.details.get("template")
