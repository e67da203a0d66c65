"""What judges said of several candidates' answers, as verdicts of their own beside those by code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.api import disagreements, eval_runs, evals
from evener.edges import run_folder
from evener.edges.run_folder import RunData
from evener.errors import ConfigurationError, NameUnknown
from evener.evals.judging import counting, families, labels
from evener.evals.judging.everybody import Everybody, everybody, passport_marks, unread_marks
from evener.evals.judging.scores import JudgedSuite, by_judges, kinds_of, penalties
from evener.evals.judging.tasks import source_of
from evener.evals.penalties import Direction, penalty_verdict
from evener.evals.scoring.translation import units
from evener.evals.verdicts import LEVEL, MARGIN, Dimension, verdict
from evener.records.answers import Answer, Asked, JudgeIdentity, Judgement, Review
from evener.records.evaluation import EvalResult
from evener.records.judging import Kind, PairJudged, Passport, Together
from evener.records.questions import Question, Suite
from evener.records.verdicts import DimensionVerdict, Ending, JudgedBy, PenaltyVerdict, Policy, Preference, Word
from evener.report.judges_rows import by_line
from evener.stats.comparisons import holm

WHAT: Mapping[Kind, str] = {"rubric": "rubric met", "mqm": "no critical or major error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one candidate's run holds: answers, and what judges and people said, all under the candidate's name here."""

    suites: tuple[Suite, ...]
    answers: tuple[Answer, ...]
    judgements: tuple[Judgement, ...]
    reviews: tuple[Review, ...]
    epochs: int
    models: tuple[str, ...]  # what the candidate is called, by itself and by its server


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """By judges. `scored` are, by suite, the candidates that judges scored where code could not."""

    dimensions: tuple[DimensionVerdict, ...] = ()
    penalties: tuple[PenaltyVerdict, ...] = ()
    preferences: tuple[Preference, ...] = ()
    notes: tuple[str, ...] = ()
    scored: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """All runs together, and how they are to be compared."""

    heard: Mapping[str, Heard]
    house: Everybody
    passports: Mapping[str, Passport]
    together: Mapping[Kind, Together]
    spoken: disagreements.Spoken
    again: Mapping[str, str]
    policy: Policy
    margin: float
    seed: int

    def suite(self, name: str, sha256: str) -> Suite | None:
        """Of a suite what this candidate was asked: not all of it where a part was wanted."""
        return next((one for one in self.heard[name].suites if one.sha256 == sha256), None)

    def said(self, judge: str, candidate: str) -> list[Judgement]:
        return [one for one in self.house.judges[judge] if one.probe is None and one.asked.candidate == candidate]


def judged(
    runs: Mapping[str, RunData],
    results: Mapping[str, EvalResult],
    again: Mapping[str, str],
    spoken: disagreements.Spoken,
    *,
    policy: Policy = "excluded",
    margin: float = MARGIN,
    seed: int = 0,
) -> Judged:
    """By candidate's name; nothing where nobody judged. A run that keeps no questions is left out."""
    heard = {name: one for name, data in runs.items() if (one := _heard(name, data, results[name])) is not None}
    judgements = [one for found in heard.values() for one in found.judgements]
    if not judgements:
        return Judged()
    clusters = {q.id: q.cluster for found in heard.values() for suite in found.suites for q in suite.questions}
    house = everybody(judgements, [one for found in heard.values() for one in found.reviews], clusters)
    case = _Case(
        heard=heard,
        house=house,
        passports={judge: house.passport(judge) for judge in house.judges},
        together={one.kind: one for one in house.together},
        spoken=spoken,
        again=again,
        policy=policy,
        margin=margin,
        seed=seed,
    )
    dimensions, worse = list[DimensionVerdict](), list[PenaltyVerdict]()
    notes, scored = list[str](), dict[str, frozenset[str]]()
    for suite in {(one.name, one.sha256): one for found in heard.values() for one in found.suites}.values():
        for kind in kinds_of(suite):
            by_kind = _with_disagreements(case, list(_dimensions(case, suite, kind)))
            dimensions += by_kind
            notes += _unjudged(case, suite, kind)
            if kind == "rubric":
                scored[suite.name] = frozenset(end.candidate for one in by_kind for end in one.endings)
        worse += _directions(case, suite)
    return Judged(
        dimensions=tuple(dimensions),
        penalties=tuple(worse),
        preferences=tuple(_preferences(case)),
        notes=tuple(notes),
        scored=scored,
    )


