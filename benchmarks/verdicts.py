"""Simulated campaigns against the truth: how often does a verdict err, and how often does it find what is there?

    python benchmarks/verdicts.py [campaigns]

Six models, or two, answer the same questions. Questions differ in difficulty (beta-distributed, so that two equal
models disagree on 30 % of them); with `documents` five questions share one difficulty. Graded scores are a segment's
own level and a normal deviation, so that paired differences have the standard deviation that `eval --plan` assumes.
"As planned" is as many questions as `eval --plan` asks for; of graded scores the gap that it says this number finds.
Prints, per design, the share of campaigns with a false "better", those whose best set holds the truth, those that find
a gap of the planned size, the coverage of the printed intervals, and what naming the highest mean would have claimed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from evener.evals.planning import GRADED_SD
from evener.evals.verdicts import Dimension, verdict
from evener.stats.power import graded_gap, questions_needed

MODELS = tuple("ABCDEF")
MEAN, SPREAD = 0.7, 2.5  # of the beta distribution: E[p(1-p)] = 0.15, so that equal models disagree 30 times in 100
CHRF, LEVELS_SD = 0.55, 0.13  # mean and standard deviation of segments' chrF, one right translation against another


@dataclass(frozen=True)
class Design:
    name: str
    questions: int
    gap: float = 0.0  # by which A is better than all others
    models: int = 6
    documents: bool = False
    graded: bool = False


@dataclass(frozen=True)
class Outcome:
    false_better: bool
    best_holds_truth: bool
    found: bool
    best_alone: bool
    covered: float
    naive_right: bool
    naive_claims: bool


def campaign(design: Design, seed: int) -> Outcome:
    draw = np.random.default_rng(seed)
    cluster = [i // 5 if design.documents else i for i in range(design.questions)]
    ask = graded if design.graded else right_or_wrong
    columns, usual = ask(draw, cluster, design)
    truth = {name: usual + (design.gap if i == 0 else 0.0) for i, name in enumerate(MODELS[: design.models])}
    scores = {
        name: {f"q{j}": float(x) for j, x in enumerate(column)} for name, column in zip(truth, columns, strict=True)
    }
    found = verdict(
        Dimension(name="simulated", clusters={f"q{j}": str(c) for j, c in enumerate(cluster)}, scores=scores), seed=seed
    )
    better = {(p.first, p.second) if p.word == "better" else (p.second, p.first) for p in found.pairs
              if p.word in ("better", "worse")}  # fmt: skip
    means = sorted((sum(column.values()), name) for name, column in scores.items())
    inside = [s.interval is not None and s.interval[0] <= truth[s.candidate] <= s.interval[1] for s in found.standings]
    return Outcome(
        false_better=any(truth[a] <= truth[b] for a, b in better),
        best_holds_truth="A" in found.best,
        found=("A", "B") in better,
        best_alone=found.best == ("A",),
        covered=sum(inside) / len(inside),
        naive_right=means[-1][1] == "A",
        naive_claims=means[-1][0] > means[-2][0],
    )


def right_or_wrong(draw: np.random.Generator, cluster: list[int], design: Design) -> tuple[list[np.ndarray], float]:
    """Scores of each model, and the mean of all but the first."""
    easy = draw.beta(MEAN * SPREAD, (1 - MEAN) * SPREAD, size=max(cluster) + 1)[cluster]
    lifts = [design.gap / (1 - MEAN), *[0.0] * (design.models - 1)]
    return [draw.random(len(cluster)) < easy + (1 - easy) * lift for lift in lifts], MEAN


def graded(draw: np.random.Generator, cluster: list[int], design: Design) -> tuple[list[np.ndarray], float]:
    own = draw.normal(CHRF, LEVELS_SD, size=len(cluster))
    gaps = [design.gap, *[0.0] * (design.models - 1)]
    return [own + gap + draw.normal(0.0, GRADED_SD / 2**0.5, size=len(cluster)) for gap in gaps], CHRF


def planned(gap: float, models: int) -> int:
    """Questions for this gap at the discordance that it really has here."""
    lift = gap / (1 - MEAN)
    unequal = 0.3 * (1 - lift) + (1 - MEAN) * lift
    return questions_needed(gap, models=models, discordance=unequal) or 0


DESIGNS = (
    Design("6 equal models, 24 questions", 24),
    Design("6 equal models, 120 questions", 120),
    Design("6 equal models, 24 documents of 5", 120, documents=True),
    Design("A 10 points ahead of 5, as planned", planned(0.10, 6), gap=0.10),
    Design("A 15 points ahead of 5, as planned", planned(0.15, 6), gap=0.15),
    Design("A 20 points ahead of B, as planned", planned(0.20, 2), gap=0.20, models=2),
    Design("A 10 points ahead of B, as planned", planned(0.10, 2), gap=0.10, models=2),
    Design("A ahead of 5, graded, as planned", 131, gap=graded_gap(131, GRADED_SD, models=6) or 0.0, graded=True),
    Design("A ahead of B, graded, as planned", 30, gap=graded_gap(30, GRADED_SD) or 0.0, models=2, graded=True),
)


def share(outcomes: list[Outcome], what: Callable[[Outcome], float]) -> float:
    return sum(map(what, outcomes)) / len(outcomes)


def main() -> None:
    campaigns = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{campaigns} campaigns each; shares in per cent")
    print(f"{'design':<38}{'n':>5}{'false better':>14}{'best set true':>15}{'gap found':>11}{'A alone':>9}"
          f"{'covered':>9}{'naive claims':>14}{'naive right':>13}")  # fmt: skip
    with ProcessPoolExecutor() as pool:
        for design in DESIGNS:
            began = time.perf_counter()
            outcomes = list(pool.map(campaign, [design] * campaigns, range(campaigns), chunksize=20))
            gap = f"{share(outcomes, lambda o: o.found):>11.1%}" if design.gap else f"{'-':>11}"
            alone = f"{share(outcomes, lambda o: o.best_alone):>9.1%}" if design.gap else f"{'-':>9}"
            right = f"{share(outcomes, lambda o: o.naive_right):>13.1%}" if design.gap else f"{'-':>13}"
            print(
                f"{design.name:<38}{design.questions:>5}{share(outcomes, lambda o: o.false_better):>14.1%}"
                f"{share(outcomes, lambda o: o.best_holds_truth):>15.1%}{gap}{alone}"
                f"{share(outcomes, lambda o: o.covered):>9.1%}{share(outcomes, lambda o: o.naive_claims):>14.1%}{right}"
                f"   {time.perf_counter() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
