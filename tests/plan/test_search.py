"""The search against brute force: every cut of every small case."""

import random
from itertools import combinations_with_replacement

import pytest

from evener.plan.search import least_overlap, least_sum


def every_cut(slots, devices):
    for cuts in combinations_with_replacement(range(slots + 1), devices - 1):
        bounds = [0, *cuts, slots]
        yield [(bounds[i], bounds[i + 1]) for i in range(devices)]


def case(seed):
    """Devices of random speed, room and fixed cost; slots of random size; the first and the last run cost extra."""
    chance = random.Random(seed)
    slots, devices = chance.randint(2, 9), chance.randint(1, 4)
    sizes = [chance.randint(1, 9) for _ in range(slots)]
    speed = [chance.randint(1, 9) for _ in range(devices)]
    room = [chance.randint(5, 40) for _ in range(devices)]
    fixed = [chance.randint(0, 20) for _ in range(devices)]

    def cost(device, start, stop):
        held = sum(sizes[start:stop])
        if held > room[device]:
            return None
        extra = 3 * (start == 0) + 7 * (stop == slots) * (device % 2)
        return held * speed[device] + fixed[device] + extra

    return slots, devices, cost


def costs(cut, cost):
    runs = [(d, *run) for d, run in enumerate(cut) if run[0] < run[1]]
    each = [cost(*run) for run in runs]
    return None if None in each else each


@pytest.mark.parametrize("seed", range(60))
def test_least_sum_is_the_least_of_all_cuts(seed):
    slots, devices, cost = case(seed)
    sums = [sum(each) for cut in every_cut(slots, devices) if (each := costs(cut, cost)) is not None]
    found = least_sum(slots, devices, cost)
    if not sums:
        assert found is None
        return
    assert found.cost == min(sums)
    assert sum(found.counts) == slots


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("batches", [1, 16])
def test_least_overlap_is_the_least_of_all_cuts(seed, batches):
    slots, devices, cost = case(seed)
    totals = [
        batches * max(each[-1], sum(each[:-1])) + each[-1]
        for cut in every_cut(slots, devices)
        if (each := costs(cut, cost)) is not None
    ]
    found = least_overlap(slots, devices, cost, batches=batches)
    if not totals:
        assert found is None
        return
    assert found.cost == min(totals)
    assert sum(found.counts) == slots


def test_a_slow_device_that_is_not_needed_gets_nothing():
    found = least_sum(10, 2, lambda device, start, stop: (stop - start) * (1, 5)[device])
    assert found.counts == (10, 0)


def test_the_fast_device_is_filled_first_when_it_cannot_hold_everything():
    def cost(device, start, stop):
        return None if device == 1 and stop - start > 6 else (stop - start) * (5, 1)[device]

    assert least_sum(10, 2, cost).counts == (4, 6)


def test_a_prompt_gives_the_last_of_equal_devices_about_half():
    found = least_overlap(30, 3, lambda _device, start, stop: float(stop - start), batches=16)
    assert [n for n in found.counts if n][-1] == 15
