"""`evener verdict`: evaluations of several candidates on the same questions, and what they prove."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evener.api import disagreements, eval_runs, judged_verdicts
from evener.edges.run_folder import RunData, open_run, read_answers, require_different
from evener.errors import ConfigurationError, NameUnknown
from evener.evals import canary
from evener.evals.judging.scores import left_to_judges
from evener.evals.verdicts import MARGIN, Dimension, verdict
from evener.records.answers import Answer
from evener.records.conditions import Conditions
from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.verdicts import CanaryVerdict, DifferingCondition, DimensionVerdict, Ending, Policy, Verdicts
from evener.report import rows

SAME = ("sampling", "thinking_asked", "thinking_observed")  # what has to be the same for an answer to be compared


def verdicts(runs: Sequence[Path], *, policy: Policy = "excluded", margin: float = MARGIN, seed: int = 0) -> Verdicts:
    """What these runs prove, suite by suite. Of two runs of one candidate the later is the noise floor.

    Raises ConfigurationError for runs that are no evaluations, are named twice, or of which no two share a suite.
    """
    require_different(runs)
    opened = [open_run(path) for path in runs]
    results = [_result(data) for data in opened]
    names = _names(results)
    again = _again([result.candidate for result in results], names)
    spoken = disagreements.read(dict(zip(names, opened, strict=True)))
    suites = dict.fromkeys((r.suite, r.sha256) for result in results for r in result.results if r.suite != canary.SUITE)
    dimensions = [
        found
        for suite, sha256 in suites
        if (found := _dimension(_of_suite(suite, sha256, results, names), spoken, again, policy, margin, seed))
    ]
    canaries = _canaries(
        {name: _canary_answers(data.path, one) for name, data, one in zip(names, opened, results, strict=True)}, again
    )
    heard = judged_verdicts.judged(
        dict(zip(names, opened, strict=True)),
        dict(zip(names, results, strict=True)),
        again,
        spoken,
        policy=policy,
        margin=margin,
        seed=seed,
    )
    arms = [
        _left_to_judges(said, {"single"} if name in heard.scored.get(suite, ()) else ())
        for result, name in zip(results, names, strict=True)
        for suite, said in _arms(result, name, policy, margin, seed)
    ]
    if not dimensions and not arms and not canaries:
        raise ConfigurationError("no two of these runs share a suite of the same questions")
    conditions = {name: data.run.conditions for name, data in zip(names, opened, strict=True)}
    differing = _differing(list(conditions.values()))
    return Verdicts(
        candidates=tuple(name for name in names if name not in again),
        dimensions=tuple(_by_code(one, heard.scored.get(one.dimension, frozenset())) for one in dimensions),
        arms=tuple(arms),
        differing=differing,
        notes=(*_notes(results, names), *(spoken.notes if dimensions else ()), *heard.notes),
        canaries=tuple(canaries),
        runs={name: data.run.id for name, data in zip(names, opened, strict=True)},
        conditions=_apart(conditions, first=differing),
        alike=_alike(conditions),
        judged=heard.dimensions,
        penalties=heard.penalties,
        preferences=heard.preferences,
    )


def _by_code(one: DimensionVerdict, judged: Collection[str]) -> DimensionVerdict:
    """What code said of a suite. What it left to judges is told apart from what nobody scored."""
    said = one.sentence
    if all(standing.mean is None for standing in one.standings):
        said = "left to judges, below" if judged else "nothing was scored"
    return replace(_left_to_judges(one, judged), sentence=said)


def _left_to_judges(one: DimensionVerdict, judged: Collection[str]) -> DimensionVerdict:
    def told(found: Ending) -> Ending:
        return replace(found, reasons=left_to_judges(found.reasons)) if found.candidate in judged else found

    return replace(one, endings=tuple(told(end) for end in one.endings))


def _result(data: RunData) -> EvalResult:
    found = eval_runs.result_of(data)
    if found is None:
        name = data.path.name
        hint = f"evener eval --resume {name}" if data.run.what == "eval" else "evener runs --all --what eval"
        raise NameUnknown(f"{name} holds no finished evaluation", hint=hint)
    return found


def _names(results: Sequence[EvalResult]) -> list[str]:
    """Each run's candidate; several runs of one are told apart by number."""
    seen: Counter[str] = Counter()
    names = []
    for result in results:
        seen[result.candidate] += 1
        n = seen[result.candidate]
        names.append(result.candidate if n == 1 else f"{result.candidate} ({n})")
    return names


