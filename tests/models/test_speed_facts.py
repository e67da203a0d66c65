"""What speed asks of a header: experts apart from the rest, weights per slot, query heads, positions per token."""

from __future__ import annotations

from evener.dialects.gguf import Value
from evener.models.facts import weights_of

from .shapes import gemma3_27b, header, keyed, llama_70b, qwen35moe


def test_experts_of_a_slot_are_counted_apart_in_bytes_and_in_weights() -> None:
    w = weights_of(["/m.gguf"], [qwen35moe()])
    routed = 3 * 2048 * 512 * 256
    assert w.slot_expert_parameters == (routed,) * 41 + (0,)
    assert w.slot_expert_bytes == (routed * 34 // 32,) * 41 + (0,)
    router, delta = 2048 * 256, 2048 * 8192 + 4096 * 2048
    assert w.slot_parameters[0] == routed + router + delta
    assert w.slot_parameters[41] == 2048 * 248320 + 2048


def test_dense_model_has_no_routed_part_and_multiplies_with_its_tied_head() -> None:
    w = weights_of(["/m.gguf"], [gemma3_27b()])
    assert w.slot_expert_parameters == (0,) * 63
    assert w.slot_parameters[62] == 5376 * 262208 + 5376


def test_query_heads_are_known_where_there_is_a_cache() -> None:
    dense, hybrid = (weights_of(["/m.gguf"], [h]).attention for h in (llama_70b(), qwen35moe()))
    assert dense is not None
    assert dense.heads == (64,) * 80
    assert hybrid is not None
    assert hybrid.heads[:4] == (0, 0, 0, 16)


def test_m_rope_gives_four_positions_by_architecture_or_by_sections() -> None:
    def positions(architecture: str, **more: Value) -> int:
        metadata = keyed(architecture, block_count=1, attention__head_count=4, embedding_length=64, **more)
        return weights_of(["/m.gguf"], [header(metadata, [("output.weight", "F32", (64, 8))])]).position_numbers

    assert positions("llama") == 1
    assert positions("qwen3vlmoe") == 4
    assert positions("glm4moe") == 1
    assert positions("glm4moe", rope__dimension_sections=(8, 12, 12, 0)) == 4
    assert positions("llama", rope__dimension_sections=(8, 12, 12, 0)) == 1


def test_pure_state_spaces_say_what_crosses_a_boundary_inside_of_a_block() -> None:
    shapes = [("blk.0.ssm_in.weight", "Q8_0", (4096, 18560)), ("output.weight", "Q8_0", (4096, 8))]
    sizes = {"block_count": 1, "embedding_length": 4096, "ssm__inner_size": 8192, "ssm__state_size": 128}
    pure, hybrid = (
        weights_of(["/m.gguf"], [header(keyed(name, **sizes, ssm__group_count=8, ssm__conv_kernel=4), shapes)])
        for name in ("mamba2", "falcon-h1")
    )
    assert (pure.state_space_in, pure.state_space_out) == (18560, 8192)
    assert (hybrid.state_space_in, hybrid.state_space_out) == (0, 0)
    assert pure.recurrent_width == hybrid.recurrent_width == 2 * (8192 + 2 * 8 * 128) + 8192 + 18560
