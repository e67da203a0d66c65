"""What a run says of the cable between its hosts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.journeys.conditions import carries, conditions_of
from evener.records.link import LinkMeasured, Measured
from evener.records.plan import Candidate, Workload
from evener.records.weights import Weights
from tests.rigs import rig, scan, weights

WIRE = LinkMeasured(
    name="wire",
    between=("alpha", "beta"),
    addresses=("10.0.0.1", "10.0.0.2"),
    taken_at=datetime(2026, 11, 30, tzinfo=UTC),
)


ALONE = Candidate(
    name="alpha", kind="host", hosts=("alpha",), fits=True, short_bytes=0, devices=(), host_bytes={}, servers=(),
    workers=(),
)  # fmt: skip


def once(value: float) -> Measured:
    return Measured(n=1, p50=value, low=value, high=value)


def test_a_measured_link_says_what_itcarries_and_when_that_was() -> None:
    measured = replace(WIRE, out_gbit_per_s=once(4.631), back_gbit_per_s=once(4.6), rtt_us=once(209.7))
    assert carries("wire", measured) == "wire: 4.63 Gbit/s out, 4.60 back, 210 us (measured 2026-11-30)"
    assert carries("wire", replace(WIRE, rtt_us=once(90.0))) == "wire: 90 us (measured 2026-11-30)"


def test_a_link_that_nobody_measured_is_stated() -> None:
    assert carries("wire", None) == carries("wire", WIRE) == "wire (stated)"


def test_what_drafts_for_a_model_is_a_condition() -> None:
    def beside(model: Weights, drafts: int) -> tuple[str, ...]:
        asked = Workload(drafts=drafts)
        return conditions_of(rig("alpha"), scan(), model, asked, ALONE).beside

    assert beside(weights(), 0) == ("nothing",), "which is known"
    assert beside(weights(), 3) == ("3 drafts of its own MTP blocks",)
    assert beside(weights(draft=weights(name="small")), 2) == ("2 drafts of small",)
