"""What hosts and drivers print once a second."""

from __future__ import annotations

from pathlib import Path

from evener.dialects import host_watch, nvidia_smi
from evener.dialects.host_watch import Held
from evener.dialects.proc import Memory
from evener.records.telemetry import CardSample

CAPTURES = Path(__file__).parents[1] / "captures" / "watch"
LINUX = (CAPTURES / "linux.txt").read_text()
NVIDIA = (CAPTURES / "nvidia.csv").read_text().splitlines()


def block(number: int) -> list[str]:
    return LINUX.split("tick\n")[number].splitlines()


# ---- Linux


def test_a_moment_of_a_machine_without_sensors() -> None:
    now = host_watch.moment(block(0))
    assert now.boot == "11111111-2222-3333-4444-555555555555@vm"
    assert now.clock_s == 11662.62
    assert (now.busy_ticks, now.all_ticks) == (1267277, 2320923)  # all but idle 1051459 and iowait 2187
    assert now.memory == Memory(total_bytes=24684092 << 10, available_bytes=23805908 << 10)
    assert now.load_1m == 2.37
    assert now.nics == {"eth0": (2376329513, 4816235)}
    assert now.mine_s == 0.03
    assert (now.temperature_c, now.throttled, now.rapl_uj, now.radeons, now.metal) == (None, None, {}, (), None)


def test_nobody_is_big_is_not_nobody_looked() -> None:
    assert host_watch.moment(block(0)).big == ()
    assert host_watch.moment(block(1)).big is None


def test_big_processes_have_a_pid_a_name_with_spaces_and_kibibytes() -> None:
    assert host_watch.moment(["bigs", "big 4711  1234567 Isolated Web Co"]).big == (
        Held(pid=4711, bytes=1234567 << 10, name="Isolated Web Co"),
    )


def test_temperature_power_and_throttling_of_a_processor() -> None:
    now = host_watch.moment(["heat 61500", "throttled 12", "rapl 0 123456789", "rapl 1 5"])
    assert (now.temperature_c, now.throttled, dict(now.rapl_uj)) == (61.5, 12, {"0": 123456789, "1": 5})


def test_below_zero_is_a_temperature() -> None:
    assert host_watch.moment(["heat -4000"]).temperature_c == -4.0


def test_an_empty_moment_knows_nothing() -> None:
    assert host_watch.moment([]) == host_watch.Moment()


def test_what_watching_costs_is_the_shell_and_its_tools_together() -> None:
    stat = "7 (sh) S 1 7 7 0 -1 0 0 0 0 0 3 4 20 10 20 0 1 0 100 0 0"
    tool = "8 (nvidia-smi) S 7 7 7 0 -1 0 0 0 0 0 50 13 0 0 20 0 1 0 100 0 0"
    assert host_watch.moment([f"mine {stat}", f"mine {tool}"]).mine_s == 1.0


# ---- AMD, by the kernel's files


def test_a_radeon_says_what_its_files_say() -> None:
    busy, idle = (host_watch.radeon(line.removeprefix("amd ")) for line in _lines("radeon.txt"))
    assert busy == CardSample(
        card="0000:01:00.0",
        name="AMD GPU",
        utilisation_percent=5.0,
        memory_used_bytes=2290094080,
        memory_total_bytes=4294967296,
        power_w=85.182,
        temperature_c=31.0,
        clock_mhz=944.0,
        memory_clock_mhz=500.0,
    )
    assert (idle.power_w, idle.power_limit_effective_w, idle.utilisation_percent) == (28.0, 211.0, None)


def test_a_radeon_of_the_newer_kind_calls_its_power_input() -> None:
    assert host_watch.radeon("0000:03:00.0 power1_input=42000000").power_w == 42.0


def test_the_kernels_number_of_a_card_leads_to_its_bus() -> None:
    assert host_watch.moment(_lines("kfd.txt")).kfd_bus == {"19794": "0000:01:00.0"}


