"""Caches by hand from the engine's formulas; compute buffers against what the engine allocated."""

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError, ModelError
from evener.models import skeletons
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


def test_a_pool_keeps_the_window_of_every_user():
    model = weights(blocks=1, attention=attention(1, 8, 64, window=(128,)))
    # 4 windows of 128 and a micro-batch of 512 are 1024 cells; apart, each user has 128 + 512 = 640, padded to 768
    pool = memory.cache_bytes(model, Workload(context=8192, users=4, unified=True))
    apart = memory.cache_bytes(model, Workload(context=8192, users=4))
    assert (pool[0], apart[0]) == (1024 * 2 * 2 * 8 * 64, 4 * 768 * 2 * 2 * 8 * 64)


def test_a_measured_cache_stands_where_no_closed_form_is_known():
    model = weights(blocks=2, attention=None, slot_cache_bytes=(7, 8, 0))
    assert memory.cache_bytes(model, Workload()) == (7, 8, 0)


# llama-server's compute buffers in MiB, build 11434, header-only models of a few blocks against stand-in workers.
SERVED = [
    ("llama-3.1-8b:q2_k", 1, (120.0,)),
    ("llama-3.1-8b:q2_k", 4, (228.0, 156.0)),
    ("qwen3.6-27b:q2_k", 4, (268.1, 178.1)),
    ("qwen3.6-35b-a3b:q2_k", 4, (136.1, 100.1)),
    ("gpt-oss-20b:mxfp4", 4, (179.0, 128.3)),
    ("glm-4.5-air:q2_k", 4, (282.1, 210.0)),
    ("gemma-3-27b:q2_k", 4, (313.6, 219.1)),
]


@pytest.mark.parametrize(("name", "users", "engine_mib"), SERVED)
def test_compute_fit_holds_for_experts_windows_and_recurrent_layers(name, users, engine_mib):
    model, workload = skeletons.find(name).weights(), Workload(context=4096, users=users)
    for position, mib in enumerate(engine_mib):
        estimate = memory.compute_bytes(model, workload, devices=len(engine_mib), position=position)
        assert estimate / MIB == pytest.approx(mib, rel=0.06)


def mamba2(width, inner, mixed, projected, state_bytes):
    return weights(
        blocks=16, embedding=width, feed_forward=0, vocabulary=32768, state_space_in=projected, state_space_out=inner,
        recurrent_width=2 * mixed + inner + projected, recurrent_bytes_per_sequence=(state_bytes,) * 16,
        attention=attention(16, 0, 0),
    )  # fmt: skip


CODESTRAL = mamba2(4096, 8192, 10240, 18560, 4317184)
# llama-server on header-only models of 16 blocks against stand-in workers, 4096 tokens for each user
STATE_SPACES = [
    (CODESTRAL, 1, (276.0, 285.0)),
    (CODESTRAL, 4, (301.0, 374.0, 374.0, 310.0)),
    (mamba2(2048, 4096, 4352, 8512, 2149376), 1, (140.0, 170.0, 170.0, 138.0)),
    (mamba2(2560, 5120, 5248, 10448, 1373696), 4, (176.0, 173.0)),
    (mamba2(1024, 4096, 6144, 10304, 2170880), 1, (114.0, 177.0, 177.0, 145.0)),
]


@pytest.mark.parametrize(("model", "users", "engine_mib"), STATE_SPACES)
def test_pure_state_spaces_are_cut_inside_of_a_block(model, users, engine_mib):
    workload, devices = Workload(context=4096, users=users), len(engine_mib)
    for position, mib in enumerate(engine_mib):
        estimate = memory.compute_bytes(model, workload, devices=devices, position=position)
        assert estimate / MIB == pytest.approx(mib, rel=0.065)


def test_without_copies_later_devices_hold_one_input_and_not_four():
    model, workload = skeletons.find("llama-3.1-8b:q2_k").weights(), Workload(context=4096)
    found = [memory.compute_bytes(model, workload, devices=2, position=p, copies=False) / MIB for p in (0, 1)]
    assert found == [pytest.approx(120.0, abs=1), pytest.approx(112.0, abs=1)]


