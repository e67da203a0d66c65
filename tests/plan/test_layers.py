"""Which slot goes where. The engine's own answers for these were captured from build 11434."""

import random

from evener.plan.layers import assign, counts, fill


def test_published_tensor_split_gives_the_5080_fourteen_slots_and_the_5090_seven():
    # Beta's three cards come first over RPC, then alpha's two: the 32 lands on beta's 5080.
    order = ["beta 5080", "beta 5060 Ti", "beta 5060 Ti", "alpha 5090", "alpha 5060 Ti"]
    given = dict(zip(range(5), order, strict=True))
    slots = counts(assign(41, [32, 16, 16, 16, 16]), 5)
    assert slots == (14, 7, 7, 7, 6)
    assert given[3] == "alpha 5090"


def test_engine_put_sixteen_and_fifteen_slots_where_the_split_said_so():
    assert assign(31, [16, 15]) == (0,) * 16 + (1,) * 15  # tests/captures/llama/two_workers.jsonl


def test_two_decimal_fractions_miss_the_wanted_counts():
    # 70 blocks and the head, a third each: 0.34 is more than a third, and the engine divides by the sum.
    assert counts(assign(71, [0.32, 0.34, 0.34]), 3) == (23, 24, 24)
    assert counts(assign(71, [24, 24, 23]), 3) == (24, 24, 23)


def test_integer_weights_that_sum_to_the_slots_are_the_counts():
    chance = random.Random(1)
    for _ in range(2000):
        devices = chance.randint(1, 15)
        slots = chance.randint(devices, 200)
        cuts = sorted(chance.randint(0, slots) for _ in range(devices - 1))
        wanted = tuple(b - a for a, b in zip([0, *cuts], [*cuts, slots], strict=True))
        assert counts(assign(slots, wanted), devices) == wanted


def test_a_trailing_zero_moves_the_output_head_to_the_last_device_that_has_slots():
    assert assign(10, [4, 6, 0])[-1] == 1


def test_equal_cards_get_equal_shares():
    assert fill([10] * 8, [100, 100]) == (4, 4)


def test_cards_are_filled_in_proportion_to_their_room():
    assert fill([10] * 12, [100, 50]) == (8, 4)


def test_a_heavy_output_head_is_counted_against_its_card():
    # Four blocks of 10 and a head of 20 on two equal cards: 30 and 10 + 20, not 20 and 10 + 10 + 20.
    assert fill([10, 10, 10, 10, 20], [60, 60]) == (3, 2)


def test_a_card_without_room_gets_nothing():
    assert fill([10] * 4, [0, 100]) == (0, 4)


def test_what_does_not_fit_is_not_placed():
    assert fill([10] * 4, [15, 15]) is None


def test_a_model_that_just_fits_is_placed():
    assert fill([10] * 4, [20, 20]) == (2, 2)
