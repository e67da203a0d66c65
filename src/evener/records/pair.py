"""Two servers or layouts measured in turns: what each pair gave, and the one verdict. Definitions: metrics.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evener.records.conditions import Conditions

SideName = Literal["A", "B"]
Metric = Literal["per_user_tokens_per_s", "total_tokens_per_s", "ttft_ms"]
PairOutcome = Literal["B is faster", "B is slower", "no difference that matters", "cannot be separated", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two. `url` is where it was reached, the last time it was up."""

    name: SideName  # in requests.jsonl it is `layout`
    label: str  # what people call it: a URL, a deployment, or what differs between the two layouts
    url: str | None = None
    model: str | None = None  # as the server calls it
    conditions: Conditions = field(default_factory=Conditions)  # everything known that could change a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One figure, A against B. Each pair holds the medians of two visits with the same prompts, one right after the
    other."""

    metric: Metric  # which figure: medians over the requests of a visit; the total is of its window
    users: int  # at this user count
    pairs: tuple[tuple[float, float], ...]  # (A, B) of each pair whose two visits gave the figure
    a: float | None  # the median of A's values
    b: float | None  # the median of B's
    change: float | None  # B / A - 1, from the pairs' ratios (Hodges and Lehmann's estimate)
    interval: tuple[float, float] | None  # its 95 % interval (Wilcoxon's signed ranks, exact); None below 6 pairs
    outcome: PairOutcome  # a longer wait is slower


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """The answer of `bench pair`. `validity` is "valid", or why the figures must not be used.

    The verdict is about one figure, named in `verdict_metric`: the others stand beside it and decide nothing.
    """

    a: Side  # what the other is held against
    b: Side  # the other
    outcome: PairOutcome  # of the figure that the verdict is about
    sentence: str  # the verdict
    basis: str  # pairs, requests, interval and margin behind it
    verdict_metric: Metric  # each user's rate for one user, the total for several
    verdict_users: int  # the first user count that was asked for
    margin: float  # the smallest change that matters, as a share of 1
    pairs_asked: int  # usable ones; what a busy machine spoils is repeated, up to half as many again
    requests_each: int  # measured requests of one visit, at the user count of the verdict
    differences: tuple[Difference, ...]  # every figure at every user count
    differing: tuple[str, ...] = ()  # conditions that are known and not the same
    unknown: tuple[str, ...] = ()  # conditions that nobody knows of one of the two
    validity: str = "valid"
    partial: str | None = None  # why pairs are missing
    notes: tuple[str, ...] = ()  # what a reader must know to use the figures
