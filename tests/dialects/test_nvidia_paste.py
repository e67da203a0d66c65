"""nvidia-smi's output as people paste it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import nvidia_paste

CAPTURES = Path(__file__).parents[1] / "captures" / "nvidia_smi"
MIB = 1 << 20


def text(name: str) -> str:
    return (CAPTURES / name).read_text()


def test_the_table_has_names_bus_ids_and_memory() -> None:
    cards = nvidia_paste.parse(text("table_two_5090.txt"))
    assert [(c.name, c.bus_id, c.used_bytes, c.total_bytes) for c in cards] == [
        ("NVIDIA GeForce RTX 5090", "00000000:01:00.0", 29324 * MIB, 32607 * MIB),
        ("NVIDIA GeForce RTX 5090", "00000000:02:00.0", 30357 * MIB, 32607 * MIB),
    ]
    assert [(c.temperature_c, c.power_limit_asked_w, c.drives_display) for c in cards] == [
        (43.0, 575.0, False),
        (52.0, 600.0, True),
    ]
    assert cards[0].driver == "610.57.04"


def test_a_table_without_processes_does_not_say_that_nobody_holds_memory() -> None:
    assert [c.holders for c in nvidia_paste.parse(text("table_two_5090.txt"))] == [None, None]
    nobody = text("table_two_5090.txt") + "|  No running processes found                            |\n"
    assert [c.holders for c in nvidia_paste.parse(nobody)] == [None, None]


def test_processes_of_the_table_hold_what_it_says_and_what_it_hides_is_unknown() -> None:
    rows = (
        "|    0   N/A  N/A            1234      C   /opt/llama/llama-server       29000MiB |\n"
        "|    1   N/A  N/A            3032    C+G   C:\\Windows\\System32\\dwm.exe      N/A      |\n"
    )
    first, second = nvidia_paste.parse(text("table_two_5090.txt") + rows)
    assert [(h.pid, h.bytes, h.command) for h in first.holders or ()] == [
        (1234, 29000 * MIB, "/opt/llama/llama-server")
    ]
    assert [(h.pid, h.bytes) for h in second.holders or ()] == [(3032, None)]


def test_a_table_of_windows_has_its_driver_model_where_linux_has_persistence() -> None:
    pasted = (
        "|   0  NVIDIA GeForce RTX 4090      WDDM  |   00000000:01:00.0  On |                  Off |\n"
        "|  0%   40C    P8              9W /  450W |    1533MiB /  24564MiB |      3%      Default |\n"
    )
    (card,) = nvidia_paste.parse(pasted)
    assert (card.name, card.free_bytes, card.driver) == ("NVIDIA GeForce RTX 4090", (24564 - 1533) * MIB, None)


def test_a_csv_without_ids_is_taken_by_its_names() -> None:
    (card,) = nvidia_paste.parse(
        "name, memory.total [MiB], memory.used [MiB], utilization.gpu [%], driver_version, compute_cap, pstate\n"
        "NVIDIA GeForce RTX 5060 Ti, 16311 MiB, 1 MiB, 0 %, 580.178.04, 12.0, P8\n"
    )
    assert (card.id, card.name, card.total_bytes) == ("pasted0", "NVIDIA GeForce RTX 5060 Ti", 16311 * MIB)


def test_a_csv_with_ids_keeps_them() -> None:
    (card,) = nvidia_paste.parse(text("h100_550.csv"))
    assert card.id == "GPU-00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize("said", ["", "hello", "NVIDIA-SMI has failed because it couldn't communicate", "|   0  |\n"])
def test_what_is_no_such_output_has_no_cards(said: str) -> None:
    assert nvidia_paste.parse(said) == ()
