"""The search against brute force: every set, every order and every cut of every small case."""

import random
from itertools import combinations, permutations, product

import numpy as np
import pytest

from evener.plan.search import Block, Device, least_overlap, least_sum

NOWHERE = float("inf")


def matrix(slots, cost):
    return np.array([[cost(a, b) if a < b else NOWHERE for b in range(slots + 1)] for a in range(slots + 1)])


def device(number, slots, first, later=None, kind=None):
    one = matrix(slots, first)
    return Device(
        number=number,
        kind=number if kind is None else kind,
        first=one,
        later=one if later is None else matrix(slots, later),
    )


def case(seed):
    """Blocks of devices of random speed and room; the first and last run, leaving, and following cost extra."""
    chance = random.Random(seed)
    slots = chance.randint(2, 6)
    sizes = [chance.randint(1, 9) for _ in range(slots)]
    numbers = iter(range(9))
    blocks = []
    for _ in range(chance.randint(1, 3)):
        devices = []
        for _ in range(chance.choice((1, 1, 2))):
            twins = chance.random() < 0.2
            number = next(numbers)
            chosen = random.Random(0 if twins else seed * 10 + number)
            speed, room, fixed = chosen.randint(1, 9), chosen.randint(5, 30), chosen.randint(0, 20)

            def first(a, b, speed=speed, room=room, fixed=fixed, extra=0):
                held = sum(sizes[a:b])
                if held > room:
                    return NOWHERE
                return held * speed + fixed + extra + 3 * (a == 0) + 7 * (b == slots) * (speed % 2)

            def later(a, b, first=first):
                return first(a, b, extra=4)

            devices.append(device(number, slots, first, later, kind=("twin", 0) if twins else number))
        blocks.append(Block(devices=tuple(devices), leaving=chance.randint(0, 9)))
    return slots, blocks


def every_way(blocks, slots):
    """Costs per block, the leaving of all but the last included, of every way to place everything."""
    for count in range(1, len(blocks) + 1):
        for order in permutations(blocks, count):
            inside = [[o for n in range(1, len(b.devices) + 1) for o in permutations(b.devices, n)] for b in order]
            for chosen in product(*inside):
                yield from costs_of(order, chosen, slots)


def costs_of(order, chosen, slots):
    flat = [(place, i) for place, devices in enumerate(chosen) for i in range(len(devices))]
    for cuts in combinations(range(1, slots), len(flat) - 1):
        bounds = (0, *cuts, slots)
        each = [0.0] * len(order)
        for (place, i), start, stop in zip(flat, bounds, bounds[1:], strict=False):
            one = chosen[place][i]
            each[place] += (one.later if i else one.first)[start, stop]
        yield [
            cost + block.leaving * (place < len(order) - 1)
            for place, (cost, block) in enumerate(zip(each, order, strict=True))
        ]


def priced(cut, blocks, slots):
    """What the parts of a cut cost in each block, in order."""
    owner = {d.number: (block, d) for block in blocks for d in block.devices}
    start, each, entered = 0, [], []
    for number, count in cut.parts:
        block, one = owner[number]
        if not entered or entered[-1] is not block:
            assert block not in entered, "devices of one block stay together"
            if entered:
                each[-1] += entered[-1].leaving
            entered.append(block)
            each.append(float(one.first[start, start + count]))
        else:
            each[-1] += float(one.later[start, start + count])
        start += count
    assert start == slots
    assert len({n for n, _ in cut.parts}) == len(cut.parts)
    return each


@pytest.mark.parametrize("at_least", [1, 2])
@pytest.mark.parametrize("seed", range(60))
def test_least_sum_is_the_least_of_all_ways(seed, at_least):
    slots, blocks = case(seed)
    sums = [sum(each) for each in every_way(blocks, slots) if len(each) >= at_least]
    found = least_sum(blocks, slots, at_least=at_least)
    if min(sums, default=NOWHERE) == NOWHERE:
        assert found is None
        return
    assert found.cost == min(sums) == sum(priced(found, blocks, slots))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("batches", [1, 16])
def test_least_overlap_is_the_least_of_all_ways(seed, batches):
    def total(each):
        last, earlier = each[-1], sum(each[:-1])
        return batches * max(last, earlier) + min(last, earlier)

    slots, blocks = case(seed)
    totals = [total(each) for each in every_way(blocks, slots)]
    found = least_overlap(blocks, slots, batches=batches)
    if min(totals) == NOWHERE:
        assert found is None
        return
    assert found.cost == min(totals) == total(priced(found, blocks, slots))


def equal(number, slots, speed, room=99, kind=None):
    return device(number, slots, lambda a, b: (b - a) * speed if b - a <= room else NOWHERE, kind=kind)


def test_a_slow_device_that_is_not_needed_gets_nothing():
    found = least_sum([Block(devices=(equal(0, 10, 1.0), equal(1, 10, 5.0)))], 10)
    assert found.parts == ((0, 10),)


def test_the_fast_device_is_filled_first_when_it_cannot_hold_everything():
    found = least_sum([Block(devices=(equal(0, 10, 5.0), equal(1, 10, 1.0, room=6)))], 10)
    assert sorted(found.parts) == [(0, 4), (1, 6)]


def test_a_prompt_gives_the_last_of_equal_blocks_about_half():
    blocks = [Block(devices=(equal(n, 30, 1.0),)) for n in range(3)]
    assert least_overlap(blocks, 30, batches=16).parts[-1][1] == 15


def test_slots_before_the_beginning_are_somebody_elses():
    assert least_sum([Block(devices=(equal(0, 10, 1.0),))], 10, begin=4).parts == ((0, 6),)


def test_many_different_devices_keep_their_order():
    devices = tuple(equal(n, 20, 1.0 + n, room=2) for n in range(15))
    found = least_sum([Block(devices=devices)], 20)
    assert found.parts == tuple((n, 2) for n in range(10))


def test_many_equal_devices_may_be_used_in_any_number():
    devices = tuple(equal(n, 20, 1.0, room=2, kind="same") for n in range(15))
    assert sum(count for _, count in least_sum([Block(devices=devices)], 20).parts) == 20
