"""Lines of a watcher become samples."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evener.dialects import nvidia_smi
from evener.records.card import Card
from evener.records.telemetry import Joined, Sample
from evener.telemetry.reading import Known, Reading

CAPTURES = Path(__file__).parents[1] / "captures" / "watch"
GPU = "GPU-22222222-0000-0000-0000-000000000001"
T4 = (CAPTURES / "nvidia.csv").read_text().splitlines()[2]


def reading(known: Known | None = None, *, ours: set[int] | None = None, holders=None) -> Reading:
    return Reading("alpha", known or Known(), ours=ours or set(), holders=holders if holders is not None else {})


def fed(lines: list[str], known: Known | None = None, **more) -> list[Sample]:
    made = reading(known, **more)
    return [sample for at, line in enumerate(lines) if (sample := made.feed(float(at), line)) is not None]


def linux(**more: str) -> list[Sample]:
    return fed((CAPTURES / "linux.txt").read_text().splitlines())


def test_the_first_sample_knows_no_rates_and_the_second_does() -> None:
    first, second = linux()
    assert first.cards[0].utilisation_percent is None
    assert first.nics[0].rx_bytes_per_s is None
    assert second.cards[0].utilisation_percent == 99.0  # 198 of 200 ticks
    assert second.nics[0].rx_bytes_per_s == 0.0


def test_the_cpu_is_a_card_with_the_hosts_memory() -> None:
    cpu = linux()[0].cards[0]
    assert (cpu.card, cpu.memory_used_bytes, cpu.memory_total_bytes) == ("cpu", 878184 << 10, 24684092 << 10)
    assert (cpu.temperature_c, cpu.power_w, cpu.slowed_by) == (None, None, None)


def test_rates_are_by_the_hosts_own_clock() -> None:
    """The second line arrived three seconds later; the host counted two."""
    lines = ["clock 100.0", "nic eth0 1000 500", "tick", "late", "clock 102.0", "nic eth0 5000 700", "tick"]
    nic = fed(lines)[1].nics[0]
    assert (nic.rx_bytes_per_s, nic.tx_bytes_per_s) == (2000.0, 100.0)


def test_a_counter_that_began_again_has_no_rate() -> None:
    lines = ["clock 1.0", "nic eth0 1000 500", "rapl 0 9000000", "tick"]
    lines += ["clock 2.0", "nic eth0 10 600", "rapl 0 5", "tick"]
    second = fed(lines)[1]
    assert (second.nics[0].rx_bytes_per_s, second.nics[0].tx_bytes_per_s) == (None, 100.0)
    assert second.cards[0].power_w is None


def test_power_of_a_processor_is_all_its_packages() -> None:
    lines = ["clock 1.0", "rapl 0 1000000", "rapl 1 5000000", "tick"]
    lines += ["clock 3.0", "rapl 0 101000000", "rapl 1 45000000", "tick"]
    assert fed(lines)[1].cards[0].power_w == 70.0  # (100 J + 40 J) in 2 s


def test_a_processor_that_throttled_since_the_moment_before_was_slowed_by_heat() -> None:
    lines = ["throttled 5", "tick", "throttled 5", "tick", "throttled 9", "tick"]
    assert [sample.cards[0].slowed_by for sample in fed(lines)] == [None, (), ("heat",)]


def test_the_interface_that_carries_the_link_is_named() -> None:
    known = Known(links={"enp5s0": "5gbe"})
    sample = fed(["nic eth0 1 1", "nic enp5s0 2 2", "tick"], known)[0]
    assert [(nic.name, nic.link) for nic in sample.nics] == [("eth0", None), ("enp5s0", "5gbe")]


def test_a_card_has_the_id_and_name_of_the_scan() -> None:
    """rocm-smi's scan knows it by another id; its bus tells."""
    known = Known(cards=(Card(id="0xabc", kind="rocm", name="RX 7900 XT", bus_id="00000000:0C:00.0"),))
    sample = fed(["amd 0000:0c:00.0 gpu_busy_percent=50", "tick"], known)[0]
    assert [(card.card, card.name) for card in sample.cards[1:]] == [("0xabc", "RX 7900 XT")]


def test_a_gpu_speaks_between_the_hosts_lines_and_tears_none_apart() -> None:
    known = Known(fields=nvidia_smi.WATCH_FIELDS)
    samples = fed(["clock 1.0", T4, "load 0.5", "tick"], known)
    assert [card.name for sample in samples for card in sample.cards] == ["Tesla T4", "CPU"]
    assert (samples[1].host_clock_s, samples[1].load_1m) == (1.0, 0.5)


def test_a_host_is_complete_when_its_cards_have_spoken_too() -> None:
    made = reading(Known(fields=nvidia_smi.WATCH_FIELDS))
    made.feed(0.0, "tick")
    assert not made.is_complete
    made.feed(0.1, T4)
    assert made.is_complete


# ---- who joined


def test_who_was_there_before_has_not_joined_and_who_comes_has_once() -> None:
    known = Known(fields=nvidia_smi.WATCH_FIELDS, held=frozenset({(GPU, 10)}))
    rows = [f"{GPU}, 10, /bin/llama-server, 9000", f"{GPU}, 11, python3, 2048", f"{GPU}, 11, python3, 4096"]
    joined = [one for sample in fed(rows, known) for one in sample.joined]
    assert joined == [Joined(at_s=1.0, host="alpha", card=GPU, pid=11, name="python3", bytes=2048 << 20)]


def test_our_own_process_is_not_somebody_else() -> None:
    known = Known(fields=nvidia_smi.WATCH_FIELDS)
    assert fed([f"{GPU}, 11, llama-server, 2048"], known, ours={11}) == []


def test_whoever_comes_while_the_host_is_lost_has_come_all_the_same() -> None:
    holders: dict[str, set[tuple[str, int]]] = {}
    fed(["bigs", "big 10 2000000 firefox", "tick"], holders=holders)
    (sample,) = fed(["bigs", "big 10 2000000 firefox", "big 12 3000000 blender", "tick"], holders=holders)
    assert [(one.card, one.pid, one.name, one.bytes) for one in sample.joined] == [
        ("cpu", 12, "blender", 3000000 << 10)
    ]


def test_whoever_joins_a_radeon_is_on_the_card_of_its_bus() -> None:
    known = Known(cards=(Card(id="0xabc", kind="rocm", name="RX 7900 XT", bus_id="0000:03:00.0"),))
    lines = ["kfd 19794 location_id 768", "kfd 19794 domain 0", "kfds", "tick", "kfds"]
    lines += ["/sys/class/kfd/kfd/proc/812/vram_19794:4096", "tick"]
    assert [(one.card, one.pid) for one in fed(lines, known)[1].joined] == [("0xabc", 812)]


def test_a_driver_tool_that_ended_is_said() -> None:
    assert fed(["gone nvidia-smi", "tick"])[0].lost == "nvidia-smi has ended: its cards are not seen"


@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.builds(
                "{} {}".format,
                st.sampled_from(
                    ["boot", "clock", "cpu", "total", "load", "heat", "rapl", "nic", "amd", "kfd", "big", "mine",
                     "gone", "GPU-1,", "throttled", "hw.memsize:", "en0 1500 <Link#4>"]
                ),
                st.text(alphabet="0123456789 -.,=:/()abc", max_size=40),
            ),
            st.just("tick"), st.just("bigs"), st.just("kfds"),
        ),
        max_size=30,
    )
)  # fmt: skip
def test_whatever_a_host_prints_nothing_breaks(lines: list[str]) -> None:
    fed([*lines, "tick"], Known(fields=nvidia_smi.WATCH_FIELDS))
