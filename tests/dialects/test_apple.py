"""What a Mac prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import apple
from evener.dialects.proc import Memory

CAPTURES = Path(__file__).parents[1] / "captures" / "apple"
GIB = 1 << 30
PROFILE = (CAPTURES / "m2_ultra_hardware.json").read_text()
SYSCTL = (CAPTURES / "sysctl.txt").read_text()
VM_STAT = (CAPTURES / "vm_stat.txt").read_text()


def test_an_apple_chip_has_one_gpu_with_its_cores() -> None:
    assert apple.gpus(PROFILE) == (apple.Gpu(name="Apple M2 Ultra", cores=60),)


def test_an_intel_macs_graphics_are_none_of_ours() -> None:
    assert apple.gpus((CAPTURES / "intel_mac_displays.json").read_text()) == ()


def test_memory_is_all_of_it_and_what_can_be_had_without_swapping() -> None:
    memory = apple.memory(apple.facts(SYSCTL), VM_STAT, PROFILE)
    assert memory == Memory(total_bytes=64 * GIB, available_bytes=(4753 + 345335 + 7127) * 16384)


def test_a_vm_stat_that_is_cut_short_tells_nothing() -> None:
    short = "\n".join(VM_STAT.splitlines()[:2])
    assert apple.memory(apple.facts(SYSCTL), short, PROFILE).available_bytes is None


def test_without_sysctl_the_profile_knows_the_memory() -> None:
    assert apple.memory({}, "", PROFILE) == Memory(total_bytes=64 * GIB, available_bytes=None)
    assert apple.cpu({}, PROFILE).model == "Apple M2 Ultra"


def test_the_processor_is_named_with_its_cores() -> None:
    cpu = apple.cpu(apple.facts(SYSCTL), PROFILE)
    assert (cpu.model, cpu.cores, cpu.threads) == ("Apple M2 Ultra", 24, 24)


@pytest.mark.parametrize(
    ("total_gib", "room_mib"), [(16, 10922), (24, 16384), (64, 49152)]
)  # public reports: 11456, 18186, 49152
def test_the_working_set_is_assumed_below_what_macs_report(total_gib: int, room_mib: int) -> None:
    room = apple.working_set({}, total_gib * GIB)
    assert (room.bytes >> 20, room.assumed) == (room_mib, True)


def test_the_owners_limit_is_no_assumption() -> None:
    room = apple.working_set({"iogpu.wired_limit_mb": "57344"}, 64 * GIB)
    assert (room.bytes >> 20, room.assumed) == (57344, False)


@pytest.mark.parametrize("said", ["", "{}", "[]", '{"SPDisplaysDataType": 3}', "no json"])
def test_what_is_no_profile_names_nothing(said: str) -> None:
    assert apple.gpus(said) == ()
    assert apple.memory({}, "Pages free: 12.", said) == Memory(total_bytes=None, available_bytes=None)
