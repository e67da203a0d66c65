"""What a run says of the cable between its hosts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.journeys.conditions import carries
from evener.records.link import LinkMeasured, Measured

WIRE = LinkMeasured(
    name="wire",
    between=("alpha", "beta"),
    addresses=("10.0.0.1", "10.0.0.2"),
    taken_at=datetime(2026, 11, 30, tzinfo=UTC),
)


def once(value: float) -> Measured:
    return Measured(n=1, p50=value, low=value, high=value)


def test_a_measured_link_says_what_itcarries_and_when_that_was() -> None:
    measured = replace(WIRE, out_gbit_per_s=once(4.631), back_gbit_per_s=once(4.6), rtt_us=once(209.7))
    assert carries("wire", measured) == "wire: 4.63 Gbit/s out, 4.60 back, 210 us (measured 2026-11-30)"
    assert carries("wire", replace(WIRE, rtt_us=once(90.0))) == "wire: 90 us (measured 2026-11-30)"


def test_a_link_that_nobody_measured_is_stated() -> None:
    assert carries("wire", None) == carries("wire", WIRE) == "wire (stated)"
