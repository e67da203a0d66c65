"""What a model remembers per token and per sequence, against figures the engine reported."""

from __future__ import annotations

import pytest

from evener.dialects.gguf import Header, Value
from evener.errors import BadHeader
from evener.models.caches import Caches, caches
from evener.models.facts import weights_of
from evener.models.keys import Keys
from evener.records.weights import Attention

from .shapes import deepseek_v3, gemma3_27b, keyed, llama_70b, qwen35moe

MIB = 1 << 20


def attention_of(header: Header) -> Attention:
    attention = weights_of(["m.gguf"], [header]).attention
    assert attention is not None
    return attention


def caches_of(architecture: str, layers: int, *, mtp_layers: int = 0, **values: Value) -> Caches:
    keys = Keys(name="m.gguf", architecture=architecture, metadata=keyed(architecture, **values))
    return caches(keys, layers=layers, mtp_layers=mtp_layers)


def shape(known: Caches) -> Attention:
    assert known.attention is not None
    return known.attention


def sliding(known: Caches) -> list[int]:
    """Which layers have a window."""
    return [i for i, window in enumerate(shape(known).window) if window]


def test_70b_at_32k_in_f16_takes_128_mib_a_layer() -> None:
    """Measured: 80 x 128 MiB."""
    a = attention_of(llama_70b())
    assert (len(a.kv_heads), set(a.kv_heads)) == (80, {8})
    assert 8 * (a.key_length + a.value_length) * 2 * 32768 == 128 * MIB
    assert not any(a.window)


def test_gemma3_keeps_every_sixth_layer_in_full() -> None:
    a = attention_of(gemma3_27b())
    assert [i for i, window in enumerate(a.window) if window is None] == list(range(5, 62, 6))
    assert {window for window in a.window if window} == {1024}


def test_qwen35moe_keeps_62_8_mib_per_sequence_and_kv_on_one_layer_in_four() -> None:
    w = weights_of(["m.gguf"], [qwen35moe()])
    # (4-1) x (4096 + 2 x 16 x 128) + 128 x 4096 F32 numbers on 30 of 40 layers
    assert sum(w.recurrent_bytes_per_sequence) == 30 * 4 * (3 * 8192 + 128 * 4096)
    assert round(sum(w.recurrent_bytes_per_sequence) / MIB, 1) == 62.8
    a = attention_of(qwen35moe())
    assert [i for i, heads in enumerate(a.kv_heads) if heads] == [3, 7, 11, 15, 19, 23, 27, 31, 35, 39]


def test_mtp_block_keeps_nothing_in_the_main_context() -> None:
    assert attention_of(qwen35moe()).kv_heads[40] == 0
    assert shape(caches_of("glm4moe", 3, mtp_layers=1, attention__head_count=8)).kv_heads == (8, 8, 0)


def test_deepseek_v3_at_32k_takes_2196_mib() -> None:
    """Measured: 61 x 576 x 2 x 32768, one compressed key and no value."""
    a = attention_of(deepseek_v3())
    assert (a.mla, set(a.kv_heads)) == (True, {1})
    assert sum(a.kv_heads) * a.key_length * 2 * 32768 == 2196 * MIB


def test_file_without_the_mla_keys_expands_to_full_attention() -> None:
    known = shape(caches_of("deepseek2", 2, attention__head_count=128, attention__key_length=192))
    assert (known.mla, known.kv_heads) == (False, (128, 128))


def test_head_counts_may_differ_by_layer() -> None:
    known = shape(caches_of("deci", 3, attention__head_count=(8, 8, 0), attention__head_count_kv=(2, 4, 0)))
    assert known.kv_heads == (2, 4, 0)


def test_key_length_defaults_to_the_width_of_a_head() -> None:
    known = shape(caches_of("llama", 1, embedding_length=576, attention__head_count=9, attention__head_count_kv=3))
    assert (known.key_length, known.value_length, known.kv_heads) == (64, 64, (3,))


@pytest.mark.parametrize(
    ("architecture", "values", "windows"),
    [
        ("gpt-oss", {"attention__sliding_window": 128}, [0, 2, 4, 6]),
        ("gemma2", {}, [0, 2, 4, 6]),
        ("gemma3n", {"attention__sliding_window": 512}, [0, 1, 2, 3, 5, 6, 7]),
        ("cohere2", {"attention__sliding_window": 4096}, [0, 1, 2, 4, 5, 6]),
        ("cohere2moe", {"attention__sliding_window": 4096}, [1, 2, 3, 5, 6, 7]),
        ("llama4", {}, [0, 1, 2, 4, 5, 6]),
        ("llama4", {"attention__sliding_window": 0}, []),
        ("gemma3", {}, []),
        ("phi3", {"attention__sliding_window": 2047}, []),
        ("llama", {"attention__sliding_window": 4096}, []),
        ("exaone4", {"attention__sliding_window": 4096}, []),
        ("gemma3", {"attention__sliding_window": 9, "attention__sliding_window_pattern": 2}, [0, 2, 4, 6]),
        ("gemma3", {"attention__sliding_window": 9, "attention__sliding_window_pattern": 1}, []),
        ("mimo2", {"attention__sliding_window": 9, "attention__sliding_window_pattern": (True, False) * 2}, [0, 2]),
        ("step35", {"attention__sliding_window": 9, "attention__sliding_window_pattern": (True,)}, [0]),
    ],
)  # fmt: skip
def test_layers_with_a_window_are_those_of_the_engine(
    architecture: str, values: dict[str, Value], windows: list[int]
) -> None:
    assert sliding(caches_of(architecture, 8, attention__head_count=4, **values)) == windows


