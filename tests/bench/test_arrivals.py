"""Thinking and arriving: by seed, and with the means that were asked for."""

from __future__ import annotations

from itertools import islice, pairwise
from statistics import fmean, pstdev

import pytest

from evener.bench.arrivals import due_s, lead, thinking_s
from evener.bench.load import Load, Replayed


def times(load: Load, count: int) -> list[float]:
    return list(islice(due_s(load), count))


def test_constant_arrivals_are_one_after_the_other() -> None:
    assert times(Load(arrivals="constant", rate_per_s=4.0), 4) == [0.0, 0.25, 0.5, 0.75]


def test_poisson_arrivals_have_the_rate_and_its_spread() -> None:
    seen = times(Load(arrivals="poisson", rate_per_s=5.0, seed=3), 4001)
    gaps = [after - before for before, after in pairwise(seen)]
    assert fmean(gaps) == pytest.approx(0.2, rel=0.05)
    assert pstdev(gaps) == pytest.approx(0.2, rel=0.1)  # exponential: as wide as its mean


def test_a_recording_arrives_in_its_own_time_from_its_first_request_on() -> None:
    said = tuple(Replayed(messages=(), at_s=at) for at in (12.0, 10.0, 15.5))
    assert times(Load(arrivals="replay", replay=said), 9) == [0.0, 2.0, 5.5]


def test_nobody_who_does_not_think_pauses() -> None:
    assert list(islice(thinking_s(Load(), 0), 3)) == [0.0, 0.0, 0.0]


def test_people_begin_apart_and_then_think_as_long_as_they_are_said_to() -> None:
    fixed = Load(think_s=10.0, thinking="fixed")
    first, *rest = islice(thinking_s(fixed, 0), 3)
    assert 0 <= first <= 10
    assert rest == [10.0, 10.0]
    assert len({next(thinking_s(fixed, user)) for user in range(8)}) == 8
    drawn = list(islice(thinking_s(Load(think_s=10.0), 1), 1, 2001))
    assert fmean(drawn) == pytest.approx(10.0, rel=0.1)


def test_the_same_seed_thinks_and_arrives_alike_and_another_does_not() -> None:
    one, again, other = (Load(think_s=9.0, seed=seed) for seed in (1, 1, 2))
    assert list(islice(thinking_s(one, 0), 5)) == list(islice(thinking_s(again, 0), 5))
    assert list(islice(thinking_s(one, 0), 5)) != list(islice(thinking_s(other, 0), 5))


def test_one_in_ten_goes_ahead_and_none_of_a_recording_in_its_own_time() -> None:
    assert [lead(Load(arrivals="poisson", rate_per_s=1.0), asked) for asked in (10, 60)] == [3, 6]
    assert lead(Load(arrivals="replay", replay=(Replayed(messages=(), at_s=0.0),)), 60) == 0
