"""Cards by the names that drivers print. Bandwidths are those of the vendors' pages."""

from __future__ import annotations

import pytest

from evener.plan.card_table import CARDS
from evener.plan.cards import find

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "gb_per_s"),
    [
        ("NVIDIA GeForce RTX 5090", 1792),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 672),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 1792),
        ("NVIDIA RTX A6000", 768),
        ("Tesla P40", 346),
        ("Tesla V100-SXM2-16GB", 900),
        ("NVIDIA A100-SXM4-80GB", 2039),
        ("NVIDIA A100 80GB PCIe", 1935),
        ("NVIDIA H100 80GB HBM3", 3350),
        ("NVIDIA GB10", 273),
        ("AMD Radeon RX 7900 XTX", 960),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960),
        ("AMD Radeon Graphics (RADV GFX1151)", 256),
        ("Radeon 8060S Graphics", 256),
        ("Intel(R) Arc(TM) A770 Graphics", 560),
        ("Apple M3 Ultra", 819),
        ("CPU 2x DDR5-5600", 89.6),
        ("rtx 5060 ti 16 GB", 448),
        ("RTX PRO 6000 96GB", 1792),
    ],
)
def test_card_is_known_by_the_name_that_its_driver_prints(name: str, gb_per_s: float) -> None:
    card = find(name)
    assert card is not None
    assert card.gb_per_s == gb_per_s


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA GeForce RTX 50",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "RTX 5090 D",
        "AMD EPYC 7763",
        "GPU",
        "RTX 6000",
    ],
)
def test_unknown_name_is_no_card_and_never_a_guess(name: str) -> None:
    assert find(name) is None


def test_memory_tells_the_variants_of_a_name_apart() -> None:
    def width(name: str, gib: float) -> float | None:
        card = find(name, memory_bytes=round(gib * GIB))
        return card.gb_per_s if card else None

    assert (width("NVIDIA GeForce RTX 3080", 9.8), width("NVIDIA GeForce RTX 3080", 11.76)) == (760, 912)
    assert (width("Apple M4 Max", 27), width("Apple M4 Max", 96)) == (410, 546)


def test_size_in_the_name_tells_variants_apart() -> None:
    assert [card.gb_per_s for card in map(find, ("RTX 3080 10GB", "RTX 3080 12 GB", "Apple M3 Max 96GB")) if card] == [
        760, 912, 300,
    ]  # fmt: skip


def test_variants_that_nobody_can_tell_apart_are_unknown() -> None:
    assert find("RTX 3080") is None
    assert find("Apple M3 Max", memory_bytes=96 * GIB) is None  # all of one variant, or what another offers


def test_variants_that_differ_in_memory_alone_are_one_card_of_unknown_memory() -> None:
    card = find("NVIDIA GeForce RTX 5060 Ti")
    assert card is not None
    assert (card.gb_per_s, card.memory_gib) == (448, None)
    sized = find("NVIDIA GeForce RTX 5060 Ti", memory_bytes=16311 << 20)
    assert sized is not None
    assert sized.memory_gib == 16


def test_every_card_is_found_under_each_of_its_names() -> None:
    for card in CARDS:
        for name in (card.name, *card.also):
            found = find(name, memory_bytes=int(card.memory_gib * GIB * 0.75) if card.family == "metal" else None)
            found = (
                found
                or find(name, memory_bytes=round((card.memory_gib or 0) * GIB))
                or find(f"{name} {card.memory_gib}GB")
            )
            assert found is not None, name
            assert card.source
