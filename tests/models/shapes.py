"""Headers of well-known models, tensor for tensor, without their data."""

from __future__ import annotations

from evener.dialects.gguf import Header, Value
from evener.records.weights import Tensor
from evener.testing.gguf_files import Shape, tensor_bytes


def header(metadata: dict[str, Value], shapes: list[Shape]) -> Header:
    offset, tensors = 0, []
    for name, type_name, shape in shapes:
        size = tensor_bytes(type_name, shape)
        tensors.append(Tensor(name=name, type=type_name, shape=shape, bytes=size, offset=offset))
        offset += size + -size % 32
    return Header(version=3, metadata=metadata, tensors=tuple(tensors), alignment=32, data_offset=0, file_bytes=offset)


def keyed(architecture: str, **values: Value) -> dict[str, Value]:
    """Metadata under one architecture: `attention__head_count=4` is its `attention.head_count`."""
    named = {f"{architecture}.{key.replace('__', '.')}": value for key, value in values.items()}
    return {"general.architecture": architecture, **named}


def attention_block(index: int, *, width: int, heads: int, kv_heads: int, head: int, kind: str = "Q8_0") -> list[Shape]:
    b = f"blk.{index}."
    return [
        (b + "attn_norm.weight", "F32", (width,)),
        (b + "attn_q.weight", kind, (width, heads * head)),
        (b + "attn_k.weight", kind, (width, kv_heads * head)),
        (b + "attn_v.weight", kind, (width, kv_heads * head)),
        (b + "attn_output.weight", kind, (heads * head, width)),
    ]


def feed_forward(index: int, *, width: int, inner: int, kind: str = "Q8_0") -> list[Shape]:
    b = f"blk.{index}."
    return [
        (b + "ffn_norm.weight", "F32", (width,)),
        (b + "ffn_gate.weight", kind, (width, inner)),
        (b + "ffn_up.weight", kind, (width, inner)),
        (b + "ffn_down.weight", kind, (inner, width)),
    ]


def llama_70b() -> Header:
    shapes: list[Shape] = [
        ("token_embd.weight", "Q8_0", (8192, 128256)),
        ("output_norm.weight", "F32", (8192,)),
        ("output.weight", "Q8_0", (8192, 128256)),
    ]
    for i in range(80):
        shapes += attention_block(i, width=8192, heads=64, kv_heads=8, head=128)
        shapes += feed_forward(i, width=8192, inner=28672)
    metadata = keyed(
        "llama", block_count=80, context_length=131072, embedding_length=8192, feed_forward_length=28672,
        attention__head_count=64, attention__head_count_kv=8, attention__key_length=128, attention__value_length=128,
        vocab_size=128256,
    )  # fmt: skip
    return header(metadata | {"general.file_type": 7}, shapes)


def gemma3_27b() -> Header:
    shapes: list[Shape] = [("token_embd.weight", "Q8_0", (5376, 262208)), ("output_norm.weight", "F32", (5376,))]
    for i in range(62):
        shapes += attention_block(i, width=5376, heads=32, kv_heads=16, head=128)
        shapes += feed_forward(i, width=5376, inner=21504)
    metadata = keyed(
        "gemma3", block_count=62, context_length=131072, embedding_length=5376, feed_forward_length=21504,
        attention__head_count=32, attention__head_count_kv=16, attention__key_length=128, attention__value_length=128,
        attention__sliding_window=1024, vocab_size=262208,
    )  # fmt: skip
    return header(metadata, shapes)


def qwen35moe() -> Header:
    """Qwen3.6-35B-A3B's shape: 40 blocks, 1 in 4 with full attention, and one MTP block."""
    width, experts, kind = 2048, 256, "Q8_0"
    shapes: list[Shape] = [
        ("token_embd.weight", kind, (width, 248320)),
        ("output_norm.weight", "F32", (width,)),
        ("output.weight", kind, (width, 248320)),
    ]
    for i in range(41):
        b = f"blk.{i}."
        if i == 40 or (i + 1) % 4 == 0:
            shapes += attention_block(i, width=width, heads=32, kv_heads=2, head=256)
        else:
            shapes += [(b + "attn_qkv.weight", kind, (width, 8192)), (b + "ssm_out.weight", kind, (4096, width))]
        shapes += [
            (b + "ffn_gate_inp.weight", "F32", (width, experts)),
            (b + "ffn_gate_exps.weight", kind, (width, 512, experts)),
            (b + "ffn_up_exps.weight", kind, (width, 512, experts)),
            (b + "ffn_down_exps.weight", kind, (512, width, experts)),
        ]
    metadata = keyed(
        "qwen35moe", block_count=41, nextn_predict_layers=1, context_length=262144, embedding_length=width,
        attention__head_count=16, attention__head_count_kv=2, attention__key_length=256, attention__value_length=256,
        vocab_size=248320, expert_count=experts, expert_used_count=8, full_attention_interval=4, ssm__conv_kernel=4,
        ssm__inner_size=4096, ssm__state_size=128, ssm__time_step_rank=32, ssm__group_count=16,
    )  # fmt: skip
    return header(metadata, shapes)


def deepseek_v3() -> Header:
    shapes: list[Shape] = [("token_embd.weight", "Q4_K", (7168, 129280)), ("output.weight", "Q6_K", (7168, 129280))]
    metadata = keyed(
        "deepseek2", block_count=61, context_length=163840, embedding_length=7168, attention__head_count=128,
        attention__head_count_kv=1, attention__kv_lora_rank=512, attention__key_length=576,
        attention__value_length=512, attention__key_length_mla=192, attention__value_length_mla=128,
        rope__dimension_count=64, vocab_size=129280, expert_count=256, expert_used_count=8,
    )  # fmt: skip
    return header(metadata, shapes)
