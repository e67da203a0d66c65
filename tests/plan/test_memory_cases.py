"""Published cases: what others measured on their cards, or counted by hand, against what we plan."""

from dataclasses import replace

import pytest

from evener.models import skeletons
from evener.plan import memory
from evener.plan.candidates import make_plan
from evener.plan.commands import Tools
from evener.plan.question import Question
from evener.records.plan import Workload
from tests.rigs import card, rig, scan, seen, weights

GIB, MIB = 1 << 30, 1 << 20


def model(name):
    return skeletons.find(name).weights()


def on_one_card(weights, workload):
    """Weights, caches, compute and driver of a card that holds the whole model."""
    held = sum(memory.held_bytes(weights, kind="cuda")) + sum(memory.cache_bytes(weights, workload))
    compute = memory.compute_bytes(weights, workload, devices=1, position=0)
    return held + compute + memory.OVERHEAD_BYTES["cuda"]


def test_case_15_a_dense_hybrid_takes_what_was_measured_on_the_card():
    workload = Workload(context=65536, kv_type_k="q8_0", kv_type_v="q8_0")
    assert on_one_card(model("qwen3.6-27b:Q4_K_M"), workload) / GIB == pytest.approx(17.6, rel=0.05)


def test_case_16_windows_are_counted_by_their_window():
    cache = memory.cache_bytes(model("gemma-3-27b:Q4_K_M"), Workload(context=131072))
    # 10 of 62 layers keep everything: 131072 cells of 16 heads x (128 + 128) in f16, that is 1 GiB each;
    # 52 keep 1024 tokens and one micro-batch: 1536 cells
    assert sum(cache) == 10 * GIB + 52 * 1536 * 16 * 256 * 2


def test_case_16_heads_are_as_wide_as_the_header_says():
    # 28 layers of 8 heads of 128, not of the 64 that width / heads would give
    cache = memory.cache_bytes(model("qwen3-0.6b:Q8_0"), Workload(context=40960))
    assert sum(cache) == 28 * 40960 * 8 * 256 * 2 == 4480 * MIB


@pytest.mark.parametrize(
    ("people", "context", "kv", "gib"),
    [(12, 32768, "f16", 42), (15, 32768, "f16", 44), (12, 65536, "f16", 50), (12, 65536, "q8_0", 43)],
)
def test_case_21_people_times_context_before_compute_and_driver(people, context, kv, gib):
    weights = model("qwen3.6-35b-a3b:Q8_0")
    workload = Workload(context=context, users=people, kv_type_k=kv, kv_type_v=kv)
    held = sum(memory.held_bytes(weights, kind="cuda")) + sum(memory.cache_bytes(weights, workload))
    assert round(held / GIB) == gib


def test_a_hybrid_keeps_62_8_mib_for_each_sequence():
    weights = model("qwen3.6-35b-a3b:Q8_0")
    states = sum(weights.recurrent_bytes_per_sequence)
    assert states / MIB == pytest.approx(62.8, abs=0.05)
    one, four = (sum(memory.cache_bytes(weights, Workload(context=256, users=n))) for n in (1, 4))
    assert four - one == 3 * (states + 10 * 256 * 2 * 512 * 2)


def test_a_cache_that_rpc_cannot_address_is_a_warning_where_a_worker_holds_it():
    """Two KV heads of 8192 elements: 262144 tokens of one layer are 8 GiB of keys."""
    shape = replace(weights().attention, kv_heads=(2, 2), key_length=8192, value_length=8192, window=(None, None))
    model = weights(blocks=2, attention=shape, context_train=1 << 20)
    hosts = (seen("alpha", card("RTX 5090", 24 * GIB)), seen("beta", card("RTX 5090", 24 * GIB)))
    asked = Question(
        rig=rig("alpha", "beta"), scan=scan(*hosts), weights=model, workload=Workload(context=262144),
        tools=Tools(engines={}, ports={}),
    )  # fmt: skip
    cluster = make_plan(asked, layout="cluster").candidate("cluster")
    assert cluster is not None
    assert any("takes 8.0 GiB and RPC counts it in 32 bits" in line for line in cluster.warnings)