def test_window_sizes_are_stated_defaulted_or_fixed_as_in_the_engine() -> None:
    assert shape(caches_of("gemma2", 1, attention__head_count=4)).window == (4096,)
    assert shape(caches_of("gemma2", 1, attention__head_count=4, attention__sliding_window=99)).window == (99,)
    assert shape(caches_of("smallthinker", 2, attention__head_count=4, attention__sliding_window=99)).window[1] == 4096
    assert shape(caches_of("exaone4", 64, attention__head_count=4)).window[:4] == (4096, 4096, 4096, None)


def test_layers_with_a_window_may_have_heads_of_another_length() -> None:
    known = shape(caches_of(
        "gemma4", 2, attention__head_count=4, attention__key_length=512, attention__value_length=512,
        attention__key_length_swa=256, attention__value_length_swa=128, attention__sliding_window=512,
        attention__sliding_window_pattern=(True, False),
    ))  # fmt: skip
    assert (known.key_length, known.key_length_swa, known.value_length_swa) == (512, 256, 128)


def test_missing_pattern_is_an_error_where_the_engine_wants_one() -> None:
    with pytest.raises(BadHeader, match=r"mimo2\.attention.sliding_window_pattern is missing"):
        caches_of("mimo2", 4, attention__head_count=4, attention__sliding_window=128)


def test_layers_that_look_into_anothers_cache_have_none() -> None:
    known = caches_of("gemma3n", 30, attention__head_count=4, attention__head_count_kv=2, attention__sliding_window=512)
    assert shape(known).kv_heads == (2,) * 20 + (0,) * 10
    shared = caches_of("gemma4", 5, attention__head_count=4, attention__shared_kv_layers=2)
    assert shape(shared).kv_heads == (4, 4, 4, 0, 0)


def test_encoders_keep_nothing() -> None:
    assert shape(caches_of("bert", 2, attention__head_count=12)).kv_heads == (0, 0)


def test_mamba_keeps_state_on_every_layer_and_no_kv() -> None:
    known = caches_of("mamba", 2, ssm__conv_kernel=4, ssm__inner_size=1536, ssm__state_size=16)
    assert known.recurrent_bytes == (4 * (3 * 1536 + 16 * 1536),) * 2
    assert shape(known).kv_heads == (0, 0)


def test_rwkv_keeps_shifts_and_one_square_per_head() -> None:
    known = caches_of("rwkv7", 1, embedding_length=768, wkv__head_size=64)
    assert known.recurrent_bytes == (4 * (2 * 768 + 768 * 64),)


def test_lfm2_keeps_a_short_convolution_where_it_has_no_heads() -> None:
    known = caches_of(
        "lfm2", 3, embedding_length=1024, attention__head_count=16, attention__head_count_kv=(0, 0, 8),
        shortconv__l_cache=3,
    )  # fmt: skip
    assert known.recurrent_bytes == (4 * 1024 * 2, 4 * 1024 * 2, 0)
    assert shape(known).kv_heads == (0, 0, 8)


def test_kimi_linear_keeps_a_delta_state_beside_compressed_keys() -> None:
    known = caches_of(
        "kimi-linear", 2, attention__head_count=32, attention__head_count_kv=(0, 1), attention__key_length=576,
        attention__key_length_mla=192, attention__value_length_mla=128, kda__head_dim=128, ssm__conv_kernel=4,
    )  # fmt: skip
    assert known.recurrent_bytes == (4 * (3 * 3 * 4096 + 524288), 0)
    assert (shape(known).mla, shape(known).kv_heads) == (True, (0, 1))


def test_falcon_h1_keeps_both_on_every_layer() -> None:
    known = caches_of("falcon-h1", 1, attention__head_count=8, ssm__conv_kernel=4, ssm__inner_size=8, ssm__state_size=2)
    assert shape(known).kv_heads == (8,)
    assert known.recurrent_bytes == (4 * (3 * 8 + 16),)


def test_nemotron_h_layers_are_state_or_attention_or_feed_forward() -> None:
    known = caches_of(
        "nemotron_h", 3, attention__head_count=8, attention__head_count_kv=(0, 2, 0), feed_forward_length=(0, 0, 512),
        ssm__conv_kernel=4, ssm__inner_size=8, ssm__state_size=2,
    )  # fmt: skip
    assert shape(known).kv_heads == (0, 2, 0)
    assert [size > 0 for size in known.recurrent_bytes] == [True, False, False]


def test_minimax_01_keeps_a_square_per_head_on_seven_layers_in_eight() -> None:
    known = caches_of("minimax-01", 8, attention__head_count=64, attention__key_length=128)
    assert known.recurrent_bytes == (4 * 1048576,) * 7 + (0,)


def test_listed_recurrent_layers_overrule_the_interval() -> None:
    known = caches_of("qwen35", 3, attention__head_count=8, attention__recurrent_layers=(False, True, False))
    assert shape(known).kv_heads == (8, 0, 8)


def test_interval_of_zero_is_refused() -> None:
    with pytest.raises(BadHeader, match="full_attention_interval is 0"):
        caches_of("qwen35", 3, attention__head_count=8, full_attention_interval=0)


@pytest.mark.parametrize("architecture", ["deepseek32", "glm-dsa", "minimax-m3", "deepseek4", "kimi-k3", "qwen4exp"])
def test_caches_without_a_closed_form_are_said_to_be_unknown(architecture: str) -> None:
    known = caches_of(architecture, 4, attention__head_count=8)
    assert known.attention is None
    assert known.unknown is not None
    assert known.unknown.startswith(f"{architecture} keeps ")


def test_indexer_makes_any_cache_unknown() -> None:
    assert caches_of("hy_v4", 2, attention__head_count=8, attention__indexer__top_k=2048).attention is None
    assert caches_of("hy_v4", 2, attention__head_count=8, attention__indexer__top_k=0).attention is not None
