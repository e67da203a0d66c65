"""Write the shipped catalogue: header skeletons of models, and the tensor types of their standard quantisations.

    python scripts/catalogue.py ENGINE_FOLDER

Shapes are the public figures named in each entry's `sources`, laid out as the engine's own loader asks for them
(src/models/*.cpp, build 11434). Types are the engine's: `llama-quantize --dry-run` on a header-only F16 file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evener.models.ranges import spelt
from evener.testing.gguf_files import Plain, Shape, write_gguf

TARGET = Path(__file__).parent.parent / "src/evener/models/catalogue"
STANDARD = ("BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q4_0", "Q3_K_M", "Q2_K")
PUBLISHED = {"MXFP4": "MXFP4_MOE"}  # what people call it -> what the engine calls it
F32_BEYOND_ONE_DIMENSION = ("ffn_gate_inp.weight", "ssm_conv1d.weight", "_exps.bias")
HF, LLAMA_CPP = "https://huggingface.co/", "https://github.com/ggml-org/llama.cpp/"
SNAPSHOTS = LLAMA_CPP + "blob/master/tests/snapshots/"

Tensors = dict[str, tuple[int, ...]]


@dataclass(kw_only=True)
class Model:
    name: str
    architecture: str
    sources: tuple[str, ...]
    metadata: dict[str, Plain]
    outside: Tensors
    blocks: list[tuple[Iterable[int], Tensors]]
    quantisations: tuple[str, ...] = STANDARD
    parameters: int | None = None  # as published, to check the shapes with
    keyed: dict[str, Plain] = field(init=False)

    def __post_init__(self) -> None:
        self.keyed = {"general.architecture": self.architecture}
        self.keyed |= {f"{self.architecture}.{key}": value for key, value in self.metadata.items()}

    def shapes(self) -> list[Shape]:
        every = [(name, shape) for name, shape in self.outside.items()]
        every += [
            (f"blk.{i}.{name}", s) for layers, tensors in self.blocks for i in layers for name, s in tensors.items()
        ]
        return [(name, "F32" if stays_f32(name, shape) else "F16", shape) for name, shape in every]


def stays_f32(name: str, shape: tuple[int, ...]) -> bool:
    """What every converter writes as F32, and no quantisation changes."""
    return len(shape) == 1 or name.endswith(F32_BEYOND_ONE_DIMENSION)


def ends(width: int, vocabulary: int, *, tied: bool = False) -> Tensors:
    head = {} if tied else {"output.weight": (width, vocabulary)}
    return {"token_embd.weight": (width, vocabulary), "output_norm.weight": (width,), **head}


def attention(width: int, heads: int, kv_heads: int, head: int, *, bias: bool = False, qk_norm: bool = False,
              gate: int = 1) -> Tensors:  # fmt: skip
    q, kv = heads * head, kv_heads * head
    tensors: Tensors = {
        "attn_norm.weight": (width,),
        "attn_q.weight": (width, q * gate),
        "attn_k.weight": (width, kv),
        "attn_v.weight": (width, kv),
        "attn_output.weight": (q, width),
    }
    if bias:
        tensors |= {"attn_q.bias": (q,), "attn_k.bias": (kv,), "attn_v.bias": (kv,)}
    if qk_norm:
        tensors |= {"attn_q_norm.weight": (head,), "attn_k_norm.weight": (head,)}
    return tensors


def delta_net(width: int, *, state: int, groups: int, heads: int, kernel: int, joined_ba: bool) -> Tensors:
    key, value = state * groups, state * heads
    gates = ("ssm_ba.weight",) if joined_ba else ("ssm_beta.weight", "ssm_alpha.weight")
    return {
        "attn_norm.weight": (width,),
        "attn_qkv.weight": (width, 2 * key + value),
        "attn_gate.weight": (width, value),
        "ssm_conv1d.weight": (kernel, 2 * key + value),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        **{name: (width, heads * (2 if joined_ba else 1)) for name in gates},
        "ssm_norm.weight": (state,),
        "ssm_out.weight": (value, width),
    }


def feed_forward(width: int, inner: int, suffix: str = "") -> Tensors:
    return {
        f"ffn_gate{suffix}.weight": (width, inner),
        f"ffn_up{suffix}.weight": (width, inner),
        f"ffn_down{suffix}.weight": (inner, width),
    }


def experts(width: int, inner: int, count: int) -> Tensors:
    return {
        "ffn_gate_inp.weight": (width, count),
        "ffn_gate_exps.weight": (width, inner, count),
        "ffn_up_exps.weight": (width, inner, count),
        "ffn_down_exps.weight": (inner, width, count),
    }


def next_token(width: int) -> Tensors:
    """What an MTP block has beyond a block of the trunk."""
    return {
        "nextn.eh_proj.weight": (2 * width, width),
        "nextn.enorm.weight": (width,),
        "nextn.hnorm.weight": (width,),
        "nextn.shared_head_norm.weight": (width,),
    }


def figures(*, layers: int, context: int, width: int, inner: int | None, heads: int, kv_heads: int, head: int,
            vocabulary: int, epsilon: float, rope_base: float, **more: Plain) -> dict[str, Plain]:  # fmt: skip
    known: dict[str, Plain] = {
        "block_count": layers, "context_length": context, "embedding_length": width, "attention.head_count": heads,
        "attention.head_count_kv": kv_heads, "attention.key_length": head, "attention.value_length": head,
        "attention.layer_norm_rms_epsilon": epsilon, "rope.freq_base": rope_base, "vocab_size": vocabulary,
    }  # fmt: skip
    return known | ({} if inner is None else {"feed_forward_length": inner}) | dict(more)


def llama(name: str, *, sources: tuple[str, ...], layers: int, width: int, inner: int, heads: int, kv_heads: int,
          vocabulary: int, context: int, rope_base: float = 500000.0, tied: bool = False, scaled_rope: bool = True,
          parameters: int | None = None) -> Model:  # fmt: skip
    head = width // heads
    block = attention(width, heads, kv_heads, head) | {"ffn_norm.weight": (width,)} | feed_forward(width, inner)
    rope: Tensors = {"rope_freqs.weight": (head // 2,)} if scaled_rope else {}
    return Model(
        name=name, architecture="llama", sources=sources, parameters=parameters,
        metadata=figures(layers=layers, context=context, width=width, inner=inner, heads=heads, kv_heads=kv_heads,
                         head=head, vocabulary=vocabulary, epsilon=1e-5, rope_base=rope_base)
        | {"rope.dimension_count": head},
        outside=ends(width, vocabulary, tied=tied) | rope, blocks=[(range(layers), block)],
    )  # fmt: skip


def qwen2_72b() -> Model:
    width, inner, layers = 8192, 29568, 80
    block = attention(width, 64, 8, 128, bias=True) | {"ffn_norm.weight": (width,)} | feed_forward(width, inner)
    return Model(
        name="Qwen2.5-72B", architecture="qwen2", parameters=72706203648,
        sources=("https://github.com/ollama/ollama/issues/6994", HF + "Qwen/Qwen2.5-72B-Instruct"),
        metadata=figures(layers=layers, context=32768, width=width, inner=inner, heads=64, kv_heads=8, head=128,
                         vocabulary=152064, epsilon=1e-6, rope_base=1e6),
        outside=ends(width, 152064), blocks=[(range(layers), block)],
    )  # fmt: skip


def qwen3_06b() -> Model:
    width, inner, layers = 1024, 3072, 28
    block = attention(width, 16, 8, 128, qk_norm=True) | {"ffn_norm.weight": (width,)} | feed_forward(width, inner)
    return Model(
        name="Qwen3-0.6B", architecture="qwen3", parameters=596049920,
        sources=(SNAPSHOTS + "qwen3-0.6b.schema", HF + "Qwen/Qwen3-0.6B"),
        metadata=figures(layers=layers, context=40960, width=width, inner=inner, heads=16, kv_heads=8, head=128,
                         vocabulary=151936, epsilon=1e-6, rope_base=1e6),
        outside=ends(width, 151936, tied=True), blocks=[(range(layers), block)],
    )  # fmt: skip


def gemma3_27b() -> Model:
    width, inner, layers, vocabulary = 5376, 21504, 62, 262144
    block = attention(width, 32, 16, 128, qk_norm=True) | feed_forward(width, inner)
    block |= {n + ".weight": (width,) for n in ("post_attention_norm", "ffn_norm", "post_ffw_norm")}
    return Model(
        name="Gemma-3-27B", architecture="gemma3",
        sources=(HF + "google/gemma-3-27b-it", "https://github.com/google/gemma_pytorch/blob/main/gemma/config.py"),
        metadata=figures(layers=layers, context=131072, width=width, inner=inner, heads=32, kv_heads=16, head=128,
                         vocabulary=vocabulary, epsilon=1e-6, rope_base=1e6)
        | {"attention.sliding_window": 1024},
        outside=ends(width, vocabulary, tied=True), blocks=[(range(layers), block)],
    )  # fmt: skip


def gpt_oss(name: str, *, layers: int, count: int, sources: tuple[str, ...], parameters: int) -> Model:
    width, vocabulary = 2880, 201088
    block = attention(width, 64, 8, 64, bias=True) | experts(width, width, count)
    block |= {
        "attn_output.bias": (width,), "attn_sinks.weight": (64,), "post_attention_norm.weight": (width,),
        "ffn_gate_inp.bias": (count,), "ffn_gate_exps.bias": (width, count), "ffn_up_exps.bias": (width, count),
        "ffn_down_exps.bias": (width, count),
    }  # fmt: skip
    return Model(
        name=name, architecture="gpt-oss", sources=sources, parameters=parameters, quantisations=("MXFP4",),
        metadata=figures(layers=layers, context=131072, width=width, inner=width, heads=64, kv_heads=8, head=64,
                         vocabulary=vocabulary, epsilon=1e-5, rope_base=150000.0)
        | {"expert_count": count, "expert_used_count": 4, "expert_feed_forward_length": width,
           "attention.sliding_window": 128},
        outside=ends(width, vocabulary), blocks=[(range(layers), block)],
    )  # fmt: skip


def hybrid(name: str, architecture: str, *, layers: int, width: int, heads: int, kv_heads: int, vocabulary: int,
           value_heads: int, sources: tuple[str, ...], each: Tensors, mtp: int = 0, inner: int | None = None,
           parameters: int | None = None, **more: Plain) -> Model:  # fmt: skip
    """Three gated delta nets, then one full attention: qwen3next, qwen35, qwen35moe."""
    joined = architecture == "qwen3next"
    recurrent = delta_net(width, state=128, groups=16, heads=value_heads, kernel=4, joined_ba=joined)
    full = attention(width, heads, kv_heads, 256, qk_norm=True, gate=2)
    rest = {"post_attention_norm.weight": (width,), **each}
    rope: dict[str, Plain] = {} if joined else {"rope.dimension_sections": [11, 11, 10, 0]}
    blocks: list[tuple[Iterable[int], Tensors]] = [
        ([i for i in range(layers) if (i + 1) % 4], recurrent | rest),
        (range(3, layers, 4), full | rest),
    ]
    if mtp:
        blocks.append((range(layers, layers + mtp), full | rest | next_token(width)))
    return Model(
        name=name, architecture=architecture, sources=sources, parameters=parameters,
        metadata=figures(layers=layers + mtp, context=262144, width=width, inner=inner, heads=heads, kv_heads=kv_heads,
                         head=256, vocabulary=vocabulary, epsilon=1e-6, rope_base=1e7)
        | {"ssm.conv_kernel": 4, "ssm.state_size": 128, "ssm.group_count": 16, "ssm.time_step_rank": value_heads,
           "ssm.inner_size": 128 * value_heads, "full_attention_interval": 4, "rope.dimension_count": 64}
        | rope | ({"nextn_predict_layers": mtp} if mtp else {}) | {k.replace("__", "."): v for k, v in more.items()},
        outside=ends(width, vocabulary), blocks=blocks,
    )  # fmt: skip


def hybrid_experts(name: str, architecture: str, *, count: int, used: int, **rest: object) -> Model:
    each = experts(2048, 512, count) | feed_forward(2048, 512, "_shexp") | {"ffn_gate_inp_shexp.weight": (2048,)}
    return hybrid(
        name, architecture, width=2048, heads=16, kv_heads=2, value_heads=32, each=each, expert_count=count,
        expert_used_count=used, expert_feed_forward_length=512, expert_shared_feed_forward_length=512, **rest,  # type: ignore[arg-type]
    )  # fmt: skip


def glm_45_air() -> Model:
    width, count, inner, layers, vocabulary = 4096, 128, 1408, 46, 151552
    base = attention(width, 96, 8, 128, bias=True) | {"post_attention_norm.weight": (width,)}
    routed = experts(width, inner, count) | {"exp_probs_b.bias": (count,)} | feed_forward(width, inner, "_shexp")
    nextn = next_token(width) | {
        "nextn.embed_tokens.weight": (width, vocabulary), "nextn.shared_head_head.weight": (width, vocabulary),
    }  # fmt: skip
    return Model(
        name="GLM-4.5-Air", architecture="glm4moe",
        sources=(LLAMA_CPP + "pull/15026", "https://github.com/ollama/ollama/issues/12403",
                 "https://github.com/lemonade-sdk/llamacpp-rocm/issues/9", HF + "zai-org/GLM-4.5-Air"),
        metadata=figures(layers=layers + 1, context=131072, width=width, inner=10944, heads=96, kv_heads=8, head=128,
                         vocabulary=vocabulary, epsilon=1e-5, rope_base=1e6)
        | {"expert_count": count, "expert_used_count": 8, "expert_feed_forward_length": inner,
           "expert_shared_count": 1, "leading_dense_block_count": 1, "expert_gating_func": 2,
           "expert_weights_scale": 1.0, "expert_weights_norm": True, "nextn_predict_layers": 1,
           "rope.dimension_count": 64},
        outside=ends(width, vocabulary),
        blocks=[(range(1), base | feed_forward(width, 10944)), (range(1, layers), base | routed),
                (range(layers, layers + 1), base | routed | nextn)],
    )  # fmt: skip


QWEN36_35B = (HF + "Qwen/Qwen3.6-35B-A3B", LLAMA_CPP + "pull/23269", "https://github.com/ollama/ollama/pull/16031")
QWEN36_27B = (SNAPSHOTS + "qwen3.6-27b.schema", LLAMA_CPP + "issues/23577")
META = HF + "meta-llama/"


def models() -> list[Model]:
    qwen36_27b: Callable[..., Model] = lambda name, mtp: hybrid(  # noqa: E731
        name, "qwen35", layers=64, width=5120, heads=24, kv_heads=4, vocabulary=248320, value_heads=48, inner=17408,
        each=feed_forward(5120, 17408), sources=QWEN36_27B, mtp=mtp,
    )  # fmt: skip
    qwen36_35b: Callable[..., Model] = lambda name, mtp: hybrid_experts(  # noqa: E731
        name, "qwen35moe", layers=40, count=256, used=8, vocabulary=248320, sources=QWEN36_35B, mtp=mtp,
    )  # fmt: skip
    return [
        llama("SmolLM2-135M", layers=30, width=576, inner=1536, heads=9, kv_heads=3, vocabulary=49152, context=8192,
              rope_base=100000.0, tied=True, scaled_rope=False, parameters=134515008,
              sources=(HF + "HuggingFaceTB/SmolLM2-135M-Instruct",)),
        qwen3_06b(),
        llama("Llama-3.1-8B", layers=32, width=4096, inner=14336, heads=32, kv_heads=8, vocabulary=128256,
              context=131072, parameters=8030261248 + 64,
              sources=(META + "Llama-3.1-8B-Instruct", LLAMA_CPP + "pull/6745")),
        llama("Llama-3.3-70B", layers=80, width=8192, inner=28672, heads=64, kv_heads=8, vocabulary=128256,
              context=131072, parameters=70553706496 + 64,
              sources=(META + "Llama-3.3-70B-Instruct", SNAPSHOTS + "meta-llama-3.1-70b-instruct.schema")),
        qwen2_72b(),
        gemma3_27b(),
        gpt_oss("gpt-oss-20b", layers=24, count=32, parameters=20914757184,
                sources=(HF + "openai/gpt-oss-20b", LLAMA_CPP + "issues/15242")),
        gpt_oss("gpt-oss-120b", layers=36, count=128, parameters=116829156672,
                sources=(HF + "openai/gpt-oss-120b", LLAMA_CPP + "issues/15253")),
        qwen36_27b("Qwen3.6-27B", 0),
        qwen36_27b("Qwen3.6-27B-MTP", 1),
        qwen36_35b("Qwen3.6-35B-A3B", 0),
        qwen36_35b("Qwen3.6-35B-A3B-MTP", 1),
        hybrid_experts("Qwen3-Next-80B-A3B", "qwen3next", layers=48, count=512, used=10, vocabulary=151936, inner=5120,
                       parameters=79674391296,
                       sources=(HF + "Qwen/Qwen3-Next-80B-A3B-Instruct", LLAMA_CPP + "issues/17578")),
        glm_45_air(),
    ]  # fmt: skip


# "[   1/ 291]  output.weight  - [ 576, 49152, 1, 1], type =  f16, size = 54.000 MiB -> 22.149 MiB (q6_K)"
_LINE = re.compile(r"\[\s*\d+/\s*\d+\]\s+(\S+)\s.*type =\s*(\w+),.*?(?:\((\w+)\))?\s*$")


def types_of(quantize: Path, file: Path, quantisation: str) -> dict[str, str]:
    """Tensor name -> type, as the engine would write it."""
    asked = PUBLISHED.get(quantisation, quantisation)
    done = subprocess.run(
        [quantize, "--dry-run", file, asked], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    found = [m for line in (done.stdout + done.stderr).splitlines() if (m := _LINE.search(line))]
    if done.returncode or not found:
        sys.exit(f"{file.name} {quantisation}: {(done.stdout + done.stderr)[-400:]}")
    return {m[1]: (m[3] or m[2]).upper() for m in found}


def packed(types: Mapping[str, str], shapes: Iterable[Shape]) -> dict[str, list[str]]:
    """Type -> tensors, blocks in ranges; the type that most tensors have is said once, with "*"."""
    own = {name: types[name] for name, kind, _ in shapes if kind != "F32"}
    counts = {kind: list(own.values()).count(kind) for kind in own.values()}
    bulk = max(counts, key=lambda kind: counts[kind])
    result: dict[str, list[str]] = {bulk: ["*"]}
    for kind in sorted(set(own.values()) - {bulk}):
        names = [name for name, its in own.items() if its == kind]
        blocks: dict[str, list[int]] = {}
        for name in names:
            if block := re.match(r"blk\.(\d+)\.(.+)", name):
                blocks.setdefault(block[2], []).append(int(block[1]))
        result[kind] = [n for n in names if not n.startswith("blk.")]
        result[kind] += [f"blk.{spelt(layers)}.{suffix}" for suffix, layers in blocks.items()]
    return result


def entry(model: Model, quantize: Path, folder: Path) -> dict[str, object]:
    shapes = model.shapes()
    total = sum(_product(shape) for _, _, shape in shapes)
    if model.parameters not in (None, total):
        sys.exit(f"{model.name}: {total} parameters by its shapes, {model.parameters} as published")
    metadata = model.keyed | {"general.name": model.name, "general.file_type": 1, "tokenizer.ggml.model": "none"}
    file = write_gguf(folder / f"{model.name}.gguf", metadata, shapes)
    print(f"{model.name}: {len(shapes)} tensors, {total} parameters")
    return {
        "name": model.name,
        "sources": model.sources,
        "metadata": model.keyed,
        "tensors": model.outside,
        "blocks": [{"layers": spelt(layers), "tensors": tensors} for layers, tensors in model.blocks],
        "f32": [e for e in F32_BEYOND_ONE_DIMENSION if any(n.endswith(e) for n, _, _ in shapes)],
        "quantisations": {q: packed(types_of(quantize, file, q), shapes) for q in model.quantisations},
    }


def _product(shape: Iterable[int]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


def dumped(data: Mapping[str, object]) -> str:
    """One key a line at the top, one tensor group a line below: small, and readable in a diff."""
    lines = []
    for key, value in data.items():
        if key in ("blocks", "quantisations"):
            inner = value.items() if isinstance(value, dict) else ((None, item) for item in value)  # type: ignore[attr-defined]
            rows = [(f"{json.dumps(k)}: " if k else "") + json.dumps(v) for k, v in inner]
            brackets = "{}" if isinstance(value, dict) else "[]"
            lines.append(f'"{key}": {brackets[0]}\n  ' + ",\n  ".join(rows) + f"\n {brackets[1]}")
        else:
            lines.append(f'"{key}": {json.dumps(value)}')
    return "{" + ",\n ".join(lines) + "}\n"


def main(engine: str) -> None:
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for model in models():
            data = entry(model, Path(engine) / "llama-quantize", Path(folder))
            (TARGET / f"{model.name.lower()}.json").write_text(dumped(data), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
