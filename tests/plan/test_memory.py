"""Caches by hand from the engine's formulas; compute buffers against what the engine allocated."""

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError, ModelError
from evener.plan import memory
from evener.records.plan import Workload
from evener.records.weights import Attention
from tests.rigs import MIB, weights


def attention(blocks, heads, key, *, window=None, mla=False):
    return Attention(
        kv_heads=(heads,) * blocks, key_length=key, value_length=key, window=window or (None,) * blocks,
        key_length_swa=key, value_length_swa=key, mla=mla,
    )  # fmt: skip


def test_70b_at_32k_holds_80_times_128_mib_of_kv():
    model = weights(blocks=80, attention=attention(80, 8, 128))
    cache = memory.cache_bytes(model, Workload(context=32768))
    assert cache == (128 * MIB,) * 80 + (0,)


def test_a_split_cache_pads_each_user_and_grows():
    model = weights(blocks=1)  # 256 bytes a cell
    # 1000 tokens in three parts: 334 each, padded to 512, three streams
    assert memory.cache_bytes(model, Workload(context=334, users=3))[0] == 512 * 3 * 256


def test_a_unified_cache_is_one_pool():
    model = weights(blocks=1)
    assert memory.cache_bytes(model, Workload(context=4096, users=3, unified=True))[0] == 4096 * 256


def test_eight_bit_kv_takes_34_bytes_for_32_elements():
    model = weights(blocks=1)
    cache = memory.cache_bytes(model, Workload(context=1024, kv_type_k="q8_0", kv_type_v="q8_0"))
    assert cache[0] == 1024 * 2 * (64 * 34 // 32)


def test_gemma3_window_of_1024_keeps_1536_cells():
    model = weights(blocks=2, attention=attention(2, 16, 128, window=(1024, None)))
    local, everything, _ = memory.cache_bytes(model, Workload(context=32768))
    assert (local, everything) == (1536 * 2 * 2 * 16 * 128, 32768 * 2 * 2 * 16 * 128)


def test_gpt_oss_window_of_128_keeps_768_cells():
    model = weights(blocks=1, attention=attention(1, 8, 64, window=(128,)))
    assert memory.cache_bytes(model, Workload(context=8192))[0] == 768 * 2 * 2 * 8 * 64


def test_mla_keeps_one_compressed_row_and_no_values():
    # DeepSeek-V3 at 32 k: 61 layers of 576 elements in f16 are 2196 MiB
    model = weights(blocks=61, attention=attention(61, 1, 576, mla=True))
    assert sum(memory.cache_bytes(model, Workload(context=32768))) == 2196 * MIB


def test_recurrent_state_counts_once_per_user_whatever_the_context():
    shape = replace(attention(2, 1, 64), kv_heads=(0, 1))
    model = weights(blocks=2, attention=shape, recurrent_bytes_per_sequence=(1000, 0))
    assert memory.cache_bytes(model, Workload(context=4096, users=4))[0] == 4000
    assert memory.cache_bytes(model, Workload(context=8192, users=4))[0] == 4000


def test_a_cache_without_a_closed_form_is_never_guessed():
    model = weights(attention=None, cache_unknown="deepseek4 compresses its cache")
    with pytest.raises(ModelError, match="deepseek4 compresses its cache"):
        memory.cache_bytes(model, Workload())


def test_unknown_kv_type_names_the_known_ones():
    with pytest.raises(ConfigurationError, match="--kv q9_9") as caught:
        memory.cache_bytes(weights(), Workload(kv_type_k="q9_9"))
    assert "q8_0" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("devices", "position", "engine_mib"),
    [(1, 0, 18.64), (2, 0, 43.05), (2, 1, 32.91)],  # llama-server, SmolLM2, two users of 4096 tokens
)
def test_compute_fit_is_within_a_tenth_of_what_the_engine_allocated(devices, position, engine_mib):
    smol = weights(embedding=576, feed_forward=1536, vocabulary=49152)
    estimate = memory.compute_bytes(smol, Workload(context=4096, users=2), devices=devices, position=position)
    assert estimate / MIB == pytest.approx(engine_mib, rel=0.1)


def test_mtp_blocks_keep_their_slots_and_are_not_loaded():
    model = weights(blocks=4, block_bytes=100, head_bytes=50, mtp_layers=1)
    assert memory.held_bytes(model) == (100, 100, 100, 0, 50)
