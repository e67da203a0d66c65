"""Cards and the engine's devices, matched where they can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evener.dialects import amd, llama_build
from evener.records.capability import EngineDevice
from evener.records.card import Card, EngineSeen
from evener.scan.names import disagreements, name_devices, only_listed, same_name
from tests import case_one

CAPTURES = Path(__file__).parents[1] / "captures"
MIB = 1 << 20


def engine(*listed: tuple[str, str, int, int]) -> EngineSeen:
    devices = tuple(
        EngineDevice(name=name, description=said, total_bytes=total * MIB, free_bytes=free * MIB)
        for name, said, total, free in listed
    )
    return replace(case_one.engine(*(d.name for d in devices)), listed=devices)


def card(name: str, bus_id: str | None = None, *, kind: str = "rocm") -> Card:
    return Card(id=bus_id or name, kind=kind, name=name, bus_id=bus_id)  # type: ignore[arg-type]


R9700 = ("ROCm0", "AMD Radeon AI PRO R9700", 32624, 32462)
GRAPHICS = ("ROCm1", "AMD Radeon(TM) Graphics", 25706, 25555)


def test_rocm_counts_by_bus_id() -> None:
    two = [card("Radeon RX 7900 XT", "0000:0A:00.0"), card("Radeon RX 7900 XT", "0000:03:00.0")]
    listed = engine(("ROCm0", "AMD Radeon RX 7900 XT", 20464, 20000), ("ROCm1", "AMD Radeon RX 7900 XT", 20464, 20000))
    assert [(c.bus_id, c.device) for c in name_devices(two, listed)] == [
        ("0000:03:00.0", "ROCm0"),
        ("0000:0A:00.0", "ROCm1"),
    ]


def test_where_rocm_leaves_a_card_out_the_names_decide() -> None:
    cards = [card("Raphael", "0000:01:00.0"), card("AMD Radeon AI PRO R9700", "0000:03:00.0")]
    named = name_devices(cards, engine(R9700))
    assert {c.name: c.device for c in named} == {"AMD Radeon AI PRO R9700": "ROCm0", "Raphael": None}


def test_two_cards_of_one_name_behind_vulkan_are_not_told_apart() -> None:
    two = [card("Radeon RX 7900 XT", "0000:03:00.0"), card("Radeon RX 7900 XT", "0000:0A:00.0")]
    listed = engine(
        ("Vulkan0", "AMD Radeon RX 7900 XT (RADV NAVI31)", 20464, 1), ("Vulkan1", "AMD Radeon RX 7900 XT", 20464, 1)
    )
    named = name_devices(two, listed)
    assert [c.device for c in named] == [None, None]
    assert disagreements(named, listed) == (
        "Radeon RX 7900 XT may be Vulkan0 or Vulkan1: cards of one name are not told apart",
    )


def test_a_name_that_only_one_card_and_one_device_bear_is_a_match() -> None:
    cards = [card("Radeon RX 7900 XT", "0000:03:00.0"), card("Radeon RX 7900 XTX", "0000:0A:00.0")]
    listed = engine(
        ("Vulkan0", "AMD Radeon RX 7900 XTX (RADV NAVI31)", 24560, 1),
        ("Vulkan1", "AMD Radeon RX 7900 XT (RADV NAVI31)", 20464, 1),
    )
    assert {c.name: c.device for c in name_devices(cards, listed)} == {
        "Radeon RX 7900 XT": "Vulkan1",
        "Radeon RX 7900 XTX": "Vulkan0",
    }


def test_a_drivers_list_of_models_is_met_by_one_of_them() -> None:
    (first, _) = amd.parse_rocm((CAPTURES / "amd" / "rx6800_raphael.csv").read_text())
    assert same_name("AMD Radeon RX 6800 XT (RADV NAVI21)", first.card.name)
    assert not same_name("AMD Radeon RX 6700 XT (RADV NAVI22)", first.card.name)
    assert not same_name("AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)", first.card.name)


@pytest.mark.parametrize("backends", [("CUDA0", "Vulkan0"), ("Vulkan0", "CUDA0")])
def test_a_card_behind_two_backends_is_one_card(backends: tuple[str, str]) -> None:
    nvidia = [card("NVIDIA GeForce RTX 3080 Ti", "0000:01:00.0", kind="cuda")]
    listed = engine(*((name, "NVIDIA GeForce RTX 3080 Ti", 11909, 11650) for name in backends))
    (named,) = name_devices(nvidia, listed)
    assert named.device == "CUDA0"
    assert only_listed([named], listed) == ()
    assert disagreements([named], listed) == ()


def test_intels_cards_are_what_the_engine_lists_beside_other_makers_cards() -> None:
    listed = replace(
        case_one.engine(),
        listed=llama_build.devices((CAPTURES / "llama" / "list_devices_others.txt").read_text()),
    )
    nvidia = replace(card("NVIDIA GeForce RTX 5090", "0000:01:00.0", kind="cuda"), device="CUDA0")
    arc, graphics = only_listed([nvidia], listed)
    assert (arc.kind, arc.name, arc.device, arc.integrated) == (
        "sycl", "Intel(R) Arc(TM) B580 Graphics", "SYCL0", False
    )  # fmt: skip
    assert (graphics.device, graphics.integrated) == ("SYCL1", True)
    assert (arc.total_bytes, arc.free_bytes) == (12216 * MIB, 11959 * MIB)


def test_where_no_drivers_tool_names_a_card_the_engine_does() -> None:
    listed = engine(("Vulkan0", "AMD Radeon RX 7600 (RADV NAVI33)", 8192, 2343), GRAPHICS)
    assert [(c.id, c.kind, c.integrated) for c in only_listed([], listed)] == [
        ("Vulkan0", "vulkan", False),
        ("ROCm1", "rocm", True),
    ]


def test_a_processor_that_plays_a_gpu_is_no_card() -> None:
    assert only_listed([], engine(("Vulkan1", "llvmpipe (LLVM 17.0.6, 256 bits)", 32000, 32000))) == ()


def test_without_an_engine_one_for_each_card_is_assumed() -> None:
    cards = [card("A", "0000:03:00.0"), card("B", "0000:01:00.0", kind="cuda"), card("C", "0000:02:00.0")]
    assert {c.name: c.device for c in name_devices(cards, None)} == {"A": "ROCm1", "B": "CUDA0", "C": "ROCm0"}
