"""What a load that was only tried has shown: which card holds more than it offers, or is not what was planned."""

from __future__ import annotations

from evener.journeys.reload import over
from evener.records.plan import Candidate, DevicePlan
from evener.records.verification import CardCheck
from tests.rigs import MIB


def candidate(offered_bytes: int | None) -> Candidate:
    device = DevicePlan(
        host="alpha", card="cpu", card_name="EPYC", device="CPU", position=0, layers=5, weights_bytes=0, kv_bytes=0,
        compute_bytes=0, overhead_bytes=0, total_bytes=200 * MIB, free_bytes=None, offered_bytes=offered_bytes,
    )  # fmt: skip
    return Candidate(
        name="alpha", kind="host", hosts=("alpha",), fits=True, short_bytes=0, devices=(device,), host_bytes={},
        servers=(), workers=(),
    )  # fmt: skip


def check(verdict: str, measured_bytes: int | None) -> CardCheck:
    return CardCheck(
        host="alpha", card="cpu", card_name="EPYC", device="CPU", layers_planned=5, layers_seen=5,
        planned_bytes=200 * MIB, reported_bytes=None, measured_bytes=measured_bytes, floor_bytes=0,
        ceiling_bytes=264 * MIB, verdict=verdict, why=None,
    )  # type: ignore[arg-type]  # fmt: skip


def test_a_card_within_its_offer_and_its_plan_holds() -> None:
    assert over(candidate(300 * MIB), [check("as planned", 250 * MIB)]) is None


def test_a_card_that_holds_more_than_it_offers_does_not_though_the_load_went_well() -> None:
    assert over(candidate(240 * MIB), [check("as planned", 250 * MIB)]) == "alpha/EPYC holds 250 MiB and offers 240"


def test_a_card_over_its_plan_or_missing_does_not_hold() -> None:
    assert over(candidate(None), [check("over", 300 * MIB)]) == "alpha/EPYC: over"
    assert over(candidate(None), [check("missing", None)]) == "alpha/EPYC: missing"


def test_what_nobody_could_read_is_no_reason_against_it() -> None:
    assert over(candidate(300 * MIB), [check("unknown", None)]) is None