def _again(candidates: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    return {name: candidate for candidate, name in zip(candidates, names, strict=True) if candidate != name}


def _of_suite(suite: str, sha256: str, results: Sequence[EvalResult], names: Sequence[str]) -> dict[str, SuiteResult]:
    """The same questions, asked once, by candidate."""
    return {
        name: one
        for result, name in zip(results, names, strict=True)
        for one in result.results
        if (one.suite, one.sha256, one.arm) == (suite, sha256, "single")
    }


def _dimension(
    mine: Mapping[str, SuiteResult],
    spoken: disagreements.Spoken,
    again: dict[str, str],
    policy: Policy,
    margin: float,
    seed: int,
) -> DimensionVerdict | None:
    """One suite over all candidates that were asked once; None where fewer than two have it."""
    if len(mine) < 2:
        return None
    suite = next(iter(mine.values())).suite
    found = verdict(_asked(suite, mine, again), policy=policy, margin=margin, seed=seed)
    ranked = {name: mine[name] for name in _ranked(found, mine)}
    measured = dict.fromkeys(name for one in ranked.values() for name in one.measures)
    measures = {
        name: {candidate: one.measures[name] for candidate, one in ranked.items() if name in one.measures}
        for name in measured
    }
    apart = disagreements.of(found, {name: one.scores for name, one in mine.items()}, spoken)
    return replace(found, endings=_endings(found, mine), disagreements=apart, measures=measures)


def _endings(found: DimensionVerdict, mine: Mapping[str, SuiteResult]) -> tuple[Ending, ...]:
    return tuple(_ending(name, mine[name]) for name in _ranked(found, mine))


def _ranked(found: DimensionVerdict, mine: Mapping[str, SuiteResult]) -> list[str]:
    """Every candidate, best first, then those that were asked again."""
    return list(dict.fromkeys((*(standing.candidate for standing in found.standings), *mine)))


def _ending(name: str, one: SuiteResult) -> Ending:
    return Ending(
        candidate=name,
        asked=one.asked,
        answered=one.answered,
        excluded=one.standing.mean,
        counted_wrong=one.counted_wrong.mean,
        truncated=one.truncated,
        thought=one.thought,
        outcomes=one.standing.outcomes,
        reasons=one.standing.reasons,
        tokens=one.tokens,
        seconds=one.seconds,
    )


def _arms(
    result: EvalResult, name: str, policy: Policy, margin: float, seed: int
) -> list[tuple[str, DimensionVerdict]]:
    """(suite, what voting or reflecting changed for one candidate)."""
    found = []
    for suite in dict.fromkeys(one.suite for one in result.results):
        mine = {one.arm: one for one in result.results if one.suite == suite}
        if len(mine) > 1:
            arms = {str(arm): one for arm, one in mine.items()}
            said = verdict(_asked(f"{suite}: arms of {name}", arms, {}), policy=policy, margin=margin, seed=seed)
            found.append((suite, replace(said, endings=_endings(said, arms))))
    return found


def _canary_answers(path: Path, result: EvalResult) -> list[Answer]:
    """The run's answers to the canary's prompts; none where it was not asked."""
    prompts = {q for one in result.results if one.suite == canary.SUITE for q in one.clusters}
    return [answer for answer in read_answers(path) if answer.asked.question in prompts] if prompts else []


def _canaries(answers: dict[str, list[Answer]], again: dict[str, str]) -> list[CanaryVerdict]:
    """Each candidate against the first; one that is alone against its second run."""
    asked = {name: mine for name, mine in answers.items() if mine}
    first, *others = [name for name in asked if name not in again] or [""]
    others = others or [name for name in asked if again.get(name) == first]
    repeats = {again[name]: mine for name, mine in reversed(asked.items()) if name in again}

    def itself(*names: str) -> canary.Compared | None:
        twice = next((name for name in names if name in repeats), None)
        return None if twice is None else canary.compare(asked[twice], repeats[twice])

    return [
        canary.canary_verdict(first, other, canary.compare(asked[first], asked[other]), itself(first, other))
        for other in others
    ]


def _asked(name: str, results: Mapping[str, SuiteResult], again: dict[str, str]) -> Dimension:
    clusters = {q: cluster for one in results.values() for q, cluster in one.clusters.items()}
    return Dimension(
        name=name,
        clusters=clusters,
        scores={candidate: one.scores for candidate, one in results.items()},
        outcomes={candidate: one.standing.outcomes for candidate, one in results.items()},
        reasons={candidate: one.standing.reasons for candidate, one in results.items()},
        again={name: first for name, first in again.items() if name in results},
        failed={candidate: one.failed for candidate, one in results.items()},
    )


def _differing(conditions: Sequence[Conditions]) -> tuple[str, ...]:
    """What should have been the same for all and was not, or is not known of all."""
    first = conditions[0]
    return tuple(name for name in SAME if any(getattr(c, name) != getattr(first, name) for c in conditions))


def _apart(conditions: Mapping[str, Conditions], *, first: Sequence[str]) -> tuple[DifferingCondition, ...]:
    """Every condition that is not the same for all, in words."""
    words = {name: dict(rows.conditions(stated)) for name, stated in conditions.items()}
    known = dict.fromkeys((*(rows.condition(name) for name in first), *next(iter(words.values()))))
    found = [
        DifferingCondition(name=name, values={candidate: of[name] for candidate, of in words.items()}) for name in known
    ]
    return tuple(one for one in found if len(set(one.values.values())) > 1)


def _alike(conditions: Mapping[str, Conditions]) -> dict[str, str]:
    """Every condition that is known and the same for all, in words."""
    first, *others = [dict(rows.conditions(stated)) for stated in conditions.values()]
    return {
        name: value
        for name, value in first.items()
        if value is not None and all(other[name] == value for other in others)
    }


def _notes(results: Sequence[EvalResult], names: Sequence[str]) -> list[str]:
    """What is true of several stands once."""
    notes, by_note = list[str](), defaultdict[str, list[str]](list)
    for result, name in zip(results, names, strict=True):
        if result.validity != "valid":
            notes.append(f"{name}: these figures must not be used: {result.validity}")
        if result.partial:
            notes.append(f"{name}: incomplete: {result.partial}")
        for note in result.notes:
            by_note[note].append(name)
    return notes + [f"{', '.join(mine)}: {note}" for note, mine in by_note.items()]
