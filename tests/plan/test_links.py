"""What a link carries: measured before stated before assumed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evener.plan.links import PRESETS, link_speed, preset
from evener.records.link import Hop, LinkMeasured, Measured, Payload
from evener.records.rig import Link

SEEN = datetime(2026, 1, 2, tzinfo=UTC)


def measured(p50: float) -> Measured:
    return Measured(n=5, p50=p50, low=p50 * 0.9, high=p50 * 1.1)


def seen(**more: object) -> LinkMeasured:
    facts: dict[str, object] = {
        "name": "cable", "between": ("alpha", "beta"), "addresses": ("10.0.0.1", "10.0.0.2"), "taken_at": SEEN,
    }  # fmt: skip
    return LinkMeasured(**(facts | more))  # type: ignore[arg-type]


def cable(**more: object) -> Link:
    return Link(name="cable", between=("alpha", "beta"), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["thunderbolt5", "Thunderbolt 5", "THUNDERBOLT-5", "wifi", "Wi-Fi", "2.5gbe", "10 GbE"]
)
def test_preset_is_found_however_it_is_written(name: str) -> None:
    assert preset(name) is not None


def test_unknown_preset_is_none() -> None:
    assert preset("carrier pigeon") is None


def test_every_preset_is_an_interval_around_its_value() -> None:
    for kind in PRESETS.values():
        for figure in (kind.gbit_per_s, kind.rtt_us):
            assert figure.low < figure.value < figure.high


def test_measurement_replaces_what_was_stated_and_the_slower_direction_counts() -> None:
    rpc = Payload(
        endpoint="10.0.0.2:50052", device="RPC0", connect_us=300, rtt_us=measured(210), set_mib_per_s=measured(500),
        get_mib_per_s=measured(480), hops=(Hop(bytes=2304, set_us=measured(230), get_us=measured(240)),),
    )  # fmt: skip
    found = link_speed(
        cable(gbit_per_s=10, rtt_us=100),
        seen(out_gbit_per_s=measured(4.7), back_gbit_per_s=measured(4.1), rtt_us=measured(180), payload=rpc),
    )
    assert (found.source, found.taken_at, found.gbit_per_s.value, found.rtt_us.value) == ("measured", SEEN, 4.1, 210)
    assert found.hop_us is not None


def test_tunnel_that_is_used_is_what_counts() -> None:
    def through(rtt_us: float) -> Payload:
        return Payload(
            endpoint="e", device="RPC0", connect_us=1, rtt_us=measured(rtt_us), set_mib_per_s=measured(1),
            get_mib_per_s=measured(1), hops=(),
        )  # fmt: skip

    assert link_speed(cable(), seen(payload=through(200), through_tunnel=through(450))).rtt_us.value == 450


def test_measurement_of_nothing_leaves_what_was_stated() -> None:
    found = link_speed(cable(gbit_per_s=4.7), seen(faults=("beta does not answer",)))
    assert (found.source, found.gbit_per_s.value) == ("stated", 4.7)


def test_preset_fills_what_was_not_stated_and_a_bare_link_is_hardly_known() -> None:
    half = link_speed(cable(preset="thunderbolt4", rtt_us=90))
    assert (half.source, half.rtt_us.value, half.gbit_per_s) == ("stated", 90, PRESETS["thunderbolt4"].gbit_per_s)
    bare = link_speed(cable())
    assert bare.source == "assumed"
    assert bare.gbit_per_s.high > 100 * bare.gbit_per_s.low
