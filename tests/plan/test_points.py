"""Plans in short: which is answered by one machine, which of several comes first."""

from __future__ import annotations

from dataclasses import replace

from evener.errors import ModelError
from evener.plan import points
from evener.records.plan import (
    Candidate,
    CandidateKind,
    DevicePlan,
    ModelSummary,
    Plan,
    Predicted,
    Value,
    Verdict,
    Workload,
)
from evener.records.rig import Rig
from evener.records.whatif import Answer, Point
from tests import rigs

MODEL = ModelSummary(
    name="tiny", architecture="llama", quantisation="Q8_0", file_bytes=5, layers=4, parameters=9, active_parameters=9,
    context_train=None,
)  # fmt: skip


def candidate(
    *,
    name: str = "alpha",
    kind: CandidateKind = "host",
    hosts: tuple[str, ...] = ("alpha",),
    takes: int = 50,
    short: int = 0,
) -> Candidate:
    device = DevicePlan(
        host="alpha", card="GPU-1", card_name="RTX 5090", device="CUDA0", position=0, layers=5, weights_bytes=takes,
        kv_bytes=0, compute_bytes=0, overhead_bytes=0, total_bytes=takes, free_bytes=100, offered_bytes=100,
    )  # fmt: skip
    return Candidate(
        name=name, kind=kind, hosts=hosts, fits=not short, short_bytes=short, devices=() if short else (device,),
        host_bytes={}, servers=(), workers=(),
        predicted=Predicted(users_tokens_per_s=Value(value=30.0, low=20.0, high=40.0)),
    )  # fmt: skip


def plan(*candidates: Candidate) -> Plan:
    chosen = next((c for c in candidates if c.fits), None)
    verdict = Verdict(choice=chosen.name if chosen else None, kind=chosen.kind if chosen else "none", sentence="-")
    return Plan(model=MODEL, workload=Workload(), verdict=verdict, candidates=candidates)


def row(made: Plan) -> Point:
    return points.point(made, rig=Rig(hosts=()), prices={}, changes={"kv": "f16"})


def test_a_row_says_where_how_full_and_how_fast() -> None:
    one = row(plan(candidate()))
    assert (one.answer, one.choice, one.hosts, one.full, one.tight) == ("one machine", "alpha", ("alpha",), 0.5, False)
    assert (one.needs_bytes, one.users_tokens_per_s) == (50, Value(value=30.0, low=20.0, high=40.0))


def test_what_leaves_no_room_for_an_error_is_tight() -> None:
    assert row(plan(candidate(takes=95))).tight
    assert not row(plan(candidate(takes=94))).tight


def test_two_hosts_are_several_machines() -> None:
    assert row(plan(candidate(kind="cluster", hosts=("alpha", "beta")))).answer == "several machines"


def test_what_fits_nowhere_says_how_near_it_came() -> None:
    one = row(plan(candidate(short=7), candidate(name="beta", short=3)))
    assert (one.answer, one.choice, one.short_bytes, one.full, one.cost) == ("no", None, 3, None, None)


def test_a_question_without_an_answer_is_a_row_with_its_reason() -> None:
    one = points.faulty(rigs.weights(), Workload(), {}, ModelError("nobody knows its cache"))
    assert (one.answer, one.fault) == ("no", "nobody knows its cache")


def sized(answer: Answer, file_bytes: int, *, rate: float | None = None, model: str = "m") -> Point:
    speed = None if rate is None else Value(value=rate, low=rate, high=rate)
    return replace(row(plan(candidate())), answer=answer, file_bytes=file_bytes, users_tokens_per_s=speed, model=model)


def test_of_the_quantisations_the_largest_on_one_machine_is_taken() -> None:
    small, large, split = sized("one machine", 4), sized("one machine", 6), sized("several machines", 8)
    assert points.best_of([split, large, small]) is large
    assert points.best_of([split, sized("no", 9)]) is split
    assert points.best_of([sized("no", 9)]) is None


def test_one_machine_goes_before_several_and_then_the_faster_goes_first() -> None:
    rows = [
        sized("no", 1, model="d"), sized("several machines", 1, rate=90, model="c"),
        sized("one machine", 1, rate=20, model="b"), sized("one machine", 1, rate=40, model="a"),
        sized("one machine", 1, model="unknown"),
    ]  # fmt: skip
    assert [one.model for one in points.ranked(rows)] == ["a", "b", "unknown", "c", "d"]