def _heard(name: str, data: RunData, result: EvalResult) -> Heard | None:
    try:
        suites, asked = evals.questions_of(data), evals.asked_of(data)
    except (ConfigurationError, NameUnknown):
        return None

    def renamed(one: Asked) -> Asked:
        """Two runs of one candidate must not answer for each other."""
        return replace(one, candidate=name) if one.candidate == result.candidate else one

    return Heard(
        suites=suites,
        answers=tuple(replace(one, asked=renamed(one.asked)) for one in eval_runs.single_answers(data)),
        judgements=tuple(
            one if one.probe not in (None, "retest") else replace(one, asked=renamed(one.asked))
            for one in run_folder.read_judgements(data.path)
        ),
        reviews=tuple(replace(one, asked=renamed(one.asked)) for one in run_folder.read_reviews(data.path)),
        epochs=asked.epochs,
        models=tuple(dict.fromkeys(one for one in (result.model, result.candidate) if one)),
    )


def _askers(case: _Case, suite: Suite, kind: Kind) -> dict[str, list[str]]:
    """Judge -> the candidates of whose answers to this suite it labelled something."""
    found: dict[str, list[str]] = {}
    for judge in case.house.judges:
        for name in case.heard:
            own = case.suite(name, suite.sha256)
            asked = {q.id for q in own.questions} if own else set()
            if any(thing.question in asked for thing, _ in labels.labels(case.said(judge, name), kind)):
                found.setdefault(judge, []).append(name)
    return found


