"""nvidia-smi's CSV, against captures of real output (sources in tests/captures/nvidia_smi/README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import nvidia_smi

CAPTURES = Path(__file__).parents[1] / "captures" / "nvidia_smi"
MIB = 1 << 20


def capture(name: str) -> str:
    return (CAPTURES / name).read_text()


def test_units_in_cells_are_read() -> None:
    (card,) = nvidia_smi.parse_gpus(capture("rtx5060ti_580.csv"))
    assert card.name == "NVIDIA GeForce RTX 5060 Ti"
    assert (card.total_bytes, card.used_bytes) == (16311 * MIB, 1 * MIB)
    assert (card.driver, card.compute_capability, card.bus_id) == ("580.178.04", "12.0", "00000000:01:00.0")


def test_a_card_is_keyed_by_its_uuid_and_else_by_its_bus_id() -> None:
    (h100,) = nvidia_smi.parse_gpus(capture("h100_550.csv"))
    (p100,) = nvidia_smi.parse_gpus(capture("p100_418.csv"))
    assert h100.id == "GPU-00000000-0000-0000-0000-000000000001"
    assert p100.id == "00000000:19:00.0"


def test_columns_that_were_not_asked_for_are_unknown_and_not_zero() -> None:
    (card,) = nvidia_smi.parse_gpus(capture("h100_550.csv"))
    assert card.free_bytes is None
    assert card.power_limit_effective_w is None
    assert (card.temperature_c, card.power_limit_asked_w) == (34.0, 700.0)


def test_cells_without_units_are_read_and_na_without_brackets_is_unknown() -> None:
    (card,) = nvidia_smi.parse_gpus(capture("rtx2080_440.csv"))
    assert (card.total_bytes, card.temperature_c, card.power_limit_asked_w) == (7979 * MIB, 45.0, 200.0)
    text = capture("rtx2080_440.csv").replace(" 45,", " N/A,")
    assert nvidia_smi.parse_gpus(text)[0].temperature_c is None


def test_reserved_memory_is_neither_used_nor_free() -> None:
    (card,) = nvidia_smi.parse_gpus(capture("rtxpro6000_windows.csv"))
    assert card.total_bytes is not None
    assert (card.used_bytes, card.free_bytes) == (71977 * MIB, 24622 * MIB)
    assert card.total_bytes - 71977 * MIB - 24622 * MIB == 1288 * MIB


@pytest.mark.parametrize(
    "said", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[GPU is lost]", "[Insufficient Permissions]", ""]
)
def test_every_way_to_say_nothing_is_unknown(said: str) -> None:
    header = "uuid, name, memory.total [MiB], driver_version, display_active"
    (card,) = nvidia_smi.parse_gpus(f"{header}\nGPU-1, Example, {said}, {said}, {said}\n")
    assert (card.total_bytes, card.driver, card.drives_display) == (None, None, None)


def test_asked_and_effective_power_limits_are_two_figures() -> None:
    _, pro = nvidia_smi.parse_gpus(capture("case4.csv"))
    assert (pro.power_limit_asked_w, pro.power_limit_effective_w) == (600.0, 450.0)
    assert pro.drives_display is True


def test_a_processor_with_graphics_of_its_own_shares_the_hosts_memory() -> None:
    text = "uuid, name, memory.total [MiB]\nGPU-1, NVIDIA GB10, [N/A]\nGPU-2, NVIDIA GeForce RTX 5090, 32607 MiB\n"
    assert [card.integrated for card in nvidia_smi.parse_gpus(text)] == [True, False]


@pytest.mark.parametrize("text", ["", "No devices were found\n", "index, 1, 2\n"])
def test_output_without_a_header_holds_no_cards(text: str) -> None:
    assert nvidia_smi.parse_gpus(text) == ()
    assert nvidia_smi.parse_apps(text) == ()


def test_a_driver_that_does_not_answer_holds_no_cards() -> None:
    assert nvidia_smi.parse_gpus(capture("no_driver.txt")) == ()


def test_a_torn_row_is_dropped_and_the_others_are_kept() -> None:
    text = capture("case4.csv").rstrip()[:-120]
    assert [card.bus_id for card in nvidia_smi.parse_gpus(text)] == ["00000000:01:00.0"]


def test_no_process_is_an_empty_answer() -> None:
    assert nvidia_smi.parse_apps(capture("no_process.csv")) == ()


def test_windows_rows_have_processes_of_unknown_memory() -> None:
    apps = nvidia_smi.parse_apps(capture("rtxpro6000_windows_apps.csv"))
    assert [(app.pid, app.name, app.bytes) for app in apps] == [
        (3032, "C:\\Windows\\System32\\dwm.exe", None),
        (13800, "C:\\Windows\\explorer.exe", None),
    ]


def test_a_hidden_name_is_unknown_and_a_path_with_spaces_is_whole() -> None:
    hidden, overlay = nvidia_smi.parse_apps(capture("windows_hidden_apps.csv"))
    assert hidden.name is None
    assert overlay.name == "C:\\Program Files\\NVIDIA Corporation\\NVIDIA App\\CEF\\NVIDIA Overlay.exe"


def test_commas_belong_to_the_process_name() -> None:
    text = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-1, 77, /opt/app/worker, gpu, v2, 512 MiB\n"
    (app,) = nvidia_smi.parse_apps(text)
    assert (app.name, app.bytes) == ("/opt/app/worker, gpu, v2", 512 * MIB)


def test_a_row_without_a_pid_is_nobody() -> None:
    header = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]"
    assert nvidia_smi.parse_apps(f"{header}\nGPU-1, [N/A], python, 5 MiB\n, 7, python, 5 MiB\n") == ()


def test_the_field_that_an_old_driver_refuses_is_named() -> None:
    assert nvidia_smi.refused_field(capture("refused_field.txt")) == "device_minor"
    assert nvidia_smi.refused_field(capture("h100_550.csv")) is None


HEALTH = (
    "uuid, pci.bus_id, pstate, persistence_mode, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
    "pcie.link.width.max, clocks_{kind}_reasons.active\n"
    "GPU-a, 00000000:01:00.0, P8, Disabled, 1, 4, 16, 16, 0x0000000000000001\n"
    "GPU-b, 00000000:02:00.0, P0, Enabled, 4, 4, 4, 16, 0x0000000000000024\n"
    "GPU-c, 00000000:03:00.0, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]\n"
)


@pytest.mark.parametrize("kind", ["throttle", "event"])
def test_health_tells_idleness_from_what_slows_a_card_down(kind: str) -> None:
    idle, slowed, unknown = nvidia_smi.parse_health(HEALTH.format(kind=kind))
    assert (idle.id, idle.idle, idle.persistent, idle.link_generation, idle.slowed_by) == ("GPU-a", True, False, 1, ())
    assert (slowed.idle, slowed.link_width, slowed.link_width_most) == (False, 4, 16)
    assert slowed.slowed_by == ("its power limit", "heat")
    assert (unknown.idle, unknown.persistent, unknown.link_width, unknown.slowed_by) == (None, None, None, None)
