"""Predicted speed against what rigs like these were seen to do, and against sums by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.plan.links import PRESETS, UNKNOWN
from evener.plan.speed import BEFORE_GRAPH_REUSE, CURRENT, Build, predict, prompt_seconds
from evener.plan.speed_devices import device_speed
from evener.plan.speed_stage import Stage
from evener.plan.speed_values import NOTHING, exact, value
from evener.records.plan import Predicted, Workload
from evener.records.speed import DeviceSpeed, LinkSpeed

from .speed_models import GB, dense, gpt_oss, likely, llama_70b, placed, qwen_35b_a3b

ONE = Workload()
STRIX = "8060S Graphics"


def said(
    stages: list[Stage], weights: object, workload: Workload = ONE, *, depth: int = 512, **more: object
) -> Predicted:
    return predict(stages, weights, workload, depth=depth, **more)  # type: ignore[arg-type]


def by_memory(slots: tuple[int, ...]) -> list[Stage]:
    cards = (("beta", "RTX 5080"), ("beta", "RTX 5060 Ti"), ("beta", "RTX 5060 Ti"), ("alpha", "RTX 5060 Ti"))
    return placed(*((h, c, n) for (h, c), n in zip((*cards, ("alpha", "RTX 5090")), slots, strict=True)))


def test_moe_that_fits_one_machine_runs_about_half_as_fast_on_two() -> None:
    """Case 2: Qwen3.6-35B-A3B in Q8_0, alpha alone against all five cards."""
    alone = likely(
        said(placed(("alpha", "RTX 5060 Ti", 7), ("alpha", "RTX 5090", 34)), qwen_35b_a3b()).decode_tokens_per_s
    )
    both = said(by_memory((7, 7, 7, 7, 13)), qwen_35b_a3b())
    assert 0.4 <= likely(both.decode_tokens_per_s) / alone <= 0.62
    link_ms = sum(share.ms for share in both.per_token_ms if share.kind == "link")
    assert link_ms * alone / 1e3 > 0.3  # a good part of alpha's whole token


@pytest.mark.parametrize(
    ("gigabytes", "layout", "low", "high"),
    [
        (42.5, "alpha", 15, 19),
        (42.5, "by memory", 10, 12),
        (58, "by memory", 8, 14),
        (58, "fewest slow cards", 8, 14),
        (75, "by memory", 5.5, 8),
    ],
)
def test_dense_70b_on_alpha_and_on_all_cards(gigabytes: float, layout: str, low: float, high: float) -> None:
    """Case 3, a sweep over quantisations."""
    stages = {
        "alpha": placed(("alpha", "RTX 5060 Ti", 26), ("alpha", "RTX 5090", 55)),
        "by memory": by_memory((14, 13, 13, 14, 27)),
        "fewest slow cards": placed(("beta", "RTX 5080", 20), ("alpha", "RTX 5060 Ti", 18), ("alpha", "RTX 5090", 43)),
    }[layout]
    told = said(stages, llama_70b(gigabytes * GB))
    assert low <= likely(told.decode_tokens_per_s) <= high
    link = sum(share.ms for share in told.per_token_ms if share.kind == "link")
    assert link <= 0.05 * sum(share.ms for share in told.per_token_ms)


def test_two_unified_hosts_are_one_machine_for_one_user_and_replicas_for_eight() -> None:
    """Case 7: gpt-oss-120b."""
    alone = placed(("alpha", STRIX, 37))
    split = placed(("beta", STRIX, 18), ("alpha", STRIX, 19))
    weights = gpt_oss(36, 128)
    assert likely(said(alone, weights).decode_tokens_per_s) > likely(said(split, weights).decode_tokens_per_s)
    replicas = 2 * likely(said(alone, weights, replace(ONE, users=4)).users_tokens_per_s)
    assert replicas > likely(said(split, weights, replace(ONE, users=8)).users_tokens_per_s)


@pytest.mark.parametrize(
    ("layers", "experts", "hosts", "measured"),
    [
        (36, 128, 1, 33.50),
        (36, 128, 2, 28.87),
        (36, 128, 3, 23.02),
        (36, 128, 4, 21.61),
        (24, 32, 1, 47),
        (24, 32, 4, 27.95),
    ],
)
def test_one_cost_per_hop_reproduces_one_to_four_equal_hosts(
    layers: int, experts: int, hosts: int, measured: float
) -> None:
    """Case 8: gpt-oss in F16 with MXFP4 experts, on a build that sends the graph with each token."""
    slots = layers + 1
    counts = [slots * (i + 1) // hosts - slots * i // hosts for i in range(hosts)]
    names = [f"host{i}" for i in range(hosts - 1)] + ["alpha"]
    stages = placed(*((name, STRIX, count) for name, count in zip(names, counts, strict=True)), link=UNKNOWN)
    told = said(stages, gpt_oss(layers, experts), depth=64, build=BEFORE_GRAPH_REUSE)
    assert likely(told.decode_tokens_per_s) == pytest.approx(measured, rel=0.15)


def test_logits_make_a_remote_last_device_slower_than_a_remote_first_one() -> None:
    """Case 9: a 1B Q8_0 model with 49 152 tokens over 100 Mbit/s: 197 kB of logits are 16 ms of every token."""
    tiny = dense(layers=22, block_bytes=50e6, head_bytes=107e6, parameters=1.1e9, embedding=2048, vocabulary=49152)
    slow = PRESETS["100mbit"]
    first = said(placed(("beta", "T4", 11), ("alpha", "T1200 Laptop GPU", 12), link=slow), tiny)
    last = said(placed(("alpha", "T1200 Laptop GPU", 11), ("beta", "T4", 12), link=slow), tiny)
    gained = 1e3 / likely(last.decode_tokens_per_s) - 1e3 / likely(first.decode_tokens_per_s)
    assert 12 < gained < 18


def test_shares_of_a_token_add_up_to_its_time() -> None:
    told = said(by_memory((14, 13, 13, 14, 27)), llama_70b(42.5 * GB))
    assert sum(share.ms for share in told.per_token_ms) == pytest.approx(1e3 / likely(told.decode_tokens_per_s))
    assert {share.kind for share in told.per_token_ms} == {"compute", "link", "overhead"}
    assert next(s.where for s in told.per_token_ms if s.kind == "link") == "5gbe to beta/RTX 5080"


def test_unknown_card_gives_no_speed_and_still_a_time_to_load() -> None:
    stages = placed(("alpha", "Mystery 9000", 81))
    told = said(stages, llama_70b(42.5 * GB))
    assert (told.decode_tokens_per_s, told.prefill_tokens_per_s, told.users_tokens_per_s) == (None, None, None)
    assert told.per_token_ms == ()
    assert told.load_s is not None


def test_measured_card_has_a_narrower_interval_than_a_specified_one() -> None:
    specified = placed(("alpha", "RTX 5090", 81))
    rate = DeviceSpeed(source="measured", weights_bytes_per_s=value(1.4e12, 1.38e12, 1.42e12))
    measured = [replace(specified[0], speed=device_speed(None, rate))]
    wide, narrow = (said(s, llama_70b(30 * GB), depth=0).decode_tokens_per_s for s in (specified, measured))
    assert wide is not None
    assert narrow is not None
    assert (narrow.high - narrow.low) / narrow.value < 0.05 < (wide.high - wide.low) / wide.value


def test_several_users_share_the_weights_of_a_dense_model_but_not_the_experts_of_a_sparse_one() -> None:
    stages, eight = placed(("alpha", STRIX, 37)), replace(ONE, users=8)
    sparse, solid = said(stages, gpt_oss(36, 128), eight), said(stages, _like_gpt_oss_but_dense(), eight)
    gain = likely(sparse.users_tokens_per_s) / likely(sparse.decode_tokens_per_s)
    assert 1.5 < gain < likely(solid.users_tokens_per_s) / likely(solid.decode_tokens_per_s)


def _like_gpt_oss_but_dense() -> object:
    return dense(layers=36, block_bytes=100e6, head_bytes=1e9, parameters=5e9, embedding=2880, vocabulary=201088)


# What one device takes for 16 batches of 512 tokens, with and without others: engine-facts F.5, where 0.2 s were added
# to every graph: 3.24 s on one device, 3.54 s on two endpoints, 6.77 s on three, 6.47 s on two devices of one endpoint.
@pytest.mark.parametrize(
    ("endpoints", "measured_s"), [(("a",), 3.24), (("a", "b"), 3.54), (("a", "b", "c"), 6.77), (("a", "a"), 6.47)]
)
def test_prompts_overlap_across_endpoints_as_emulated(endpoints: tuple[str, ...], measured_s: float) -> None:
    free = LinkSpeed(name="free", source="test", gbit_per_s=exact(1e9), rtt_us=NOTHING, hop_us=NOTHING)
    speed = DeviceSpeed(
        source="test", weights_bytes_per_s=exact(1e18), flop_per_s=exact(1e21), graph_us=exact(200_000)
    )  # fmt: skip
    stages = [
        Stage(host=e, card="CPU", speed=speed, start=index, count=1, endpoint=e, link=free)
        for index, e in enumerate(endpoints)
    ]
    small = dense(layers=30, block_bytes=2e6, head_bytes=2e6, parameters=1e8, embedding=576, vocabulary=49152)
    seconds = prompt_seconds(stages, small, Workload(prompt_tokens=16 * 512), depth=0, build=CURRENT)
    assert likely(seconds) == pytest.approx(measured_s, rel=0.05)


def test_whether_cards_beside_each_other_overlap_is_not_known() -> None:
    speed = DeviceSpeed(
        source="test", weights_bytes_per_s=exact(1e18), flop_per_s=exact(1e21), graph_us=exact(200_000)
    )  # fmt: skip
    stages = [Stage(host="alpha", card=f"CUDA{n}", speed=speed, start=n, count=1) for n in range(2)]
    small = dense(layers=30, block_bytes=2e6, head_bytes=2e6, parameters=1e8, embedding=576, vocabulary=49152)

    def seconds(batches: int, build: Build = CURRENT) -> tuple[float, float, float]:
        found = prompt_seconds(stages, small, Workload(prompt_tokens=batches * 512), depth=0, build=build)
        assert found is not None
        return found.value, found.low, found.high

    # In turn 16 x 0.4 s; an assembly line of both 15 x 0.2 s and once 0.4.
    assert seconds(16) == pytest.approx((6.4, 3.4, 6.4), rel=1e-3)
    assert seconds(1) == pytest.approx((0.4, 0.4, 0.4), rel=1e-3)
    assert seconds(16, replace(CURRENT, prompts_overlap=False)) == pytest.approx((6.4, 6.4, 6.4), rel=1e-3)


def test_builds_without_overlap_take_turns_in_prompts() -> None:
    stages = placed(("beta", STRIX, 18), ("alpha", STRIX, 19))
    workload = Workload(prompt_tokens=8192)
    serial = Build(hop_us=CURRENT.hop_us, prompts_overlap=False)
    turns, together = (
        likely(prompt_seconds(stages, gpt_oss(36, 128), workload, depth=0, build=b)) for b in (serial, CURRENT)
    )
    assert 1.6 < turns / together < 2


def test_longer_conversations_are_slower() -> None:
    stages = placed(("alpha", "RTX 5090", 81))
    short, long = (likely(said(stages, llama_70b(30 * GB), depth=d).decode_tokens_per_s) for d in (0, 32768))
    # 80 x 2 x 8 x 128 x 2 bytes for each of 32768 tokens at three quarters of 1792 GB/s are 8.0 ms.
    assert 1e3 / long - 1e3 / short == pytest.approx(8.0, abs=0.1)


def test_measured_hop_replaces_the_builds_own() -> None:
    slow, quick = (replace(UNKNOWN, hop_us=hop) for hop in (exact(9000), exact(0)))
    times = [
        1e3
        / likely(
            said(placed(("beta", STRIX, 18), ("alpha", STRIX, 19), link=link), gpt_oss(36, 128)).decode_tokens_per_s
        )
        for link in (slow, quick)
    ]
    assert times[0] - times[1] == pytest.approx(9.0)


def test_older_builds_multiply_more_slowly() -> None:
    stages = placed(("alpha", STRIX, 81))
    workload = Workload(prompt_tokens=2048)
    older, now = (
        likely(prompt_seconds(stages, llama_70b(40 * GB), workload, depth=0, build=b))
        for b in (BEFORE_GRAPH_REUSE, CURRENT)
    )
    assert older / now == pytest.approx(1 / 0.59, rel=0.05)


def test_warm_caches_are_passed_on_to_the_time_to_load() -> None:
    stages = placed(("beta", STRIX, 40), ("alpha", STRIX, 41))
    cold, warm = (said(stages, llama_70b(40 * GB), cached=c).load_s for c in ((), ("beta:50052",)))
    assert likely(cold) > likely(warm)
