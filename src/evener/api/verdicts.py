"""`evener verdict`: evaluations of several candidates on the same questions, and what they prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evener.edges.run_folder import open_head, read_answers
from evener.errors import ConfigurationError, NameUnknown
from evener.evals import canary
from evener.evals.verdicts import MARGIN, Dimension, verdict
from evener.records.answers import Answer
from evener.records.conditions import Conditions
from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.verdicts import CanaryVerdict, DimensionVerdict, Policy, Verdicts

SAME = ("sampling", "thinking_asked", "thinking_observed")  # what has to be the same for an answer to be compared


def verdicts(runs: Sequence[Path], *, policy: Policy = "excluded", margin: float = MARGIN, seed: int = 0) -> Verdicts:
    """What these runs prove, suite by suite. Of two runs of one candidate the later is the noise floor.

    Raises ConfigurationError for runs that are no evaluations, or of which no two share a suite.
    """
    read = [_read(path) for path in runs]
    names = _names([result for result, _ in read])
    again = _again([result.candidate for result, _ in read], names)
    suites = dict.fromkeys((r.suite, r.sha256) for result, _ in read for r in result.results if r.suite != canary.SUITE)
    dimensions = [
        found
        for suite, sha256 in suites
        if (found := _dimension(suite, sha256, [r for r, _ in read], names, again, policy, margin, seed)) is not None
    ]
    arms = [d for (result, _), name in zip(read, names, strict=True) for d in _arms(result, name, policy, margin, seed)]
    canaries = _canaries(
        {name: _canary_answers(path, result) for path, (result, _), name in zip(runs, read, names, strict=True)}, again
    )
    if not dimensions and not arms and not canaries:
        raise ConfigurationError("no two of these runs share a suite of the same questions")
    return Verdicts(
        candidates=tuple(name for name in names if name not in again),
        dimensions=tuple(dimensions),
        arms=tuple(arms),
        differing=_differing([conditions for _, conditions in read]),
        notes=tuple(_notes([result for result, _ in read], names)),
        canaries=tuple(canaries),
    )


def _read(path: Path) -> tuple[EvalResult, Conditions]:
    run, summary = open_head(path)
    found = next((s.evaluation for s in summary.stages if s.evaluation is not None), None) if summary else None
    if found is None:
        raise NameUnknown(f"{path.name} holds no finished evaluation", hint=f"evener eval --resume {path.name}")
    return found, run.conditions


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


def _dimension(
    suite: str,
    sha256: str,
    results: Sequence[EvalResult],
    names: Sequence[str],
    again: dict[str, str],
    policy: Policy,
    margin: float,
    seed: int,
) -> DimensionVerdict | None:
    """One suite over all candidates that were asked once; None where fewer than two have it."""
    mine = {
        name: one
        for result, name in zip(results, names, strict=True)
        for one in result.results
        if (one.suite, one.sha256, one.arm) == (suite, sha256, "single")
    }
    if len(mine) < 2:
        return None
    return verdict(_asked(suite, mine, again), policy=policy, margin=margin, seed=seed)


def _arms(result: EvalResult, name: str, policy: Policy, margin: float, seed: int) -> list[DimensionVerdict]:
    """What voting or reflecting changed for one candidate."""
    found = []
    for suite in dict.fromkeys(one.suite for one in result.results):
        mine = {one.arm: one for one in result.results if one.suite == suite}
        if len(mine) > 1:
            asked = _asked(f"{suite}: arms of {name}", {str(arm): one for arm, one in mine.items()}, {})
            found.append(verdict(asked, policy=policy, margin=margin, seed=seed))
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


def _asked(name: str, results: dict[str, SuiteResult], again: dict[str, str]) -> Dimension:
    clusters = {q: cluster for one in results.values() for q, cluster in one.clusters.items()}
    return Dimension(
        name=name,
        clusters=clusters,
        scores={candidate: one.scores for candidate, one in results.items()},
        outcomes={candidate: one.standing.outcomes for candidate, one in results.items()},
        reasons={candidate: one.standing.reasons for candidate, one in results.items()},
        again={name: first for name, first in again.items() if name in results},
    )


def _differing(conditions: Sequence[Conditions]) -> tuple[str, ...]:
    """What should have been the same for all and was not, or is not known of all."""
    first = conditions[0]
    return tuple(name for name in SAME if any(getattr(c, name) != getattr(first, name) for c in conditions))


def _notes(results: Sequence[EvalResult], names: Sequence[str]) -> list[str]:
    notes = []
    for result, name in zip(results, names, strict=True):
        if result.validity != "valid":
            notes.append(f"{name}: these figures must not be used: {result.validity}")
        if result.partial:
            notes.append(f"{name}: incomplete: {result.partial}")
        notes += [f"{name}: {note}" for note in result.notes]
    return notes
