"""What a planner learns from headers: bytes per slot, what stays on the host, parameters, names."""

from __future__ import annotations

import pytest

from evener.dialects.gguf import ArrayOf, Header, Value
from evener.errors import BadHeader
from evener.models.facts import quantisation, weights_of
from evener.records.weights import Weights
from evener.testing.gguf_files import Shape

from .shapes import attention_block, gemma3_27b, header, keyed, llama_70b, qwen35moe

MIB = 1 << 20


def weights(*headers: Header) -> Weights:
    return weights_of([f"/m/{i}.gguf" for i, _ in enumerate(headers)], headers)


def small(**extra: Value) -> dict[str, Value]:
    return keyed("llama", block_count=2, attention__head_count=4, embedding_length=256, **extra)


def test_llama_70b_in_q8_0_fills_the_devices_as_the_engine_reported() -> None:
    """Measured with -ts 41,40: 35549 and 34880 MiB of model buffers, 1064 on the host."""
    w = weights(llama_70b())
    assert sum(w.slot_bytes[:41]) // MIB == 35549
    assert sum(w.slot_bytes[41:]) // MIB == 34880
    assert w.host_bytes == 128256 * 8192 * 34 // 32
    assert w.host_bytes // MIB == 1064
    assert (w.layers, len(w.slot_bytes), w.tied_head) == (80, 81, False)
    assert (w.quantisation, w.context_train, w.vocabulary, w.feed_forward) == ("Q8_0", 131072, 128256, 28672)
    # 80 blocks of 2 x 8192 x (8192 + 1024) + 3 x 8192 x 28672 + 2 norms, two matrices of the vocabulary, one norm
    assert w.parameters == 80 * (150994944 + 704643072 + 16384) + 2 * 1050673152 + 8192


def test_tied_head_is_a_second_copy_on_the_heads_device() -> None:
    w = weights(gemma3_27b())
    embedding = 5376 * 262208 * 34 // 32
    assert w.tied_head
    assert w.host_bytes == embedding
    assert w.slot_bytes[62] == embedding + 5376 * 4
    assert w.parameters == 5376 * 262208 + 5376 + 62 * (2 * 5376 * (4096 + 2048) + 3 * 5376 * 21504 + 2 * 5376)


def test_encoder_has_no_head_to_tie() -> None:
    metadata = keyed("bert", block_count=1, attention__head_count=4, embedding_length=64)
    w = weights(header(metadata, [("token_embd.weight", "F32", (64, 8)), ("token_types.weight", "F32", (64, 2))]))
    assert (w.tied_head, w.slot_bytes, w.host_bytes) == (False, (0, 0), 4 * 64 * 10)


def test_mtp_block_is_a_slot_and_no_active_parameter() -> None:
    w = weights(qwen35moe())
    assert (w.layers, w.mtp_layers, len(w.slot_bytes)) == (41, 1, 42)
    assert w.slot_bytes[40] > 800 * MIB
    shared_of_a_full_block = 2048 * (2 * 32 * 256 + 2 * 2 * 256) + 2048 + 2048 * 256
    shared_of_a_delta_block = 2048 * 8192 + 4096 * 2048 + 2048 * 256
    chosen = 8 * 3 * 2048 * 512  # 8 of 256 experts
    assert w.active_parameters == (
        10 * shared_of_a_full_block + 30 * shared_of_a_delta_block + 40 * chosen + 2048 * 248320 + 2048
    )
    assert (w.experts, w.experts_used) == (256, 8)


def test_input_tensors_stay_on_the_host_and_odd_ones_go_where_the_engine_puts_them() -> None:
    tensors: list[Shape] = [
        ("token_embd.weight", "F32", (1, 100)),
        ("per_layer_token_embd.weight", "F32", (1, 1000)),
        ("position_embd.weight", "F32", (1, 10)),
        ("token_embd_norm.weight", "F32", (1, 1)),
        ("per_layer_model_proj.weight", "F32", (1, 2)),
        ("rope_freqs.weight", "F32", (1, 4)),
        ("blk.1.attn_norm.weight", "F32", (1, 8)),
        ("blk.7.attn_norm.weight", "F32", (1, 500)),  # beyond the last block: nobody loads it
        ("output.weight", "F32", (1, 16)),
        ("altup_proj.weight", "F32", (1, 32)),
    ]
    w = weights(header(small(), tensors))
    assert w.host_bytes == 4 * 1110
    assert w.slot_bytes == (4 * 7, 4 * 8, 4 * 48)


