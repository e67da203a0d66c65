"""What crosses the network, byte for byte, against what a tap between head and workers counted (engine-facts F)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.plan.speed_stage import Stage
from evener.plan.speed_traffic import Traffic, decode_traffic, graph_bytes, prompt_traffic
from evener.records.plan import Workload
from evener.records.weights import Attention, Weights

from .speed_models import gpt_oss, smollm2

PLAIN = Workload()


def chain(weights: Weights, *parts: tuple[str | None, int]) -> list[Stage]:
    """(endpoint, slots) in order."""
    stages, start = [], 0
    for endpoint, count in parts:
        stages.append(Stage(host="h", card="c", speed=None, start=start, count=count, endpoint=endpoint))
        start += count
    return stages


def decoded(
    weights: Weights, *parts: tuple[str | None, int], workload: Workload = PLAIN, depth: int = 33
) -> list[Traffic]:
    return list(decode_traffic(chain(weights, *parts), weights, workload, tokens=1, depth=depth))


def test_two_workers_of_smollm2_exchange_what_the_tap_counted() -> None:
    """33 tokens with -ts 10,21: 339 834 up and 76 296 down on the first, 166 914 and 6 488 328 on the last."""
    first, last = decoded(smollm2(), ("a", 10), ("b", 21))
    assert (33 * first.up_bytes, 33 * first.down_bytes) == (339_834, 76_296)
    assert (33 * last.up_bytes, 33 * last.down_bytes) == (166_914, 6_488_328)
    assert (first.round_trips, last.round_trips, first.hops, last.hops) == (1, 1, 1, 1)


def test_only_worker_is_first_and_last_at_once() -> None:
    """32 tokens more through the tap, one device with everything: 10 616 up and 196 616 down for each."""
    (only,) = decoded(smollm2(), ("a", 31))
    assert (only.up_bytes, only.down_bytes) == (10_616, 196_616)


def test_logits_stay_with_the_head_when_its_own_device_is_last() -> None:
    worker, own = decoded(smollm2(), ("a", 10), (None, 21))
    assert worker.down_bytes == 8 + 4 * 576
    assert own == Traffic()


def test_worker_after_the_heads_device_gets_one_activation_and_not_three() -> None:
    _, worker = decoded(smollm2(), (None, 10), ("a", 21))
    # activation, two indices, position, mask of 256 cells, which rows, compute, fetch
    assert worker.up_bytes == (314 + 4 * 576) + 2 * (314 + 8) + (314 + 4) + (314 + 512) + (314 + 4) + 13 + 321


def test_devices_behind_one_endpoint_copy_between_themselves() -> None:
    first, second, _ = decoded(smollm2(), ("a", 10), ("a", 10), (None, 11))
    assert (first.down_bytes, first.round_trips, first.hops) == (0, 0, 0)
    assert second.up_bytes == 601 + 2 * (314 + 8) + (314 + 4) + (314 + 512) + 13 + 321
    assert (second.down_bytes, second.round_trips, second.hops) == (9 + 8 + 4 * 576, 2, 1)


def test_mask_grows_with_the_conversation_in_steps_of_256_cells() -> None:
    at = [decoded(smollm2(), ("a", 10), (None, 21), depth=depth)[0].up_bytes for depth in (256, 257, 32768)]
    assert at[1] - at[0] == 2 * 256
    assert at[2] - at[0] == 2 * (32768 - 256)


def test_quantised_cache_sends_its_rotations_to_every_device_at_every_step() -> None:
    """Heads of 64: two matrices of 64 x 64. Heads of 128: 128 x 128 for keys, 64 x 64 for values."""
    quantised = replace(PLAIN, kv_type_k="q8_0", kv_type_v="q8_0")
    small, large = smollm2(), smollm2()
    assert large.attention is not None
    large = replace(large, attention=replace(large.attention, key_length=128, value_length=128))
    for weights, more in ((small, 2 * (314 + 4 * 64 * 64)), (large, 314 + 65536 + 314 + 16384)):
        plain, rotated = (decoded(weights, ("a", 10), ("b", 21), workload=w) for w in (PLAIN, quantised))
        assert [r.up_bytes - p.up_bytes for p, r in zip(plain, rotated, strict=True)] == [more, more]


def test_compressed_keys_have_no_values_to_rotate() -> None:
    shape = smollm2().attention
    assert shape is not None
    compressed = replace(smollm2(), attention=replace(shape, mla=True))
    quantised = replace(PLAIN, kv_type_k="q8_0", kv_type_v="q8_0")
    plain, rotated = (decoded(compressed, ("a", 10), (None, 21), workload=w)[0].up_bytes for w in (PLAIN, quantised))
    assert rotated - plain == 314 + 4 * 64 * 64


def test_m_rope_sends_four_positions_per_token() -> None:
    one, four = (decoded(replace(smollm2(), position_numbers=n), ("a", 10), ("b", 21)) for n in (1, 4))
    assert [b.up_bytes - a.up_bytes for a, b in zip(one, four, strict=True)] == [12, 12]


def test_sliding_windows_bring_a_second_mask() -> None:
    shape: Attention | None = smollm2().attention
    assert shape is not None
    sliding = replace(smollm2(), attention=replace(shape, window=(1024, None) * 15))
    plain, windowed = (decoded(w, ("a", 10), (None, 21), depth=8192)[0].up_bytes for w in (smollm2(), sliding))
    assert windowed - plain == 2 * (314 + 8) + 314 + 2 * 1536  # a window of 1024 and a micro-batch of 512


def test_architectures_without_mixed_batches_send_two_inputs() -> None:
    mixed, bare = (
        decoded(replace(smollm2(), architecture=a), ("a", 10), ("b", 21))[0].up_bytes for a in ("llama", "cogvlm")
    )
    assert mixed - bare == (314 + 4 * 576) + (314 + 8)


def test_eight_users_send_eight_activations_and_masks() -> None:
    weights = smollm2()
    stages = chain(weights, ("a", 10), ("b", 21))
    last = decode_traffic(stages, weights, PLAIN, tokens=8, depth=33)[1]
    assert last.down_bytes == 8 + 8 * 4 * 49152
    shared = decode_traffic(stages, weights, replace(PLAIN, unified=True), tokens=8, depth=100)[1]
    split = decode_traffic(stages, weights, PLAIN, tokens=8, depth=100)[1]
    assert shared.up_bytes - split.up_bytes == 8 * 2 * (1024 - 256)  # each sees all 800 cells


def test_prompt_of_512_tokens_sends_what_the_tap_counted() -> None:
    """4.21 MB up and 1.18 MB down on the first worker, 1.97 MB and 0.20 MB on the last."""
    weights = smollm2()
    first, last = prompt_traffic(chain(weights, ("a", 10), ("b", 21)), weights, PLAIN, tokens=512, depth=0)
    assert first.up_bytes == pytest.approx(4.21e6, rel=0.01)
    assert first.down_bytes == pytest.approx(1.18e6, rel=0.01)
    assert last.up_bytes == pytest.approx(1.97e6, rel=0.01)
    assert last.down_bytes == pytest.approx(0.20e6, rel=0.02)


def test_logits_return_with_the_last_batch_of_a_prompt_only() -> None:
    weights = smollm2()
    stages = chain(weights, ("a", 10), ("b", 21))
    inner, last = (prompt_traffic(stages, weights, PLAIN, tokens=512, depth=0, last=end)[1] for end in (False, True))
    assert (inner.down_bytes, last.down_bytes) == (8, 8 + 4 * 49152)


def test_graph_of_ten_layers_is_about_what_the_tap_saw() -> None:
    weights = smollm2()
    ten, rest = chain(weights, ("a", 10), ("b", 21))
    assert graph_bytes(ten, weights) == pytest.approx(129_797, rel=0.02)
    assert graph_bytes(rest, weights) == pytest.approx(257_509, rel=0.02)
    sparse = gpt_oss(36, 128)
    assert graph_bytes(chain(sparse, ("a", 10))[0], sparse) > 1.5 * graph_bytes(ten, weights)
