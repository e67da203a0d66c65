"""What finished evaluations have shown of a suite, for the plan of the next one. Pure; knows no folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from evener.records.evaluation import EvalResult, SuiteResult
from evener.stats.clusters import estimate
from evener.stats.comparisons import is_binary

_NOTHING = 1e-9  # what rounding makes of differences that are all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of one suite. Each is None where no run could show it: variances need epochs, differences two candidates.

    `spread` is the standard deviation of paired differences between independent clusters of `size` questions, each
    asked in `epochs` epochs; `discordance` the share of independent questions that one of two got right.
    """

    tokens: float | None = None  # of one answer
    between: float | None = None  # variance of the questions' own means
    within: float | None = None  # variance of repeated answers to one question
    spread: float | None = None
    discordance: float | None = None
    size: float = 1.0
    epochs: int = 1

    def spread_at(self, epochs: int) -> float | None:
        """With other epochs, which divide what repeated answers of the two vary by."""
        if self.spread is None or self.within is None:
            return self.spread
        each = 2 * self.within / self.size
        return math.sqrt(max(0.0, self.spread**2 - each / self.epochs + each / epochs))


def seen(runs: Sequence[EvalResult], sha256: str) -> Seen:
    """What these runs show of the suite with this hash. Two runs of one candidate are no two candidates."""
    mine = [(run.candidate, one) for run in runs for one in run.results if (one.sha256, one.arm) == (sha256, "single")]
    results = [one for _, one in mine]
    pairs = [(a, b) for (x, a), (y, b) in combinations(mine, 2) if x != y and a.epochs == b.epochs]
    alike = [(a, b) for a, b in pairs if a.epochs == pairs[0][0].epochs]
    gaps = [found for a, b in alike if (found := _gaps(a, b)) is not None]
    plain = bool(gaps) and all(one.is_plain for one in gaps)
    return Seen(
        tokens=_mean(one.tokens / one.answered for one in results if one.tokens and one.answered),
        between=_mean(_measured(results, "variance_between")),
        within=_mean(_measured(results, "variance_within")),
        spread=math.sqrt(fmean(one.spread**2 for one in gaps)) if gaps else None,
        discordance=fmean(one.apart for one in gaps) if plain else None,
        size=fmean(one.size for one in gaps) if gaps else 1.0,
        epochs=alike[0][0].epochs if alike else 1,
    )


def rate(runs: Sequence[EvalResult]) -> float | None:
    """Tokens per second of all slots together: as many answers at once, each in its own time."""
    known = [(one.tokens, one.seconds / run.parallel) for run in runs for one in run.results if one.tokens]
    seconds = sum(spent for _, spent in known)
    return sum(tokens for tokens, _ in known) / seconds if seconds > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gaps:
    spread: float
    apart: float
    size: float
    is_plain: bool  # right or wrong, each question for itself


def _gaps(a: SuiteResult, b: SuiteResult) -> _Gaps | None:
    """None where fewer than two clusters, or no differences, tell how they vary."""
    both = [(q, x, y) for q, x in a.scores.items() if x is not None and (y := b.scores.get(q)) is not None]
    gaps = [x - y for _, x, y in both]
    found = estimate(gaps, [a.clusters[q] for q, _, _ in both])
    if found is None or found.se is None or found.se < _NOTHING:
        return None
    return _Gaps(
        spread=found.se * math.sqrt(found.clusters),
        apart=fmean(gap != 0 for gap in gaps),
        size=found.n / found.clusters,
        is_plain=found.n == found.clusters and is_binary([score for _, x, y in both for score in (x, y)]),
    )


def _measured(results: Sequence[SuiteResult], name: str) -> Iterator[float]:
    yield from (m.value for one in results if (m := one.measures.get(name)) is not None and m.value is not None)


def _mean(values: Iterator[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None