def test_the_kernels_number_of_a_card_far_out_on_the_bus() -> None:
    lines = ["kfd 5 location_id 50450", "kfd 5 domain 1"]  # 0xc512: bus 0xc5, device 2, function 2
    assert host_watch.moment(lines).kfd_bus == {"5": "0001:c5:02.2"}


def test_who_holds_a_radeons_memory() -> None:
    lines = ["kfds", "/sys/class/kfd/kfd/proc/812/vram_19794:5368709120", "/sys/class/kfd/kfd/proc/9/vram_19794:0"]
    assert host_watch.moment(lines).kfd == (("19794", Held(pid=812, bytes=5368709120)),)
    assert host_watch.moment([]).kfd is None


# ---- a Mac


def test_a_macs_moment() -> None:
    now = host_watch.moment(_lines("mac.txt"))
    assert now.boot == "11111111-2222-3333-4444-555555555555"
    assert now.load_1m == 1.98
    assert now.memory == Memory(total_bytes=64 << 30, available_bytes=(4753 + 345335 + 7127) * 16384)
    assert now.nics == {"en0": (13309516362, 11363839527)}
    assert now.metal == CardSample(
        card="metal0", name="Apple GPU", utilisation_percent=16.0, memory_used_bytes=568164352
    )
    assert (now.clock_s, now.busy_ticks) == (None, None)


# ---- NVIDIA, row by row


def test_a_card_at_its_power_limit() -> None:
    assert nvidia_smi.watched(NVIDIA[5]) == CardSample(
        card="GPU-33333333-0000-0000-0000-000000000001",
        name="NVIDIA H100 80GB HBM3",
        power_w=699.8,
        power_limit_effective_w=700.0,
        temperature_c=71.0,
        clock_mhz=1590.0,
        slowed_by=("its power limit",),
    )


def test_the_limit_that_was_asked_is_not_the_one_in_force() -> None:
    rows = [nvidia_smi.watched(line) for line in (NVIDIA[0], NVIDIA[2])]
    assert [(row.power_limit_asked_w, row.power_limit_effective_w) for row in rows if row] == [
        (600.0, None),
        (None, 70.0),
    ]


def test_nothing_holds_a_card_back_is_not_the_driver_hides_it() -> None:
    row = NVIDIA[2]
    free, hidden = row.replace("0x0000000000000004", "0x0000000000000000"), row.replace("0x0000000000000004", "[N/A]")
    assert [card.slowed_by for line in (free, hidden) if (card := nvidia_smi.watched(line))] == [(), None]


def test_idleness_and_chosen_clocks_hold_nothing_back_and_heat_does() -> None:
    row = NVIDIA[2].replace("0x0000000000000004", "0x0000000000000063")
    card = nvidia_smi.watched(row)
    assert card
    assert card.slowed_by == ("heat", "heat, by the hardware itself")


def test_a_row_cut_short_is_no_row() -> None:
    whole = NVIDIA[5]
    for size in range(whole.rindex(",")):
        assert nvidia_smi.watched(whole[:size]) is None, whole[:size]


def test_a_process_is_no_card_and_a_card_no_process() -> None:
    process = "GPU-22222222-0000-0000-0000-000000000001, 5123, /opt/a,b/llama-server, 1536"
    assert nvidia_smi.watched(process, nvidia_smi.WATCH_FIELDS[:4]) is None
    assert nvidia_smi.watched_app(NVIDIA[5]) is None
    app = nvidia_smi.watched_app(process)
    assert app
    assert (app.pid, app.name, app.bytes) == (5123, "/opt/a,b/llama-server", 1536 << 20)


def test_a_driver_that_refuses_throttle_reasons_is_asked_for_event_reasons() -> None:
    fields = nvidia_smi.without(("uuid", "clocks_throttle_reasons.active"), "clocks_throttle_reasons.active")
    assert fields == ("uuid", "clocks_event_reasons.active")
    assert nvidia_smi.without(fields, "clocks_event_reasons.active") == ("uuid",)


def _lines(name: str) -> list[str]:
    return (CAPTURES / name).read_text().splitlines()
