"""What a device reads and multiplies for a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.plan.speed_devices import device_speed
from evener.plan.speed_stage import Stage, cache_read_bytes, decode_cost, distinct_share, prompt_cost, touched_bytes
from evener.plan.speed_values import exact
from evener.records.plan import Workload
from evener.records.speed import DeviceSpeed

from .speed_models import gpt_oss, likely, llama_70b, placed, qwen_35b_a3b


def test_expected_number_of_distinct_experts() -> None:
    """Of 4 experts with 2 chosen: one token touches 2, two touch 4 x (1 - 1/4) = 3, three 4 x (1 - 1/8) = 3.5."""
    weights = replace(gpt_oss(2, 4), experts_used=2)
    assert [4 * distinct_share(weights, tokens) for tokens in (1, 2, 3)] == [2, 3, 3.5]
    assert distinct_share(llama_70b(1e9), 5) == 1


def test_token_reads_chosen_experts_and_everything_else() -> None:
    weights = gpt_oss(1, 128)
    (stage,) = placed(("alpha", "RTX 5090", 2))
    routed, shared, head = 3 * 2880 * 2880 * 17 // 32, 2 * (2 * 2880 * 4096 + 2 * 2880 * 512), 2 * 201088 * 2880
    assert touched_bytes(stage, weights, tokens=1) == pytest.approx(4 * routed + shared + head)
    assert touched_bytes(replace(stage, part="experts"), weights, tokens=1) == pytest.approx(4 * routed)
    assert touched_bytes(replace(stage, part="rest"), weights, tokens=1) == pytest.approx(shared + head)


def test_mtp_blocks_are_not_read() -> None:
    weights = replace(llama_70b(80e9), mtp_layers=1)
    (stage,) = placed(("alpha", "RTX 5090", 81))
    assert touched_bytes(stage, weights, tokens=1) == sum(weights.slot_bytes) - weights.slot_bytes[79]


def test_caches_are_read_by_window_and_states_read_and_written() -> None:
    (stage,) = placed(("alpha", "RTX 5090", 41))
    weights = qwen_35b_a3b()
    state = 2 * 30 * 2195456
    full = 10 * 2 * (256 + 256) * 2  # bytes of a cell in the ten layers with full attention
    assert cache_read_bytes(stage, weights, Workload(), sequences=1, depth=1000) == state + 1000 * full
    assert cache_read_bytes(stage, weights, Workload(), sequences=3, depth=1000) == 3 * (state + 1000 * full)
    assert weights.attention is not None
    windowed = replace(weights, attention=replace(weights.attention, window=(100,) * 40))
    assert cache_read_bytes(stage, windowed, Workload(), sequences=1, depth=1000) == state + 100 * full


def test_experts_in_ram_read_at_the_rams_rate() -> None:
    weights = gpt_oss(36, 128)
    card, ram = placed(("alpha", "RTX 5090", 37), ("alpha", "CPU 2x DDR5-5600", 0))
    experts = replace(ram, part="experts", start=0, count=37)
    rest = replace(card, part="rest")
    on_card, in_ram, all_on_card = (
        decode_cost(stage, weights, Workload(), sequences=1, depth=0) for stage in (rest, experts, card)
    )
    assert on_card is not None
    assert in_ram is not None
    assert all_on_card is not None
    # 36 x 4 experts of 13.2 MB at three quarters of 89.6 GB/s
    assert likely(in_ram.work_s) == pytest.approx(36 * 4 * 3 * 2880 * 2880 * 17 / 32 / (0.75 * 89.6e9), rel=0.01)
    assert likely(on_card.work_s) < likely(all_on_card.work_s)
    moved = prompt_cost(experts, weights, tokens=512, context=256)
    assert moved is not None
    assert likely(moved.work_s) == pytest.approx(61.1e9 / 14e9, rel=0.02)


def test_batch_never_takes_longer_than_its_members_one_by_one() -> None:
    slow = DeviceSpeed(source="test", weights_bytes_per_s=exact(17e9), flop_per_s=exact(58e9))
    (stage,) = placed(("alpha", "RTX 5090", 81))
    stage = replace(stage, speed=device_speed(None, slow))
    one, four = (decode_cost(stage, llama_70b(80e9), Workload(), sequences=n, depth=0) for n in (1, 4))
    assert one is not None
    assert four is not None
    assert likely(four.work_s) == pytest.approx(4 * likely(one.work_s))


def test_prompt_multiplies_each_weight_twice_per_token_and_leaves_out_the_head() -> None:
    rate = DeviceSpeed(source="test", weights_bytes_per_s=exact(1e15), flop_per_s=exact(1e12))
    stage = Stage(host="a", card="c", speed=rate, start=0, count=81)
    cost = prompt_cost(stage, llama_70b(40e9), tokens=512, context=0)
    assert cost is not None
    assert likely(cost.work_s) == pytest.approx(512 * 2 * 70e9 / 1e12, rel=0.001)


def test_few_tokens_per_expert_keep_matrix_units_half_idle() -> None:
    rate = DeviceSpeed(source="test", weights_bytes_per_s=exact(1e15), flop_per_s=exact(1e12))
    stage = Stage(host="a", card="c", speed=rate, start=0, count=1, part="whole")
    weights = gpt_oss(1, 128)
    costs = [prompt_cost(stage, weights, tokens=t, context=0) for t in (1024, 10240)]  # 32 and 320 per expert
    plain, routed = 2 * (2 * 2880 * 4096 + 2 * 2880 * 512), 2 * 4 * 3 * 2880 * 2880
    for cost, tokens, share in zip(costs, (1024, 10240), (32 / 64, 320 / 352), strict=True):
        assert cost is not None
        assert likely(cost.work_s) == pytest.approx(tokens * (plain + routed / share) / 1e12)


def test_cpu_of_the_catalogue_reads_but_its_prompts_are_unknown_until_measured() -> None:
    (stage,) = placed(("alpha", "CPU 2x DDR5-5600", 81))
    assert decode_cost(stage, llama_70b(40e9), Workload(), sequences=1, depth=0) is not None
    assert prompt_cost(stage, llama_70b(40e9), tokens=512, context=0) is None


def test_attention_adds_what_each_query_head_looks_at() -> None:
    """80 layers x 64 heads x 2 x (128 + 128) operations for each token of context: 2.6 million."""
    rate = DeviceSpeed(
        source="test", weights_bytes_per_s=exact(1e15), flop_per_s=exact(1e15), attention_flop_per_s=exact(1e12)
    )  # fmt: skip
    stage = Stage(host="a", card="c", speed=rate, start=0, count=81)
    near, far = (prompt_cost(stage, llama_70b(40e9), tokens=512, context=c) for c in (0, 1000))
    assert near is not None
    assert far is not None
    assert likely(far.work_s) - likely(near.work_s) == pytest.approx(512 * 1000 * 80 * 64 * 2 * 256 / 1e12)


def test_layers_without_a_cache_attend_to_nothing() -> None:
    rate = DeviceSpeed(
        source="test", weights_bytes_per_s=exact(1e15), flop_per_s=exact(1e15), attention_flop_per_s=exact(1e12)
    )  # fmt: skip
    weights = qwen_35b_a3b()
    assert weights.attention is not None
    weights = replace(weights, attention=replace(weights.attention, heads=(16,) * 40))
    stage = Stage(host="a", card="c", speed=rate, start=0, count=41)
    near, far = (prompt_cost(stage, weights, tokens=512, context=c) for c in (0, 1000))
    assert near is not None
    assert far is not None
    assert likely(far.work_s) - likely(near.work_s) == pytest.approx(512 * 1000 * 10 * 16 * 2 * 512 / 1e12)


def test_short_prompt_waits_for_the_weights_and_a_long_one_for_the_products() -> None:
    rate = DeviceSpeed(source="test", weights_bytes_per_s=exact(1e12), flop_per_s=exact(1e14))
    stage = Stage(host="a", card="c", speed=rate, start=0, count=81)
    costs = [prompt_cost(stage, llama_70b(40e9), tokens=t, context=0) for t in (8, 512)]
    for cost, seconds in zip(costs, (40e9 / 1e12, 512 * 140e9 / 1e14), strict=True):
        assert cost is not None
        assert likely(cost.work_s) == pytest.approx(seconds, rel=0.001)


def test_fixed_costs_are_per_graph_per_block_and_per_block_with_experts() -> None:
    slow = DeviceSpeed(
        source="test", weights_bytes_per_s=exact(1e15), layer_us=exact(10), expert_layer_us=exact(100),
        graph_us=exact(1000),
    )  # fmt: skip
    whole = Stage(host="a", card="c", speed=slow, start=0, count=37)
    found = {}
    for stage in (whole, replace(whole, part="rest"), replace(whole, part="experts")):
        cost = decode_cost(stage, gpt_oss(36, 128), Workload(), sequences=1, depth=0)
        assert cost is not None
        found[stage.part] = round(likely(cost.fixed_s) * 1e6)
    # Apart from each other the two parts change places at each of 36 blocks.
    assert found == {"whole": 1000 + 360 + 3600, "rest": 36 * 1000 + 360, "experts": 36 * 1000 + 3600}
