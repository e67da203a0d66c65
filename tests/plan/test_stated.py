"""Cards that need not exist: what the catalogue gives them, and how a name that it does not settle is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError
from evener.plan.stated import (
    joined_by,
    known_card,
    ram_speeds,
    several,
    shown_bytes,
    stated_host,
    with_catalogue_cards,
)
from evener.records.card import HostSeen
from evener.records.rig import Host, Rig, StatedCard
from tests import rigs

MIB, GIB = 1 << 20, 1 << 30


def host(*models: str, reserve_mib: int = 0) -> Host:
    stated = tuple(StatedCard(model=model) for model in models)
    return Host(name="beta", connection="stated", stated=stated, reserve_bytes=reserve_mib * MIB)


@pytest.mark.parametrize(
    ("name", "driver_shows_mib"),
    [("RTX 5090", 32607), ("RTX 5080", 16303), ("RTX 5060 Ti 16GB", 16311), ("RTX PRO 6000 96GB", 97887)],
)
def test_a_card_offers_what_its_driver_would_show(name: str, driver_shows_mib: int) -> None:
    assert shown_bytes(known_card(name)) == pytest.approx(driver_shows_mib * MIB, rel=0.002)


def test_equal_cards_are_numbered_and_the_reserve_stays_free() -> None:
    cards = stated_host(host("RTX 5080", "RTX 5060 Ti 16GB", "RTX 5060 Ti 16GB", reserve_mib=512)).cards
    assert [card.device for card in cards] == ["CUDA0", "CUDA1", "CUDA2"]
    assert len({card.id for card in cards}) == 3
    assert [(card.free_bytes or 0) - (card.offered_bytes or 0) for card in cards] == [512 * MIB] * 3


def test_kinds_are_numbered_apart() -> None:
    cards = stated_host(host("RX 7900 XTX", "RTX 5090", "A770")).cards
    assert [(card.kind, card.device) for card in cards] == [("rocm", "ROCm0"), ("cuda", "CUDA0"), ("sycl", "SYCL0")]


def test_a_mac_keeps_a_quarter_of_its_memory_for_itself() -> None:
    assert shown_bytes(known_card("M4 Max 128GB")) == 96 << 30


def test_the_ram_of_a_stated_host_is_unknown_and_said_to_be_unchecked() -> None:
    seen = stated_host(host("RTX 5090"))
    assert seen.memory_available_bytes is None
    assert "its RAM is not checked" in (seen.fault or "")


def test_an_unknown_card_takes_no_part_and_the_fault_names_what_comes_near() -> None:
    seen = stated_host(host("RTX 5099", "RTX 5090"))
    assert [card.device for card in seen.cards] == [None, "CUDA0"]
    assert (seen.fault or "").startswith('no card called "RTX 5099" in the catalogue; did you mean RTX 5090')


def test_a_name_that_comes_with_different_memory_must_say_which() -> None:
    with pytest.raises(ConfigurationError) as told:
        known_card("RTX 5060 Ti")
    assert told.value.hint == "did you mean RTX 5060 Ti 8GB or RTX 5060 Ti 16GB?"


def test_a_size_that_a_card_does_not_come_with_is_no_other_card() -> None:
    with pytest.raises(ConfigurationError, match='the catalogue has no "RTX 5090 24GB"'):
        known_card("RTX 5090 24GB")


def test_main_memory_is_no_card_of_a_stated_host() -> None:
    with pytest.raises(ConfigurationError, match="is main memory"):
        known_card("CPU 2x DDR5-6000")


def test_only_stated_hosts_are_filled_in() -> None:
    real = rigs.seen("alpha", rigs.card("RTX 5090", 5))
    empty = HostSeen(name="beta", connection="stated", cards=())
    rig = Rig(hosts=(Host(name="alpha", connection="local"), host("RTX 5080")))
    found = with_catalogue_cards(rig, rigs.scan(real, empty))
    assert found.host("alpha") is real


def test_several_cards_are_listed_with_commas_and_times() -> None:
    assert several("RTX 5090, 2x RTX 5060 Ti 16GB", what="--add") == (
        "RTX 5090",
        "RTX 5060 Ti 16GB",
        "RTX 5060 Ti 16GB",
    )


def test_a_card_that_joins_real_ones_is_numbered_after_them() -> None:
    seen = rigs.seen("alpha", rigs.card("RTX 5090", 5), rigs.cpu())
    joined = joined_by(seen, ["RTX 5080"])
    assert [card.device for card in joined.cards] == ["CUDA0", "CPU", "CUDA1"]


def test_ram_that_is_stated_is_a_cpu_card_and_a_system_keeps_some_of_it() -> None:
    seen = stated_host(replace(host("RTX 5090"), ram_bytes=64 * GIB, ram_gb_per_s=89.6))
    assert [(card.kind, card.device, card.offered_bytes) for card in seen.cards][1:] == [("cpu", "CPU", 60 * GIB)]
    assert (seen.memory_total_bytes, seen.memory_available_bytes) == (64 * GIB, 60 * GIB)
    assert (seen.fault or "").endswith("its RAM is as stated")


def test_where_no_card_is_known_stated_ram_makes_no_machine() -> None:
    seen = stated_host(replace(host("RTX 5099"), ram_bytes=64 * GIB))
    assert [card.device for card in seen.cards] == [None]


def test_stated_ram_is_read_at_what_processors_reach_of_what_it_carries() -> None:
    """89.6 GB/s are two channels of DDR5-5600; a processor reads half to nine tenths of it."""
    rig = Rig(
        hosts=(
            replace(host("RTX 5090"), ram_bytes=64 * GIB, ram_gb_per_s=89.6),
            replace(host("RTX 5080"), name="gamma"),
        )
    )
    speeds = ram_speeds(rig)
    assert [*speeds] == [("beta", "cpu")]
    rate = speeds["beta", "cpu"].weights_bytes_per_s
    assert rate is not None
    assert (rate.low, rate.value, rate.high) == pytest.approx((44.8e9, 67.2e9, 80.64e9))
    assert speeds["beta", "cpu"].flop_per_s is None


def test_ram_of_unstated_speed_is_a_pcs_widely() -> None:
    speed = ram_speeds(Rig(hosts=(replace(host("RTX 5090"), ram_bytes=64 * GIB),)))["beta", "cpu"]
    rate = speed.weights_bytes_per_s
    assert rate is not None
    # half of two channels of DDR4-3200, nine tenths of two of DDR5-6400
    assert (rate.low, rate.high) == pytest.approx((25.6e9, 92.16e9))
    assert speed.source.startswith("assumed")
