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


SCAN = rigs.scan(
    rigs.seen("alpha", rigs.card("RTX 5090", 100, id="GPU-1"), rigs.cpu(5000)),
    rigs.seen("beta", rigs.card("RTX 5080", 60, id="GPU-2"), rigs.card("old", 900, id="GPU-3", excluded=True)),
)


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
    return points.point(made, rig=Rig(hosts=()), scan=SCAN, prices={}, changes={"kv": "f16"})


def test_a_row_says_where_how_full_and_how_fast() -> None:
    one = row(plan(candidate()))
    assert (one.answer, one.choice, one.hosts, one.full, one.tight) == ("one machine", "alpha", ("alpha",), 0.5, False)
    assert (one.needs_bytes, one.users_tokens_per_s) == (50, Value(value=30.0, low=20.0, high=40.0))


def test_what_leaves_no_room_for_an_error_is_tight() -> None:
    assert row(plan(replace(candidate(), marginal=True))).tight
    assert not row(plan(candidate())).tight


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


def test_what_is_quick_enough_goes_first_then_one_machine_then_more_parameters() -> None:
    def model(name: str, answer: Answer, *, quick: bool | None = True, parameters: int = 5) -> Point:
        return replace(sized(answer, 1, model=name), quick=quick, parameters=parameters)

    rows = [
        model("f", "no", quick=None), model("e", "one machine", quick=False), model("d", "with main memory"),
        model("c", "several machines", parameters=99), model("b", "one machine"),
        model("a", "one machine", parameters=9),
    ]  # fmt: skip
    assert [one.model for one in points.ranked(rows)] == ["a", "b", "c", "d", "e", "f"]


def test_what_several_machines_make_faster_still_fits_one() -> None:
    faster = candidate(name="replicas", kind="replicas", hosts=("alpha", "beta"))
    one = row(plan(faster, candidate()))
    assert (one.choice, one.answer, one.fewest_hosts) == ("replicas", "one machine", ("alpha",))


def test_a_row_describes_the_layout_that_it_tells_to_take() -> None:
    both = replace(candidate(name="cluster", kind="cluster", hosts=("alpha", "beta"), takes=80), marginal=True)
    one = row(plan(both, candidate()))
    assert (one.choice, one.hosts, one.needs_bytes, one.full, one.tight) == (
        "cluster",
        ("alpha", "beta"),
        80,
        0.5,
        True,
    )
    assert (one.fewest_hosts, one.fewest_tight) == (("alpha",), False)


def test_main_memory_does_not_count_as_fitting_on_cards() -> None:
    in_ram = candidate(name="alpha-experts-in-ram", kind="experts-in-ram")
    assert row(plan(in_ram)).answer == "with main memory"
    assert row(plan(in_ram, candidate(kind="cluster", hosts=("alpha", "beta")))).answer == "several machines"


def test_a_layout_that_was_asked_for_is_the_answer() -> None:
    made = plan(candidate(kind="cluster", hosts=("alpha", "beta")), candidate())
    one = points.point(made, rig=Rig(hosts=()), scan=SCAN, prices={}, changes={}, layout="cluster")
    assert one.answer == "several machines"


def test_all_cards_of_the_machines_count_and_the_processor_does_not() -> None:
    both = candidate(kind="cluster", hosts=("alpha", "beta"), takes=80)
    assert points.fullness(both, SCAN) == 0.5
    assert points.fullness(candidate(kind="card", takes=80), SCAN) == 0.8


def test_each_user_wants_a_token_as_often_as_the_limit_says() -> None:
    ten = Predicted(users_tokens_per_s=Value(value=40.0, low=1, high=90))
    assert points.is_quick(ten, Workload(users=4), tpot_limit_ms=100.0) is True
    assert points.is_quick(ten, Workload(users=5), tpot_limit_ms=100.0) is False
    assert points.is_quick(Predicted(), Workload(users=4), tpot_limit_ms=100.0) is None


def test_what_the_processor_holds_fills_no_card() -> None:
    whole = candidate(kind="partial-offload")
    left = replace(whole.devices[0], card="cpu", device="CPU", position=-1, total_bytes=4000)
    one = row(plan(replace(whole, devices=(left, *whole.devices))))
    assert (one.full, one.needs_bytes) == (0.5, 50)
