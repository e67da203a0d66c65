"""Headers of architectures that the catalogue lacks, for benchmarks/memory.py: in their models' manner, one type each.

Laid out as the engine's own loader asks for them (src/models/*.cpp); the engine refuses a shape that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from evener.dialects.gguf import Header, Value
from evener.dialects.gguf_write import Shape, data_bytes, gguf_bytes, tensor_bytes
from evener.models.parts import Opened
from evener.records.weights import Tensor

Tensors = dict[str, tuple[int, ...]]
F32_ENDINGS = ("ffn_gate_inp.weight", "ssm_conv1d.weight", "shortconv.conv.weight", "ssm_a", "ssm_d", "ssm_norm.weight")


def opened(name: str) -> Opened:
    """One of `NAMES` as if its header had been read."""
    return MODELS[name](name)


def _model(
    name: str, architecture: str, kind: str, keys: dict[str, Value], outside: Tensors,
    blocks: Iterable[tuple[Iterable[int], Tensors]],
) -> Opened:  # fmt: skip
    metadata: dict[str, Value] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key}": value for key, value in keys.items()}
    every = [*outside.items(), *((f"blk.{i}.{n}", s) for layers, ts in blocks for i in layers for n, s in ts.items())]
    shapes: list[Shape] = [(n, "F32" if len(s) == 1 or n.endswith(F32_ENDINGS) else kind, s) for n, s in every]
    tensors, offset = [], 0
    for tensor_name, type_name, shape in shapes:
        size = tensor_bytes(type_name, shape)
        tensors.append(Tensor(name=tensor_name, type=type_name, shape=shape, bytes=size, offset=offset))
        offset += size + -size % 32
    start = len(gguf_bytes(metadata, shapes))  # type: ignore[arg-type]
    header = Header(
        version=3, metadata=metadata, tensors=tuple(tensors), alignment=32, data_offset=start,
        file_bytes=start + data_bytes(shapes),
    )  # fmt: skip
    return Opened(paths=(f"{name}.gguf",), headers=(header,), origin="catalogue")


def _ends(width: int, vocabulary: int, *, tied: bool = False, norm: str = "output_norm.weight") -> Tensors:
    head = {} if tied else {"output.weight": (width, vocabulary)}
    return {"token_embd.weight": (width, vocabulary), norm: (width,), **head}


def _keys(
    layers: int, width: int, inner: int, heads: int, kv: int, vocabulary: int, head: int, **more: Value
) -> dict[str, Value]:
    known: dict[str, Value] = {
        "block_count": layers, "context_length": 131072, "embedding_length": width, "feed_forward_length": inner,
        "attention.head_count": heads, "attention.head_count_kv": kv, "attention.key_length": head,
        "attention.value_length": head, "attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": vocabulary,
        "rope.dimension_count": head,
    }  # fmt: skip
    return known | {key.replace("__", "."): value for key, value in more.items()}


def _attention(width: int, heads: int, kv: int, head: int) -> Tensors:
    return {
        "attn_q.weight": (width, heads * head), "attn_k.weight": (width, kv * head),
        "attn_v.weight": (width, kv * head), "attn_output.weight": (heads * head, width),
    }  # fmt: skip


def _ffn(width: int, inner: int) -> Tensors:
    return {"ffn_gate.weight": (width, inner), "ffn_up.weight": (width, inner), "ffn_down.weight": (inner, width)}


def _experts(width: int, inner: int, count: int) -> Tensors:
    return {
        "ffn_gate_inp.weight": (width, count), "ffn_gate_exps.weight": (width, inner, count),
        "ffn_up_exps.weight": (width, inner, count), "ffn_down_exps.weight": (inner, width, count),
    }  # fmt: skip


def _norms(width: int, *names: str) -> Tensors:
    return {f"{name}.weight": (width,) for name in names}


def _state_space(width: int, inner: int, state: int, groups: int, heads: int) -> Tensors:
    mixed = inner + 2 * groups * state
    return {
        "ssm_in.weight": (width, 2 * inner + 2 * groups * state + heads), "ssm_conv1d.weight": (4, mixed),
        "ssm_conv1d.bias": (mixed,), "ssm_dt.bias": (heads,), "ssm_a": (1, heads), "ssm_d": (1, heads),
        "ssm_norm.weight": (inner // groups, groups), "ssm_out.weight": (inner, width),
    }  # fmt: skip


def _ssm_keys(inner: int, state: int, groups: int, heads: int) -> dict[str, Value]:
    return {
        "ssm.conv_kernel": 4, "ssm.inner_size": inner, "ssm.state_size": state, "ssm.group_count": groups,
        "ssm.time_step_rank": heads,
    }  # fmt: skip


def _deepseek2(name: str) -> Opened:
    """DeepSeek-V3: compressed keys and no values."""
    width, heads, q_rank, rank, rope, nope, value, layers, dense = 7168, 128, 1536, 512, 64, 128, 128, 61, 3
    keys = _keys(layers, width, 18432, heads, 1, 129280, rank + rope) | {
        "attention.value_length": rank, "attention.q_lora_rank": q_rank, "attention.kv_lora_rank": rank,
        "attention.key_length_mla": nope + rope, "attention.value_length_mla": value, "rope.dimension_count": rope,
        "leading_dense_block_count": dense, "expert_feed_forward_length": 2048, "expert_count": 256,
        "expert_used_count": 8, "expert_shared_count": 1, "expert_weights_scale": 2.5, "expert_weights_norm": True,
        "expert_gating_func": 2, "expert_group_count": 8, "expert_group_used_count": 4,
    }  # fmt: skip
    base = _norms(width, "attn_norm", "ffn_norm") | _norms(q_rank, "attn_q_a_norm") | _norms(rank, "attn_kv_a_norm")
    base |= {
        "attn_q_a.weight": (width, q_rank), "attn_q_b.weight": (q_rank, heads * (nope + rope)),
        "attn_kv_a_mqa.weight": (width, rank + rope), "attn_k_b.weight": (nope, rank, heads),
        "attn_v_b.weight": (rank, value, heads), "attn_output.weight": (heads * value, width),
    }  # fmt: skip
    shared = {f"ffn_{part}_shexp.weight": shape for part, shape in
              (("gate", (width, 2048)), ("up", (width, 2048)), ("down", (2048, width)))}  # fmt: skip
    routed = _experts(width, 2048, 256) | {"exp_probs_b.bias": (256,)} | shared
    return _model(name, "deepseek2", "Q4_0", keys, _ends(width, 129280),
                  [(range(dense), base | _ffn(width, 18432)), (range(dense, layers), base | routed)])  # fmt: skip


def _qwen3moe(name: str) -> Opened:
    """Qwen3-30B-A3B."""
    width = 2048
    keys = _keys(
        48, width, 6144, 32, 4, 151936, 128, expert_count=128, expert_used_count=8, expert_feed_forward_length=768
    )
    block = _norms(width, "attn_norm", "ffn_norm") | _norms(128, "attn_q_norm", "attn_k_norm")
    block |= _attention(width, 32, 4, 128) | _experts(width, 768, 128)
    return _model(name, "qwen3moe", "Q6_K", keys, _ends(width, 151936), [(range(48), block)])


def _gemma2(name: str) -> Opened:
    """Gemma-2-27B: every other layer looks back 4096 tokens."""
    width, inner = 4608, 36864
    keys = _keys(46, width, inner, 32, 16, 256128, 128, attention__sliding_window=4096)
    block = _norms(width, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    block |= _attention(width, 32, 16, 128) | _ffn(width, inner)
    return _model(name, "gemma2", "Q5_0", keys, _ends(width, 256128, tied=True), [(range(46), block)])


def _cohere2(name: str) -> Opened:
    """Command-R7B: three windows, one full layer, feed-forward beside attention."""
    width, inner = 4096, 14336
    keys = _keys(32, width, inner, 32, 8, 256000, 128, attention__sliding_window=4096, logit_scale=0.25)
    keys |= {"attention.layer_norm_epsilon": 1e-5}
    block = _norms(width, "attn_norm") | _attention(width, 32, 8, 128) | _ffn(width, inner)
    return _model(name, "cohere2", "Q4_0", keys, _ends(width, 256000, tied=True), [(range(32), block)])


def _phi3(name: str) -> Opened:
    """Phi-4: joined projections."""
    width, inner = 5120, 17920
    keys = _keys(40, width, inner, 40, 10, 100352, 128)
    block = _norms(width, "attn_norm", "ffn_norm") | {
        "attn_qkv.weight": (width, width + 2 * 1280), "attn_output.weight": (width, width),
        "ffn_up.weight": (width, 2 * inner), "ffn_down.weight": (inner, width),
    }  # fmt: skip
    return _model(name, "phi3", "Q4_K", keys, _ends(width, 100352), [(range(40), block)])


def _olmo2(name: str) -> Opened:
    """OLMo-2-32B: norms behind attention and feed-forward."""
    width, inner = 5120, 27648
    keys = _keys(64, width, inner, 40, 8, 100352, 128)
    block = _norms(width, "attn_q_norm", "post_attention_norm", "post_ffw_norm") | {"attn_k_norm.weight": (1024,)}
    block |= _attention(width, 40, 8, 128) | _ffn(width, inner)
    return _model(name, "olmo2", "Q8_0", keys, _ends(width, 100352), [(range(64), block)])


def _lfm2(name: str) -> Opened:
    """LFM2-1.2B: short convolutions, six attention layers."""
    width, inner, full = 2048, 8192, (2, 5, 8, 10, 12, 14)
    kv = tuple(8 if i in full else 0 for i in range(16))
    keys = _keys(16, width, inner, 32, 8, 65536, 64, shortconv__l_cache=3) | {"attention.head_count_kv": kv}
    base = _norms(width, "attn_norm", "ffn_norm") | _ffn(width, inner)
    attention = base | _norms(64, "attn_q_norm", "attn_k_norm") | _attention(width, 32, 8, 64)
    convolution = base | {
        "shortconv.conv.weight": (3, width), "shortconv.in_proj.weight": (width, 3 * width),
        "shortconv.out_proj.weight": (width, width),
    }  # fmt: skip
    others = [i for i in range(16) if i not in full]
    return _model(name, "lfm2", "Q4_0", keys, _ends(width, 65536, tied=True, norm="token_embd_norm.weight"),
                  [(full, attention), (others, convolution)])  # fmt: skip


def _mamba2(name: str) -> Opened:
    """Mamba-Codestral-7B: no attention at all."""
    width, inner, state, groups, heads = 4096, 8192, 128, 8, 128
    keys = _keys(64, width, 0, 0, 0, 32768, 0) | _ssm_keys(inner, state, groups, heads)
    keys = {
        key: value
        for key, value in keys.items()
        if "key_length" not in key and "value_length" not in key and "rope" not in key
    }
    block = _norms(width, "attn_norm") | _state_space(width, inner, state, groups, heads)
    return _model(name, "mamba2", "Q8_0", keys, _ends(width, 32768), [(range(64), block)])


def _granite(name: str) -> Opened:
    """Granite-4-Tiny: state-space layers, four with attention, experts in all."""
    width, inner, state, groups, heads, full = 1536, 3072, 128, 1, 48, (5, 15, 25, 35)
    kv = tuple(4 if i in full else 0 for i in range(40))
    keys = _keys(40, width, 512, 12, 4, 100352, 128, expert_count=64, expert_used_count=6)
    keys |= {"attention.head_count_kv": kv, "expert_shared_feed_forward_length": 1024}
    keys |= _ssm_keys(inner, state, groups, heads)
    base = _norms(width, "attn_norm", "ffn_norm") | _experts(width, 512, 64) | {
        "ffn_gate_shexp.weight": (width, 1024), "ffn_up_shexp.weight": (width, 1024),
        "ffn_down_shexp.weight": (1024, width),
    }  # fmt: skip
    attention = base | _attention(width, 12, 4, 128)
    others = [i for i in range(40) if i not in full]
    return _model(name, "granitehybrid", "Q4_K", keys, _ends(width, 100352, tied=True),
                  [(full, attention), (others, base | _state_space(width, inner, state, groups, heads))])  # fmt: skip


def _falcon_h1(name: str) -> Opened:
    """Falcon-H1-7B: attention and a state space in every layer."""
    width, inner, ff, state, groups, heads = 3072, 3072, 12288, 256, 1, 24
    keys = _keys(44, width, ff, 12, 2, 130048, 128) | _ssm_keys(inner, state, groups, heads)
    block = _norms(width, "attn_norm") | {"ffn_norm": (width,)} | _attention(width, 12, 2, 128) | _ffn(width, ff)
    block |= _state_space(width, inner, state, groups, heads)
    return _model(name, "falcon-h1", "Q4_K", keys, _ends(width, 130048), [(range(44), block)])


MODELS: dict[str, Callable[[str], Opened]] = {
    "DeepSeek-V3": _deepseek2, "Qwen3-30B-A3B": _qwen3moe, "Gemma-2-27B": _gemma2, "Command-R7B": _cohere2,
    "Phi-4": _phi3, "OLMo-2-32B": _olmo2, "LFM2-1.2B": _lfm2, "Mamba-Codestral-7B": _mamba2,
    "Granite-4-Tiny": _granite, "Falcon-H1-7B": _falcon_h1,
}  # fmt: skip
NAMES = tuple(MODELS)
