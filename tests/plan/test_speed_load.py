"""Load times: a link's, a hash's, a disk's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.plan.links import PRESETS
from evener.plan.speed_load import held_bytes, load_seconds

from .speed_models import GB, gpt_oss, likely, llama_70b, placed, qwen_35b_a3b


def test_published_load_over_1gbe_is_inside_and_a_warm_cache_saves_the_network() -> None:
    """32B with one worker: 103.8 s cold and 25.0 s warm. The worker held about 12 GB of it: 103.8 s at 0.94 Gbit/s."""
    stages = placed(("beta", "RTX 3060", 40), ("alpha", "RTX 3060", 41), link=PRESETS["1gbe"])
    weights = llama_70b(24.4 * GB)
    cold, warm = (load_seconds(stages, weights, cached=c) for c in ((), ("beta:50052",)))
    assert likely(cold) == pytest.approx(103.8, rel=0.15)
    assert warm.low <= 25.0 <= warm.high
    assert likely(cold) - likely(warm) == pytest.approx(12e9 / (0.94e9 / 8) - 12e9 / 0.6e9, rel=0.05)


def test_slow_link_is_the_load_time() -> None:
    """70 B at 100 Mbit/s takes half an hour and more."""
    stages = placed(("beta", "RTX 5090", 40), ("alpha", "RTX 5090", 41), link=PRESETS["100mbit"])
    assert 1700 < likely(load_seconds(stages, llama_70b(42.5 * GB))) < 2000


def test_local_card_waits_for_the_disk_alone() -> None:
    alone = load_seconds(placed(("alpha", "RTX 5090", 81)), llama_70b(20 * GB))
    assert likely(alone) == pytest.approx(3 + 20 / 2, rel=0.01)


def test_experts_and_the_rest_make_up_the_whole() -> None:
    (whole,) = placed(("alpha", "RTX 5090", 41))
    parts = [held_bytes(replace(whole, part=p), qwen_35b_a3b()) for p in ("experts", "rest")]  # type: ignore[arg-type]
    assert sum(parts) == held_bytes(whole, qwen_35b_a3b())
    assert parts[0] == 40 * 256 * 3 * 2048 * 512 * 34 // 32


def test_mtp_blocks_keep_their_slots_and_are_not_loaded() -> None:
    weights = gpt_oss(36, 128)
    (stage,) = placed(("alpha", "RTX 5090", 37))
    assert held_bytes(stage, weights) - held_bytes(stage, replace(weights, mtp_layers=1)) == weights.slot_bytes[35]


def test_at_worst_hashing_and_sending_do_not_overlap() -> None:
    """12 GB read at 0.4 GB/s and sent at 0.85 Gbit/s, after ten seconds of starting."""
    stages = placed(("beta", "RTX 3060", 81), link=PRESETS["1gbe"])
    assert load_seconds(stages, llama_70b(12 * GB)).high == pytest.approx(10 + 12 / 0.4 + 12 / (0.85 / 8), rel=0.01)
