"""How often chance alone drops the best of several figures that do not differ."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from evener.report.against_parts import SideFigure
from evener.report.figures import told_apart
from evener.stats.intervals import quantile, quantile_interval


def a_median(draw: random.Random) -> SideFigure:
    values = [draw.lognormvariate(3, 0.25) for _ in range(20)]
    return SideFigure(value=quantile(values, 0.5), interval=quantile_interval(values, 0.5), n=20, basis="95 %")


def repetitions(draw: random.Random) -> SideFigure:
    values = [draw.gauss(50, 2) for _ in range(5)]
    return SideFigure(value=sum(values) / 5, interval=(min(values), max(values)), n=5, basis="range")


@pytest.mark.parametrize("measure", [a_median, repetitions])
def test_the_best_of_five_is_dropped_by_chance_less_than_one_time_in_twenty(
    measure: Callable[[random.Random], SideFigure],
) -> None:
    draw, dropped = random.Random(1), 0
    for _ in range(600):
        best, *others = (measure(draw) for _ in range(5))
        words = {told_apart(best, other, more_is_better=True, comparisons=4) for other in others}
        dropped += "better" in words
    assert 0 < dropped < 30
