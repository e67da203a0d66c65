"""A short benchmarks/memory.py: three architectures against the engine, a plan against llama-server's own log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.edges.stand_in import StandIns
from evener.errors import ModelError
from evener.models import skeletons
from evener.models.parts import Opened, open_model
from evener.models.sparse import write_sparse
from evener.plan import dry_run, memory
from evener.plan.candidates import make_plan
from evener.plan.commands import Tools
from evener.plan.dry_run import Asking
from evener.plan.question import Question
from evener.records.plan import Candidate, Workload
from tests.models.shapes import header
from tests.rigs import GIB, card, cpu, rig, scan, seen

pytestmark = pytest.mark.engine
MIB = 1 << 20


def asking(engine: Path, folder: Path, opened: Opened, workload: Workload) -> Asking:
    weights = opened.weights()
    rows = dry_run.short_rows(weights, workload)
    files = write_sparse(opened, folder, vocabulary=weights.vocabulary, short_rows=rows)
    return Asking(
        shell=LocalShell("here"), stand_ins=StandIns(), program=str(engine / "llama-fit-params"), full=str(files.full),
        short=str(files.short),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "counts", "workload"),
    [
        ("llama-3.3-70b:q4_k_m", [30, 51], Workload(context=8192, users=4, kv_type_k="q8_0", kv_type_v="q8_0")),
        ("gemma-3-27b:q5_k_m", [10, 20, 33], Workload(context=32768)),
        ("qwen3.6-35b-a3b-mtp:q6_k", [20, 22], Workload(context=4096, users=8)),
    ],
)
async def test_weights_and_caches_are_the_engines_to_the_mib_and_compute_within_a_tenth(
    engine, tmp_path, name, counts, workload
):
    opened = skeletons.find(name)
    weights = opened.weights()
    ask = asking(engine, tmp_path, opened, workload)
    rows = await dry_run.ask(ask, ask.full, workload, counts=counts, kinds=["cuda"] * len(counts))
    held, caches = memory.held_bytes(weights, kind="cuda"), memory.cache_bytes(weights, workload)
    start = 0
    for position, count in enumerate(counts):
        mine = slice(start, start + count)
        compute = memory.dry_run_compute_bytes(
            weights, workload, devices=len(counts), position=position, layers=range(start, start + count)
        )
        start += count
        engines = rows[f"RPC{position}"]
        assert (sum(held[mine]) // MIB, sum(caches[mine]) // MIB) == engines[:2]
        assert compute / MIB == pytest.approx(engines[2], rel=0.1)


async def test_the_demo_model_is_confirmed_as_llama_server_allocates_it(engine, model, tmp_path):
    """43.05 and 32.91 MiB: what llama-server logged for two workers and two users of 4096 tokens."""
    opened, workload = open_model(model), Workload(context=4096, users=2)
    ask = asking(engine, tmp_path, opened, workload)
    rows = await dry_run.ask(ask, ask.short, workload, counts=[10, 21], kinds=["cpu", "cpu"])
    boundary = memory.boundary_bytes(opened.weights(), position=1, piped=True)
    assert rows["RPC0"][2] == pytest.approx(43.05, abs=1)
    assert rows["RPC1"][2] - boundary / MIB == pytest.approx(32.91, abs=1)


async def test_a_cache_that_can_be_counted_is_measured_alike(engine, tmp_path):
    opened, workload = skeletons.find("gpt-oss-20b:mxfp4"), Workload(context=8192, users=2)
    ask = asking(engine, tmp_path, opened, workload)
    measured = await dry_run.measured_caches(opened.weights(), workload, ask)
    counted = memory.cache_bytes(opened.weights(), workload)
    assert len(measured) == 25
    assert sum(measured) == pytest.approx(sum(counted), abs=MIB)
    assert all(abs(m - c) <= MIB for m, c in zip(measured, counted, strict=True))


def deepseek32() -> Opened:
    """Two small blocks with compressed keys and an indexer of 128 elements beside them."""
    width, heads, q_rank, rank, rope, vocabulary = 512, 4, 256, 512, 64, 1000
    keys = {
        "block_count": 2, "context_length": 65536, "embedding_length": width, "feed_forward_length": 1024,
        "attention.head_count": heads, "attention.head_count_kv": 1, "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.q_lora_rank": q_rank, "attention.kv_lora_rank": rank, "attention.key_length": rank + rope,
        "attention.value_length": rank, "attention.key_length_mla": 192, "attention.value_length_mla": 128,
        "rope.dimension_count": rope, "leading_dense_block_count": 2, "expert_feed_forward_length": 256,
        "expert_count": 8, "expert_used_count": 2, "expert_shared_count": 1, "expert_gating_func": 2,
        "attention.indexer.head_count": 4, "attention.indexer.key_length": 128, "attention.indexer.top_k": 64,
        "vocab_size": vocabulary,
    }  # fmt: skip
    block = {
        "attn_norm.weight": (width,), "attn_q_a_norm.weight": (q_rank,), "attn_kv_a_norm.weight": (rank,),
        "attn_q_a.weight": (width, q_rank), "attn_q_b.weight": (q_rank, heads * 192),
        "attn_kv_a_mqa.weight": (width, rank + rope), "attn_k_b.weight": (128, rank, heads),
        "attn_v_b.weight": (rank, 128, heads), "attn_output.weight": (heads * 128, width), "ffn_norm.weight": (width,),
        "indexer.k_norm.weight": (128,), "indexer.k_norm.bias": (128,), "indexer.proj.weight": (width, 4),
        "indexer.attn_k.weight": (width, 128), "indexer.attn_q_b.weight": (q_rank, 4 * 128),
        "ffn_gate.weight": (width, 1024), "ffn_up.weight": (width, 1024), "ffn_down.weight": (1024, width),
    }  # fmt: skip
    ends = ("token_embd.weight", "output.weight")
    named = {name: (width, vocabulary) for name in ends} | {"output_norm.weight": (width,)}
    named |= {f"blk.{i}.{name}": shape for i in range(2) for name, shape in block.items()}
    metadata = {f"deepseek32.{key}": value for key, value in keys.items()} | {"general.architecture": "deepseek32"}
    shapes = [(name, "F32" if len(shape) == 1 else "F16", shape) for name, shape in named.items()]
    return Opened(paths=("indexed.gguf",), headers=(header(metadata, shapes),))


async def test_a_cache_without_a_closed_form_is_measured_and_never_guessed(engine, tmp_path):
    opened, workload = deepseek32(), Workload(context=32768)
    weights = opened.weights()
    with pytest.raises(ModelError, match="indexer"):
        memory.cache_bytes(weights, workload)
    measured = await dry_run.measured_caches(weights, workload, asking(engine, tmp_path, opened, workload))
    known = replace(weights, slot_cache_bytes=measured)
    first, second, head = memory.cache_bytes(known, workload)
    # 512 + 64 compressed and 128 indexed elements a cell, in f16: 44 MiB
    assert first / MIB == pytest.approx((576 + 128) * 2 * 32768 / MIB, abs=1.5)
    assert (second, head) == (first, 0)


@pytest.mark.parametrize("name", ["smollm2-135m:q4_0", "gemma-3-27b:q4_k_m", "llama-3.1-8b:q4_k_m"])
async def test_a_processor_alone_holds_a_tied_embedding_once(engine, tmp_path, name):
    opened, workload = skeletons.find(name), Workload(context=4096, users=4)
    weights = opened.weights()
    ask = asking(engine, tmp_path, opened, workload)
    rows = await dry_run.ask(ask, ask.full, workload, counts=[weights.layers + 1], kinds=["cpu"])
    short = await dry_run.ask(ask, ask.short, workload, counts=[weights.layers + 1], kinds=["cpu"])
    beside = memory.host_bytes(weights, workload, devices=1, alone=True) - memory.logits_bytes(weights, workload)
    compute = memory.compute_bytes(weights, workload, devices=1, position=0)
    held, caches = sum(memory.held_bytes(weights)), sum(memory.cache_bytes(weights, workload))
    engines = sum(rows["Host"][:2]) + short["Host"][2]
    assert (held + caches + compute + beside) / MIB == pytest.approx(engines, rel=0.002, abs=3)


async def confirmed_on_one_card(
    engine: Path, folder: Path, name: str, gib: int, layout: str
) -> tuple[Candidate, Candidate]:
    """(planned, confirmed) for one card of that size and a host with 32 GiB of RAM."""
    opened, workload = skeletons.find(name), Workload(context=8192, users=2)
    weights = opened.weights()
    seen_here = scan(seen("alpha", card("RTX 5090", gib * GIB), cpu()))
    question = Question(
        rig=rig("alpha"), scan=seen_here, weights=weights, workload=workload, tools=Tools(engines={}, ports={})
    )
    planned = make_plan(question).candidate(layout)
    assert planned is not None
    ask = asking(engine, folder, opened, workload)
    return planned, await dry_run.confirm(planned, weights, workload, ask, kinds={})


@pytest.mark.parametrize(
    ("name", "gib", "layout"),
    [
        ("qwen3.6-35b-a3b:q6_k", 16, "alpha-experts-in-ram"),
        ("gpt-oss-120b:mxfp4", 48, "alpha-experts-in-ram"),
        ("llama-3.3-70b:q3_k_m", 24, "alpha-partial-offload"),
        ("gemma-3-27b:q8_0", 20, "alpha-partial-offload"),
    ],
)
async def test_layouts_with_a_part_in_ram_are_confirmed_on_card_and_host(engine, tmp_path, name, gib, layout):
    planned, done = await confirmed_on_one_card(engine, tmp_path, name, gib, layout)
    assert done.fits
    for before, after in zip(planned.devices, done.devices, strict=True):
        assert after.dry_run is not None
        assert (after.weights_bytes, after.kv_bytes) == (before.weights_bytes, before.kv_bytes)
        assert after.total_bytes == pytest.approx(before.total_bytes, rel=0.02)
    assert done.host_dry_run["alpha"].weights_bytes > 0
    assert done.host_bytes["alpha"] == pytest.approx(planned.host_bytes["alpha"], rel=0.02, abs=10 * MIB)