def _dimensions(case: _Case, suite: Suite, kind: Kind) -> Iterator[_Found]:
    """By each judge that labelled two candidates or more; then by more than half of those who labelled all of them."""
    askers = {judge: names for judge, names in _askers(case, suite, kind).items() if len(names) > 1}
    for judge, names in askers.items():
        yield _dimension(case, suite, kind, [judge], names)
    everywhere = list(dict.fromkeys(name for names in askers.values() for name in names))
    common = [judge for judge, names in askers.items() if len(names) == len(everywhere)]
    if len(common) > 1:
        yield _dimension(case, suite, kind, common, everywhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A dimension, and the scores that it rests on."""

    verdict: DimensionVerdict
    scores: Mapping[str, Mapping[str, float | None]]


def _with_disagreements(case: _Case, found: Sequence[_Found]) -> list[DimensionVerdict]:
    """Answers side by side stand once, by the last: more than half of several, or who is alone. What code scores, too,
    has them there."""
    verdicts = [one.verdict for one in found]
    if found and verdicts[-1].judged is not None and verdicts[-1].judged.kind == "rubric":
        apart = disagreements.of(verdicts[-1], found[-1].scores, case.spoken)
        verdicts[-1] = replace(verdicts[-1], disagreements=apart)
    return verdicts


def _dimension(case: _Case, suite: Suite, kind: Kind, judges: Sequence[str], names: Sequence[str]) -> _Found:
    mine = {
        name: by_judges(
            case.suite(name, suite.sha256) or suite,
            case.heard[name].answers,
            {judge: case.said(judge, name) for judge in judges},
            kind,
            name=name,
            epochs=case.heard[name].epochs,
        )
        for name in names
    }
    clusters = {q: cluster for one in mine.values() for q, cluster in one.clusters.items()}
    by = _by(case, kind, judges, names, clusters)
    found = verdict(
        Dimension(
            name=f"{suite.name}, {WHAT[kind]}, {by_line(by)}",
            clusters=clusters,
            scores={name: one.scores for name, one in mine.items()},
            outcomes={name: one.standing.outcomes for name, one in mine.items()},
            reasons={name: one.standing.reasons for name, one in mine.items()},
            again={name: first for name, first in case.again.items() if name in mine},
            failed={name: one.failed for name, one in mine.items()},
        ),
        policy=case.policy,
        margin=case.margin,
        seed=case.seed,
    )
    ranked = dict.fromkeys((*(standing.candidate for standing in found.standings), *mine))
    whole = replace(found, endings=tuple(_ending(name, mine[name]) for name in ranked), judged=by)
    return _Found(verdict=whole, scores={name: one.scores for name, one in mine.items()})


def _ending(name: str, one: JudgedSuite) -> Ending:
    known = [answer.tokens for answer in one.answers if answer.tokens is not None]
    return Ending(
        candidate=name,
        asked=one.asked,
        answered=len(one.answers),
        excluded=one.standing.mean,
        counted_wrong=one.counted_wrong.mean,
        truncated=_share([answer.outcome == "truncated" for answer in one.answers]),
        thought=_share([bool(a.thinking_observed) for a in one.answers if a.thinking_observed is not None]),
        outcomes=one.standing.outcomes,
        reasons=one.standing.reasons,
        tokens=sum(known) if len(known) == len(one.answers) else None,
        seconds=sum(answer.seconds for answer in one.answers),
    )


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _by(case: _Case, kind: Kind, judges: Sequence[str], names: Sequence[str], questions: Collection[str]) -> JudgedBy:
    """What these judges are worth on all that they judged, and what people make of what they say of `questions`."""
    house, several = case.house, len(judges) > 1
    here = house.of(judges, questions)
    passports = [case.passports[judge] for judge in judges]
    identities = [house.judges[judge][0].judge for judge in judges]
    corrected = [one for one in here.corrections(None if several else judges[0]) if one.kind == kind]
    return JudgedBy(
        kind=kind,
        judges=tuple(identities),
        passports=tuple(passports),
        marks=tuple(mark for judge in identities for mark in _own_family(case, judge, names))
        + tuple(
            f"{judge.called}: {mark}"
            for name, judge, passport in zip(judges, identities, passports, strict=True)
            for mark in (*unread_marks(house.judges[name]), *passport_marks(passport))
        ),
        together=case.together.get(kind),
        corrected=tuple(one for one in corrected if one.candidate in names),
        split=sum(one.split for one in here.majority if one.kind == kind and one.candidate in names) if several else 0,
    )


def _own_family(case: _Case, judge: JudgeIdentity, names: Sequence[str]) -> Iterator[str]:
    known = [name for name in names if name in case.heard]
    own = [n for n in known if any(families.is_related(judge.model, model) for model in case.heard[n].models)]
    if own:
        yield f"{judge.called} judges its own family: {', '.join(own)}"


def _unjudged(case: _Case, suite: Suite, kind: Kind) -> Iterator[str]:
    """Of candidates that no judge has seen where others were seen by one, and of those whose judge saw no other."""
    askers = _askers(case, suite, kind)
    seen = {name for names in askers.values() for name in names}
    for judge, names in askers.items():
        if len(names) == 1 and len(seen) > 1:
            yield f"{names[0]}: {suite.name}, {WHAT[kind]}: not compared by {judge}, which judged no other candidate"
    for name in case.heard:
        if seen and name not in seen and case.suite(name, suite.sha256):
            yield f"{name}: {suite.name}, {WHAT[kind]}: unscored: no judge"


def _directions(case: _Case, suite: Suite) -> Iterator[PenaltyVerdict]:
    """Penalties by each judge, direction by direction: two directions cannot be compared."""
    directions: dict[str, dict[str, Question]] = {}
    for own in (case.suite(name, suite.sha256) for name in case.heard):
        for q in own.questions if own else ():
            if q.scoring == "translation":
                directions.setdefault(q.category, {})[q.id] = q
    for judge, names in _askers(case, suite, "mqm").items():
        for category, questions in directions.items():
            found = {name: penalties(questions, case.heard[name].answers, case.said(judge, name)) for name in names}
            found = {n: one for n, one in found.items() if any(p is not None for p in one.penalties.values())}
            if len(found) > 1:
                by = _by(case, "mqm", [judge], list(found), questions)
                yield penalty_verdict(
                    Direction(
                        name=f"{suite.name}, {category}, errors per 1000 source units, {by_line(by)}",
                        judged=by,
                        clusters={name: q.cluster for name, q in questions.items()},
                        sizes={name: units(source_of(q)) for name, q in questions.items()},
                        found=found,
                        again={name: first for name, first in case.again.items() if name in found},
                    ),
                    policy=case.policy,
                    seed=case.seed,
                )


def _preferences(case: _Case) -> Iterator[Preference]:
    """Of each judge that compared two of these candidates in pairs, then of more than half of several."""
    clusters = case.house.clusters
    for judge, said in case.house.judges.items():
        yield from _preferred(case, [judge], counting.pair_results(said, clusters))
    voices = next((one for one in case.house.voices if one.kind == "pair"), None)
    if voices is not None and len(voices.judges) > 1:
        several = counting.pairs_of(labels.majorities(voices.judges), clusters)
        yield from _preferred(case, list(voices.judges), several)


def _preferred(case: _Case, judges: Sequence[str], found: Sequence[PairJudged]) -> Iterator[Preference]:
    """A candidate that was asked twice is no rival of itself."""
    rivals = case.heard.keys() - case.again.keys()
    pairs = [pair for pair in found if {pair.first, pair.second} <= rivals]
    tested = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    for pair in pairs:
        p, name = next(tested) if pair.p is not None else None, f"{pair.first} / {pair.second}"
        by = _by(case, "pair", judges, [pair.first, pair.second, name], case.house.clusters)
        corrected = tuple(one for one in by.corrected if one.candidate == name)
        yield Preference(judged=replace(by, corrected=corrected), pair=pair, p_holm=p, word=_word(pair, p))


def _word(pair: PairJudged, p: float | None) -> Word:
    if p is None or p >= LEVEL:
        return "cannot be separated"
    return "better" if pair.first_wins > pair.second_wins else "worse"
