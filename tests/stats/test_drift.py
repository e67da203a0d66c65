"""First third against last: by hand, and by simulation where neighbours are alike."""

from __future__ import annotations

import random

import pytest

from evener.stats.drift import Change, TooShort, change, memory


def series(first: float, last: float, *, third: int = 16) -> list[float]:
    """Thirds that swing by 1 around `first`, `first` and `last`."""
    return [level + (1 if i % 2 else -1) for level in (first, first, last) for i in range(third)]


def remembering(n: int, rho: float, *, seed: random.Random, drop: float = 0.0) -> list[float]:
    """An AR(1) series of standard deviation 1 around 100, whose last third is lower by `drop`."""
    x, made = seed.gauss(0, 1), []
    for i in range(n):
        x = rho * x + (1 - rho * rho) ** 0.5 * seed.gauss(0, 1)
        made.append(100 + x - (drop if i >= 2 * n // 3 else 0.0))
    return made


def test_a_change_and_its_interval_by_hand() -> None:
    """Four blocks of four, whose means are 10 and 8: any exchange of blocks says -2. 2 of 70 ways are as far apart."""
    found = change(series(10, 8))
    assert isinstance(found, Change)
    assert (found.first, found.last, found.difference) == (10.0, 8.0, -2.0)
    assert (found.blocks, found.block) == (4, 4)
    assert found.interval == (-2.0, -2.0)
    assert found.p_value == pytest.approx(2 / 70)


def test_no_change_is_none() -> None:
    found = change(series(10, 10))
    assert isinstance(found, Change)
    assert (found.difference, found.interval, found.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_too_few_values_say_how_many_would_do() -> None:
    assert change(series(10, 8, third=15)) == TooShort(values=45, needed=48)
    assert change([]) == TooShort(values=0, needed=12)
    assert isinstance(change([5.0]), TooShort)


def test_a_series_that_remembers_long_is_too_short_sooner() -> None:
    waves = [float(i // 6 % 2) for i in range(60)]
    found = change(waves)
    assert isinstance(found, TooShort)
    assert found.needed > 120


def test_memory_of_what_has_none_and_of_long_waves() -> None:
    assert memory([0.0, 1.0] * 30) == 1.0
    assert memory([5.0] * 30) == 1.0
    assert memory([float(i // 10 % 2) for i in range(180)]) > 5


def test_a_change_of_level_between_thirds_is_not_memory() -> None:
    assert memory(series(10, 5)) == 1.0


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_false_alarms_stay_near_five_in_a_hundred_where_neighbours_are_alike(rho: float) -> None:
    """A test that takes 180 values with rho = 0.5 for independent raises 26 % false alarms."""
    seed = random.Random(7)
    found = [change(remembering(180, rho, seed=seed)) for _ in range(200)]
    decided = [one for one in found if isinstance(one, Change)]
    assert len(decided) > 100
    assert sum(one.p_value <= 0.05 for one in decided) <= 0.08 * len(decided)


def test_a_real_fall_is_found_and_the_interval_covers_it() -> None:
    seed = random.Random(8)
    found = [change(remembering(180, 0.3, seed=seed, drop=2.0)) for _ in range(100)]
    decided = [one for one in found if isinstance(one, Change)]
    assert len(decided) > 90
    assert sum(one.p_value <= 0.05 for one in decided) > 0.95 * len(decided)
    assert sum(one.interval[0] <= -2.0 <= one.interval[1] for one in decided) >= 0.92 * len(decided)


def test_the_interval_excludes_zero_exactly_when_the_test_does() -> None:
    seed = random.Random(9)
    for _ in range(60):
        found = change(remembering(90, 0.0, seed=seed, drop=0.4))
        if isinstance(found, Change):
            low, high = found.interval
            assert (found.p_value <= 0.05) == (not low <= 0 <= high)
