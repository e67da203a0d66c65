"""Values to a distribution with its company: n, the percentiles that n allows, and their intervals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from statistics import fmean

from evener.records.load import Adjusted, Percentile, Spread
from evener.stats.intervals import quantile, quantile_interval, quantile_with_endless

# Below these no two values of the sample bound the percentile with 95 % confidence.
P90_FROM_N = 29
P95_FROM_N = 59


def spread(values: Iterable[float], unit: str, *, independent: bool = True) -> Spread:
    """A distribution with n and the intervals that n allows. Values of one stream after another are not independent,
    and get none."""
    known = sorted(values)  # once: what is in order is sorted again in no time
    wide_enough = len(known) >= P90_FROM_N
    return Spread(
        n=len(known),
        mean=fmean(known) if known else None,
        p50=quantile(known, 0.5),
        p90=quantile(known, 0.9) if wide_enough else None,
        interval=quantile_interval(known, 0.5) if independent else None,
        p90_interval=quantile_interval(known, 0.9) if independent else None,
        most=max(known, default=None),
        unit=unit,
        p95=quantile(known, 0.95) if len(known) >= P95_FROM_N else None,
        p95_interval=quantile_interval(known, 0.95) if independent else None,
    )


def adjusted(values: Sequence[float], *, failed: int, unit: str) -> Adjusted:
    """Percentiles of these and of `failed` more that never come."""
    n = len(values) + failed
    at = {q: quantile_with_endless(values, failed, q) for q in (0.5, 0.9, 0.95)}
    return Adjusted(
        n=n,
        failed=failed,
        p50=_or_never(at[0.5]),
        p90=_or_never(at[0.9]) if n >= P90_FROM_N else None,
        p95=_or_never(at[0.95]) if n >= P95_FROM_N else None,
        unit=unit,
    )


def _or_never(value: float | None) -> Percentile:
    return "never" if value == inf else value
