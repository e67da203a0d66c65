"""AMD's tools, old and new, read from what they really print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evener.dialects import amd
from evener.dialects.amd import Pools

CAPTURES = Path(__file__).parents[1] / "captures" / "amd"
MIB = 1 << 20


def text(name: str) -> str:
    return (CAPTURES / name).read_text()


@pytest.mark.parametrize("name", ["rx7900xt.csv", "rx7900xt.json"])
def test_csv_and_json_say_the_same_of_a_card(name: str) -> None:
    (one,) = amd.parse_rocm(text(name))
    assert (one.card.id, one.card.name, one.card.kind) == ("card0", "Radeon RX 7900 XT", "rocm")
    assert (one.card.total_bytes, one.card.used_bytes) == (21458059264, 27856896)
    assert one.card.free_bytes == 21458059264 - 27856896
    assert (one.card.compute_capability, one.card.integrated, one.kfd) == ("gfx1100", False, "26967")


def test_an_integrated_gpu_that_is_listed_as_a_card_is_recognised() -> None:
    cards = [one.card for one in amd.parse_rocm(text("rx6800_raphael.csv"))]
    assert [(c.name, c.integrated) for c in cards] == [
        ("Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]", False),
        ("Raphael", True),
    ]
    assert [c.uuid for c in cards] == ["0x0000000000000001", None]


def test_an_apu_has_two_pools_and_an_id_by_its_bus() -> None:
    (one,) = amd.parse_rocm(text("strix_halo.json"))
    assert one.pools == Pools(vram_total=51539607552, vram_used=163110912, gtt_total=38654705664, gtt_used=14757888)
    assert (one.card.id, one.card.uuid, one.card.name) == ("0000:C5:00.0", None, "AMD gfx1151")
    assert (one.card.integrated, one.card.temperature_c, one.card.driver) == (True, 27.0, "6.12.88+deb13-amd64")


def test_a_row_without_memory_is_a_card_whose_memory_is_unknown() -> None:
    (one,) = amd.parse_rocm(text("radeon_780m.json"))
    assert (one.card.name, one.card.total_bytes, one.card.free_bytes) == ("Phoenix3", None, None)


def test_amd_smi_says_mb_and_means_mib() -> None:
    (one,) = amd.parse_amd(text("mi300x_static.json"), "")
    assert (one.card.name, one.card.bus_id, one.card.driver) == ("AMD Instinct MI300X", "0000:83:00.0", "6.19.14")
    assert (one.card.total_bytes, one.card.free_bytes) == (196592 * MIB, None)


def test_amd_smis_documents_are_put_together_by_gpu() -> None:
    listing = json.dumps([{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "00ff0000-0001", "kfd_id": 45534, "node_id": 1}])
    (one,) = amd.parse_amd(text("mi210_static.json"), text("two_gpus_metric.json"), listing)
    assert (one.card.id, one.card.bus_id, one.kfd) == ("00ff0000-0001", "0000:03:00.0", "45534")
    assert (one.card.total_bytes, one.card.used_bytes) == (30576 * MIB, 20450 * MIB)
    assert (one.pools.gtt_total, one.pools.gtt_used) == (32023 * MIB, 1162 * MIB)
    assert (one.card.temperature_c, one.card.power_limit_asked_w) == (54.0, 300.0)


def test_a_driver_version_that_is_a_kernel_banner_is_cut() -> None:
    (one,) = amd.parse_amd(text("mi210_static.json"), "")
    assert one.card.driver == "Linuxversion6.14.0-24-generic(buildd@lc…"


def test_warnings_before_the_document_are_passed_over() -> None:
    warned = "User is missing the following required groups: render\n\n" + text("mi300x_static.json")
    assert len(amd.parse_amd(warned, "")) == 1
    assert len(amd.parse_rocm("WARNING: AMD GPU device(s) is/are in a low-power state\n" + text("rx7900xt.csv"))) == 1


@pytest.mark.parametrize("said", ["", "N/A", "{", "[]", '{"gpu_data": "N/A"}', '{"gpu_data": [{"gpu": "N/A"}, 3]}'])
def test_what_is_no_document_holds_no_card(said: str) -> None:
    assert amd.parse_amd(said, said, said) == ()
    assert amd.parse_rocm(said) == ()


def test_tables_that_are_not_available_leave_a_card_unknown() -> None:
    said = '{"gpu_data": [{"gpu": 2, "asic": "N/A", "bus": "N/A", "vram": {"size": "N/A"}, "driver": "N/A"}]}'
    (one,) = amd.parse_amd(said, "")
    assert (one.card.id, one.card.name, one.card.total_bytes) == ("card2", "AMD GPU", None)


def test_the_kernel_counts_memory_by_process_and_gpu() -> None:
    said = "/sys/class/kfd/kfd/proc/7049/vram_64506:415301632\n/sys/class/kfd/kfd/proc/7050/vram_64506:0\nlooked\n"
    assert amd.parse_kfd(said) == (("64506", 7049, 415301632), ("64506", 7050, 0))
