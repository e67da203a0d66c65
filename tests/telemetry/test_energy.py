"""Energy and its price, worked out by hand."""

from __future__ import annotations

import pytest

from evener.records.telemetry import CardWatched, HostWatched
from evener.telemetry.energy import energy, joules


def card(host: str, name: str, joules: float | None, *, covered_s: float = 100.0) -> CardWatched:
    return CardWatched(host=host, card=name, name=name, energy_j=joules, covered_s=covered_s)


def host(name: str, *cards: CardWatched, machine: str | None = None) -> HostWatched:
    return HostWatched(host=name, samples=1, cards=cards, machine=machine)


def test_a_trapezoid_over_even_and_uneven_steps() -> None:
    assert joules([(0, 100), (1, 200), (3, 300)], longest_step_s=3.5) == (650.0, 3)  # 150 + 2 x 250


def test_a_gap_is_left_out_and_not_filled_in() -> None:
    assert joules([(0, 100), (1, 100), (61, 100), (62, 100)], longest_step_s=3.5) == (200.0, 2)


def test_one_sample_is_no_energy() -> None:
    assert joules([(0, 100)], longest_step_s=3.5) == (None, 0.0)


def test_energy_per_thousand_tokens_and_its_price() -> None:
    hosts = [host("alpha", card("alpha", "RTX 5090", 30_000.0)), host("beta", card("beta", "RTX 5080", 15_000.0))]
    found = energy(hosts, seconds=100.0, tokens=9000, kwh_price=0.36, currency="EUR")
    assert found
    assert (found.joules, found.joules_per_1000_tokens, found.currency) == (45_000.0, 5000.0, "EUR")
    assert found.cost_per_1000_tokens == pytest.approx(0.0005)  # 5 kJ of 3600 kJ at 0.36
    assert found.cards == ("alpha/RTX 5090", "beta/RTX 5080")


def test_without_a_price_there_is_no_cost_and_without_tokens_no_share() -> None:
    hosts = [host("alpha", card("alpha", "RTX 5090", 30_000.0))]
    found = energy(hosts, seconds=100.0, tokens=None)
    assert found
    assert (found.joules, found.joules_per_1000_tokens, found.cost_per_1000_tokens) == (30_000.0, None, None)
    assert found.currency is None


def test_cards_and_hosts_without_power_are_named() -> None:
    hosts = [host("alpha", card("alpha", "RTX 5090", 1.0), card("alpha", "CPU", None)), host("windows-box")]
    found = energy(hosts, seconds=100.0)
    assert found
    assert found.without == ("alpha/CPU", "windows-box")


def test_where_no_card_says_what_it_draws_there_is_no_energy() -> None:
    assert energy([host("alpha", card("alpha", "CPU", None))], seconds=100.0) is None


def test_a_card_seen_for_a_part_of_the_time_leaves_no_sum() -> None:
    hosts = [host("alpha", card("alpha", "RTX 5090", 1.0, covered_s=94.0))]
    found = energy(hosts, seconds=100.0, tokens=10)
    assert found
    assert (found.joules, found.joules_per_1000_tokens) == (None, None)
    assert found.why == "alpha/RTX 5090 was seen for 94 of 100 s"


def test_a_machine_with_two_names_draws_its_power_once() -> None:
    hosts = [
        host("alpha", card("alpha", "CPU", 500.0), machine="boot@box"),
        host("beta", card("beta", "CPU", 500.0), machine="boot@box"),
    ]
    found = energy(hosts, seconds=100.0)
    assert found
    assert found.joules == 500.0
