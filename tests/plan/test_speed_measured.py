"""From llama-bench to a device's speed: a captured run, two models solved by hand, and the real engine."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evener.dialects.llama_bench import rows
from evener.plan.cards import find
from evener.plan.speed import predict
from evener.plan.speed_devices import catalogue_speed, device_speed
from evener.plan.speed_measured import device_speed_of, spread
from evener.plan.speed_stage import Stage
from evener.records.plan import Workload
from evener.records.speed import BenchRow
from evener.records.weights import Weights

from .speed_models import dense, likely, smollm2

CAPTURED = rows((Path(__file__).parent.parent / "captures/llama/bench_smollm2_cpu.json").read_text(encoding="utf-8"))
NAME = CAPTURED[0].model


def row(model: str, tokens_per_s: float, **more: object) -> BenchRow:
    return replace(CAPTURED[1], model=model, tokens_per_s=(tokens_per_s,), **more)  # type: ignore[arg-type]


def sized(total_bytes: float) -> Weights:
    return dense(
        layers=10, block_bytes=total_bytes / 10, head_bytes=0, parameters=1e9, embedding=1, vocabulary=1, kv_heads=0
    )


def test_captured_run_gives_this_processors_rates_with_their_number_and_spread() -> None:
    """96.6 MB in 5.68 ms are 17 GB/s; 268 tokens/s x 2 x 106 million are 57 GFLOP/s."""
    speed = device_speed_of(CAPTURED, {NAME: smollm2()})
    assert speed is not None
    assert likely(speed.weights_bytes_per_s) == pytest.approx(17e9, rel=0.02)
    assert likely(speed.flop_per_s) == pytest.approx(57e9, rel=0.03)
    assert (speed.n, speed.taken_at) == (10, CAPTURED[1].taken_at)


def test_what_was_measured_is_predicted() -> None:
    speed = device_speed(None, device_speed_of(CAPTURED, {NAME: smollm2()}))
    stage = Stage(host="here", card="CPU", speed=speed, start=0, count=31)
    told = predict([stage], smollm2(), Workload(prompt_tokens=128), depth=16)
    assert likely(told.decode_tokens_per_s) == pytest.approx(176, rel=0.01)
    assert likely(told.prefill_tokens_per_s) == pytest.approx(268.5, rel=0.03)


def test_two_models_tell_rate_and_fixed_cost_apart() -> None:
    """1 GB in 3 ms and 4 GB in 6 ms: a millisecond per GB, and 2 ms or 200 us for each of ten blocks."""
    models = {"small": sized(1e9), "large": sized(4e9)}
    speed = device_speed_of([row("small", 1 / 0.003), row("large", 1 / 0.006)], models)
    assert speed is not None
    assert likely(speed.weights_bytes_per_s) == pytest.approx(1e12, rel=0.01)
    assert likely(speed.layer_us) == pytest.approx(200, rel=0.01)


def test_model_too_small_for_a_card_says_nothing_of_its_rate() -> None:
    """SmolLM2 on a 5090: 1.0 ms a token, of which 0.91 are the catalogue's fixed costs."""
    card = find("RTX 5090")
    assert card is not None
    assert device_speed_of([row(NAME, 1000)], {NAME: smollm2()}, fixed=catalogue_speed(card)) is None


def test_one_model_large_enough_has_the_fixed_costs_of_the_catalogue_taken_off() -> None:
    card = find("RTX 5090")
    assert card is not None
    fixed = catalogue_speed(card)
    speed = device_speed_of([row("m", 100)], {"m": sized(13e9)}, fixed=fixed)
    assert speed is not None
    assert likely(speed.weights_bytes_per_s) == pytest.approx(13e9 / (0.010 - 0.00025 - 10 * 22e-6), rel=0.001)
    assert speed.layer_us == fixed.layer_us


def test_rows_of_unknown_models_and_at_depth_are_passed_over() -> None:
    assert device_speed_of([row("other", 50), row("m", 50, depth=4096)], {"m": sized(1e9)}) is None


def test_spread_is_never_narrower_than_another_day() -> None:
    steady, noisy = spread([100.0, 100.0, 100.0]), spread([90.0, 100.0, 120.0])
    assert (steady.low, steady.high) == (97, 103)
    assert (noisy.low, noisy.value, noisy.high) == (90, 100, 120)


def test_times_that_contradict_their_sizes_fall_back_to_one_model() -> None:
    """4 GB in less time than 1 GB: noise. The larger one alone is 4 GB in 5 ms."""
    models = {"small": sized(1e9), "large": sized(4e9)}
    speed = device_speed_of([row("small", 1 / 0.006), row("large", 1 / 0.005)], models)
    assert speed is not None
    assert likely(speed.weights_bytes_per_s) == pytest.approx(4e9 / 0.005, rel=0.001)
    assert speed.layer_us is None


def test_cache_that_the_run_itself_read_is_counted() -> None:
    """512 tokens: on average 256 cells of 30 x 2 x 3 x 64 x 2 bytes, 5.9 MB, at 0.7 of the rate."""
    long, short = (device_speed_of([row(NAME, 100, output_tokens=n)], {NAME: smollm2()}) for n in (512, 1))
    assert long is not None
    assert short is not None
    more = likely(long.weights_bytes_per_s) - likely(short.weights_bytes_per_s)
    assert more == pytest.approx(100 * 256 * 30 * 2 * 3 * 64 * 2 / 0.7, rel=0.001)


@pytest.mark.engine
def test_real_run_on_this_processor_is_understood(engine: Path, model: Path) -> None:
    command = [engine / "llama-bench", "-m", model, "-t", "1", "-p", "32", "-n", "8", "-r", "2", "-o", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = rows(ran.stdout)
    speed = device_speed_of(found, {model.name: smollm2()})
    assert speed is not None
    assert speed.n == 4
    assert 1e9 < likely(speed.weights_bytes_per_s) < 1e12
    assert 1e9 < likely(speed.flop_per_s) < 1e13
