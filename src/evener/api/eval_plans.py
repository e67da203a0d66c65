"""`evener eval --plan`: what suites can prove about so many candidates, and what asking costs. Asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evener import state
from evener.api import eval_runs, evals
from evener.edges.run_folder import find_run, open_run
from evener.errors import ConfigurationError
from evener.evals import planning
from evener.evals.seen import rate, seen
from evener.records.evaluation import EvalAsked, EvalPlan, EvalResult


def plan(
    asked: EvalAsked,
    *,
    models: int,
    tokens_per_s: float | None = None,
    within_minutes: float | None = None,
    runs: Sequence[str] = (),
    base: Path | None = None,
) -> EvalPlan:
    """`runs` are finished evaluations: what they show of answers and differences takes the place of assumptions.

    Raises ConfigurationError, NameUnknown.
    """
    results = [_result(base or state.runs_folder(), name) for name in runs]
    suites = evals.chosen(asked)
    known = tokens_per_s or rate(results)
    if within_minutes is not None and known is None:
        raise ConfigurationError("--within needs to know how fast answers come", hint="--rate TOK/S, or --from RUN")
    whole = evals.chosen(replace(asked, quick=False, most=None))
    wanted = planning.Wanted(
        models=models,
        epochs=asked.epochs,
        arms=asked.arms,
        k=asked.k,
        temperature=asked.temperature,
        tokens_per_s=known,
        within_minutes=within_minutes,
        seen={suite.sha256: seen(results, suite.sha256) for suite in suites},
    )
    return planning.plan(suites, wanted, whole={suite.name: len(suite.questions) for suite in whole})


def _result(base: Path, name: str) -> EvalResult:
    data = open_run(find_run(base, name))
    result = eval_runs.result_of(data)
    if result is None:
        raise ConfigurationError(f"{data.path.name} holds no finished evaluation", hint="evener runs --all --what eval")
    return result