def test_parts_are_joined_and_numbered() -> None:
    first = header(
        small() | {"split.no": 0, "split.count": 2}, attention_block(0, width=256, heads=4, kv_heads=4, head=64)
    )
    second = header({"split.no": 1, "split.count": 2}, attention_block(1, width=256, heads=4, kv_heads=4, head=64))
    w = weights(first, second)
    assert w.slot_bytes[0] == w.slot_bytes[1] > 0
    assert w.file_bytes == first.file_bytes + second.file_bytes
    assert w.paths == ("/m/0.gguf", "/m/1.gguf")


def test_part_of_another_model_is_refused() -> None:
    first = header(small() | {"split.no": 0, "split.count": 2}, [])
    stray = header({"split.no": 1, "split.count": 3}, [])
    with pytest.raises(BadHeader, match=r"/m/1.gguf: says it is part 1 of 3 \(from 0\), not 1 of 2"):
        weights(first, stray)


def test_parts_that_hold_fewer_tensors_than_promised_are_refused() -> None:
    with pytest.raises(BadHeader, match="the parts hold 1 tensors of 9"):
        weights(header(small() | {"split.tensors.count": 9}, [("output.weight", "F32", (1, 1))]))


def test_tensor_in_two_parts_is_refused() -> None:
    part: list[Shape] = [("output.weight", "F32", (1, 1))]
    with pytest.raises(BadHeader, match=r"'output\.weight' occurs in 2 parts"):
        weights(header(small() | {"split.count": 2}, part), header({"split.no": 1, "split.count": 2}, part))


@pytest.mark.parametrize(
    ("file_type", "name"), [(15, "Q4_K_M"), (15 + 1024, "Q4_K_M"), (0, "F32"), (38, "MXFP4_MOE"), (30, "IQ4_XS")]
)
def test_file_type_names_the_quantisation(file_type: int, name: str) -> None:
    assert quantisation({"general.file_type": file_type}, ()) == name


def test_quantisation_nobody_stated_is_the_type_that_holds_most_bytes() -> None:
    tensors = header({}, [("a", "F32", (64,)), ("b", "Q6_K", (256, 100)), ("c", "F32", (64,))]).tensors
    assert quantisation({}, tensors) == "Q6_K"
    assert quantisation({"general.file_type": 999}, tensors) == "Q6_K"
    assert quantisation({}, ()) == "unknown"


def test_vocabulary_is_stated_or_listed_or_measured() -> None:
    embedding: list[Shape] = [("token_embd.weight", "F32", (8, 77))]
    assert weights(header(small(), embedding)).vocabulary == 77
    listed: dict[str, Value] = {"tokenizer.ggml.tokens": ArrayOf(type="string", count=99)}
    assert weights(header(small() | listed, embedding)).vocabulary == 99
    assert weights(header(small(vocab_size=55) | listed, embedding)).vocabulary == 55


def test_projector_is_said_to_be_no_language_model() -> None:
    with pytest.raises(BadHeader, match=r"not a language model \(clip\): it names no blocks"):
        weights(header({"general.architecture": "clip"}, []))


def test_name_is_the_files_and_not_the_training_runs() -> None:
    assert weights(header(small() | {"general.name": "Llama 8k Ep2"}, [])).name == "0"


@pytest.mark.parametrize("claim", [0, 513, 1 << 31])
def test_absurd_block_count_is_refused_before_it_sizes_anything(claim: int) -> None:
    with pytest.raises(BadHeader, match=f"llama.block_count is {claim}; engines take 1 to 512"):
        weights(header(keyed("llama", block_count=claim), []))


def test_array_of_another_length_than_the_blocks_is_refused() -> None:
    with pytest.raises(BadHeader, match="head_count_kv has 3 entries for 2 blocks"):
        weights(header(small(attention__head_count_kv=(1, 1, 1)), []))


def test_text_where_a_count_belongs_is_refused() -> None:
    with pytest.raises(BadHeader, match="context_length is 'long', which is no count"):
        weights(header(small(context_length="long"), []))


def test_more_mtp_blocks_than_blocks_are_refused() -> None:
    with pytest.raises(BadHeader, match="nextn_predict_layers is 3 of 2 blocks"):
        weights(header(small(nextn_predict_layers=3), []))


def test_layers_that_run_twice_are_counted_as_the_engine_counts_them() -> None:
    looped = keyed("nanbeige", block_count=4, num_loops=2)
    assert weights(header(looped, [])).layers == 8
    assert weights(header(keyed("graniteswitch", block_count=4), [])).layers == 5