def test_the_dry_run_counts_512_rows_of_logits_on_the_last_device():
    model, workload = skeletons.find("llama-3.3-70b:q8_0").weights(), Workload(context=32768)
    found = [memory.dry_run_compute_bytes(model, workload, devices=2, position=p) / MIB for p in (0, 1)]
    assert found == [pytest.approx(552, abs=1), pytest.approx(522, abs=1)]


def test_masks_that_no_layer_of_a_device_asks_for_are_not_there():
    model, workload = skeletons.find("gemma-3-27b:q2_k").weights(), Workload(context=32768)
    windows_alone = memory.compute_bytes(model, workload, devices=2, position=0, layers=range(3))
    with_a_full_layer = memory.compute_bytes(model, workload, devices=2, position=0, layers=range(6))
    assert with_a_full_layer - windows_alone == 4 * 2 * 512 * 32768


def test_drafting_holds_what_llama_server_allocated():
    """Qwen3.6-35B-A3B-MTP Q2_K cut to blocks 0-3 and its MTP block, 4 users of 8192, 3 drafts, slots 3,3."""
    model = replace(
        skeletons.find("qwen3.6-35b-a3b-mtp:q2_k").weights(), layers=5,
        recurrent_bytes_per_sequence=(2195456,) * 3 + (0, 0),
        attention=replace(attention(5, 2, 256), kv_heads=(0, 0, 0, 2, 0), mtp_kv_heads=2),
    )  # fmt: skip
    workload = Workload(context=8192, users=4, drafts=3)
    caches = memory.cache_bytes(model, workload)
    assert (sum(caches[:3]) / MIB, sum(caches[3:]) / MIB) == (pytest.approx(100.5, abs=0.01), 128)
    found = [
        memory.compute_bytes(model, workload, devices=2, position=p, layers=layers) / MIB
        for p, layers in enumerate((range(3), range(3, 6)))
    ]
    assert found == [pytest.approx(152.4, rel=0.03), pytest.approx(113.1 + 129.1, rel=0.03)]


def test_checkpoints_take_ram_for_what_cannot_be_rolled_back():
    shape = replace(attention(2, 1, 64), kv_heads=(0, 1))
    model = weights(blocks=2, attention=shape, recurrent_bytes_per_sequence=(1000, 0))
    assert memory.checkpoint_bytes(model, Workload(context=32768, users=3)) == 4 * 1000 * 3
    assert memory.checkpoint_bytes(weights(), Workload(context=32768, users=3)) == 0


def test_a_card_holds_padded_weights_and_a_cpu_the_files_own():
    model = weights(blocks=1, slot_bytes=(100, 50), slot_bytes_gpu=(128, 128))
    assert memory.held_bytes(model, kind="cuda") == (128, 128)
    assert memory.held_bytes(model, kind="cpu") == (100, 50)


def test_mtp_blocks_are_loaded_to_draft_with_them():
    model = weights(blocks=4, block_bytes=100, head_bytes=50, mtp_layers=1)
    assert memory.held_bytes(model, drafts=3) == (100, 100, 100, 100, 50)


def test_mtp_blocks_keep_their_slots_and_are_not_loaded():
    model = weights(blocks=4, block_bytes=100, head_bytes=50, mtp_layers=1)
    assert memory.held_bytes(model) == (100, 100, 100, 0, 50)


def test_a_processor_alone_counts_a_tied_embedding_once_and_copies_nothing():
    model = weights(host_bytes=50 * MIB, tied_bytes=40 * MIB, largest_tensor_bytes=50 * MIB, vocabulary=1000)
    one_row, activation = 4 * 1000, 4 * 512 * 64
    assert memory.host_bytes(model, Workload(), devices=1, alone=True) == 10 * MIB + one_row + activation
    beside_cards = memory.host_bytes(model, Workload(), devices=1)
    assert beside_cards == 100 * MIB + one_row + 4 * activation + 2 * 512 * 4096


def test_the_stride_of_a_stream_is_a_layers_keys_of_one_user_or_of_the_pool():
    model = weights(blocks=2, attention=attention(2, 64, 128, window=(1024, None)))
    # 262144 cells of 64 heads of 128 elements in f16 are 4 GiB
    assert memory.longest_stride_bytes(model, Workload(context=262144, users=2)) == 4 << 30
    assert memory.longest_stride_bytes(weights(attention=None), Workload()) == 0
