"""A card's speed from its specification, and what a measurement replaces of it."""

from __future__ import annotations

import pytest

from evener.plan.cards import find
from evener.plan.speed_devices import REACH, catalogue_speed, device_speed
from evener.plan.speed_values import value
from evener.records.speed import DeviceSpeed

from .speed_models import likely


def test_card_reaches_a_share_of_its_bandwidth_and_of_its_integer_rate() -> None:
    card = find("RTX 5080")
    assert card is not None
    speed = catalogue_speed(card)
    assert likely(speed.weights_bytes_per_s) == pytest.approx(0.76 * 960e9)
    assert likely(speed.flop_per_s) == pytest.approx(0.29 * 450.2e12)
    assert likely(speed.attention_flop_per_s) == pytest.approx(0.30 * 225.1e12)
    assert "RTX 5080" in speed.source


def test_card_without_usable_fp16_attends_at_a_quarter_of_its_integer_rate() -> None:
    card = find("Tesla P40")
    assert card is not None
    assert likely(catalogue_speed(card).attention_flop_per_s) == pytest.approx(0.30 * 47e12 / 4)


def test_measurement_replaces_what_it_measured_and_the_catalogue_keeps_the_rest() -> None:
    card = find("RTX 5080")
    assert card is not None
    measured = DeviceSpeed(source="measured", n=5, weights_bytes_per_s=value(700e9, 690e9, 710e9))
    speed = device_speed(card, measured)
    assert speed is not None
    assert (speed.source, speed.n, likely(speed.weights_bytes_per_s)) == ("measured", 5, 700e9)
    assert likely(speed.cache_bytes_per_s) == pytest.approx(0.7 * 700e9)  # follows from what was measured
    assert speed.layer_us == REACH["cuda"].layer_us
    assert likely(speed.flop_per_s) == pytest.approx(0.29 * 450.2e12)


def test_nothing_known_is_nothing() -> None:
    assert device_speed(None) is None


def test_every_family_says_a_value_within_its_interval() -> None:
    for reach in REACH.values():
        for figure in (reach.weights, reach.cache, reach.multiply, reach.attend, reach.layer_us, reach.graph_us):
            assert figure.low < figure.value < figure.high
