"""What samples add up to, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from evener.records.telemetry import Extent, Gap, NicSample, Sample
from evener.telemetry.summary import extent, gaps, hosts_watched, late_ms
from tests.telemetry.samples import gpu, warming


def watched(samples, *hosts, from_s=0.0, to_s=10.0, unknown=None):
    return hosts_watched(
        samples, hosts or ("alpha",), from_s=from_s, to_s=to_s, every_s=1.0, unknown=unknown or {}, machines={}
    )


def test_least_mean_and_most_of_what_was_said() -> None:
    assert extent([61.0, None, 83.0, 75.0]) == Extent(least=61.0, mean=73.0, most=83.0, n=3)
    assert extent([None, None]) is None


def test_a_card_over_a_run() -> None:
    asked, limit = {"power_limit_asked_w": 450.0}, "power_limit_effective_w"
    both = ("heat", "its power limit")
    samples = [
        gpu(0, temperature_c=60, power_w=100, memory_used_bytes=5, slowed_by=(), **{limit: 450.0}, **asked),
        gpu(1, temperature_c=70, power_w=300, memory_used_bytes=9, slowed_by=("heat",), **{limit: 400.0}, **asked),
        gpu(2, temperature_c=80, power_w=200, memory_used_bytes=7, slowed_by=both, **{limit: 450.0}, **asked),
    ]
    (card,) = watched(samples)[0].cards
    assert card.temperature_c == Extent(least=60, mean=70.0, most=80, n=3)
    assert (card.memory_peak_bytes, card.power_limit_asked_w, card.power_limit_effective_w) == (9, 450.0, 400.0)
    assert card.slowed == {"heat": 0.6667, "its power limit": 0.3333}
    assert (card.energy_j, card.covered_s) == (450.0, 2.0)  # (100 + 300) / 2 + (300 + 200) / 2
    assert card.utilisation_percent is None


def test_a_card_whose_driver_hides_why_is_not_a_card_that_nothing_held_back() -> None:
    hidden, free = gpu(0, card="a"), gpu(0, card="b", slowed_by=())
    assert [card.slowed for card in watched([hidden, free])[0].cards] == [None, {}]


def test_what_a_card_does_not_say_is_said() -> None:
    assert watched([gpu(0, temperature_c=50, utilisation_percent=5)])[0].unknown == (
        "RTX 5090 does not say: power, throttling",
    )


def test_only_the_time_asked_for_counts() -> None:
    samples = warming([10, 20, 30, 40, 50])
    (card,) = watched(samples, from_s=1.0, to_s=3.0)[0].cards
    assert card.temperature_c == Extent(least=20, mean=30.0, most=40, n=3)


def test_a_host_that_is_not_in_the_samples_is_there_without_figures() -> None:
    (host,) = watched([], "beta", unknown={"beta": ["stated, not there to be asked"]})
    assert (host.samples, host.cards, host.gaps, host.unknown) == (0, (), (), ("stated, not there to be asked",))


# ---- interfaces


def nic(at_s: float, rx: int, tx: int, rate: float | None = None) -> Sample:
    one = NicSample(name="enp5s0", rx_bytes=rx, tx_bytes=tx, rx_bytes_per_s=rate, link="5gbe")
    return Sample(at_s=at_s, host="alpha", nics=(one,))


def test_bytes_of_an_interface_are_those_of_this_time_also_when_its_counter_began_again() -> None:
    samples = [nic(0, 1000, 0), nic(1, 1500, 10, 500.0), nic(2, 100, 30), nic(3, 900, 40, 800.0)]
    (seen,) = watched(samples)[0].nics
    assert (seen.rx_bytes, seen.tx_bytes) == (500 + 0 + 800, 40)
    assert (seen.rx_most_bytes_per_s, seen.tx_most_bytes_per_s, seen.link) == (800.0, None, "5gbe")


# ---- gaps


def test_a_host_that_was_lost_has_a_gap_from_its_last_word_to_its_next() -> None:
    samples = [gpu(1), gpu(2), Sample(at_s=7.0, host="alpha", lost="silent for 5 s"), gpu(9), gpu(10)]
    assert gaps(samples, from_s=0, to_s=10, every_s=1.0) == (Gap(from_s=2, to_s=9, why="silent for 5 s"),)


def test_a_host_that_stays_lost_has_a_gap_without_an_end() -> None:
    samples = [gpu(1), Sample(at_s=2.0, host="alpha", lost="ssh broke"), Sample(at_s=3.0, host="alpha", lost="again")]
    assert gaps(samples, from_s=0, to_s=10, every_s=1.0) == (Gap(from_s=1, to_s=None, why="ssh broke"),)


def test_a_hole_that_nobody_announced_is_a_gap_and_a_late_sample_is_none() -> None:
    late, hole = [gpu(0), gpu(3)], [gpu(0), gpu(4)]
    assert gaps(late, from_s=0, to_s=4, every_s=1.0) == ()
    assert gaps(hole, from_s=0, to_s=5, every_s=1.0) == (Gap(from_s=0, to_s=4, why="no sample came"),)


def test_a_driver_tool_that_ended_is_no_gap_of_its_host() -> None:
    said = replace(gpu(1, card="cpu", name="CPU"), lost="nvidia-smi has ended: its cards are not seen")
    host = watched([gpu(0), said, gpu(2)], to_s=3.0)[0]
    assert host.gaps == ()
    assert host.unknown[-1] == "from 1 s: nvidia-smi has ended: its cards are not seen"


def test_a_host_that_was_there_before_and_not_in_this_time_is_a_gap() -> None:
    (host,) = watched([gpu(1)], from_s=5.0, to_s=15.0)
    assert host.gaps == (Gap(from_s=5.0, to_s=None, why="no sample came"),)


# ---- what watching costs, how late lines are


def clocked(at_s: float, clock_s: float, cpu_s: float | None = None) -> Sample:
    return Sample(at_s=at_s, host="alpha", host_clock_s=clock_s, sampler_cpu_s=cpu_s)


def test_a_line_is_as_late_as_it_came_after_the_quickest() -> None:
    samples = [clocked(1.02, 100.0), clocked(2.01, 101.0), clocked(3.11, 102.0)]
    assert late_ms(samples) == (36.7, 100.0)  # 10, 0 and 100 ms
    assert late_ms(samples[:1]) is None


def test_sampling_costs_what_its_processes_took() -> None:
    (host,) = watched([clocked(0, 100.0, 0.1), clocked(10, 110.0, 0.15)])
    assert host.sampler_cpu_percent == 0.5


def test_a_watcher_that_began_again_counts_from_its_beginning() -> None:
    samples = [clocked(0, 100.0, 5.0), clocked(1, 101.0, 9.0), clocked(4, 104.0, 0.0), clocked(8, 108.0, 0.02)]
    assert watched(samples)[0].sampler_cpu_percent == 0.5
