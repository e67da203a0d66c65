"""Somebody else's workers in a plan: named to the head, never started, counted with all of their devices."""

from __future__ import annotations

from evener.launch.bring_up import foreign_endpoints
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.seats import names_at_head, seats_of
from evener.records.card import Card
from evener.records.plan import Candidate, Workload
from evener.records.rig import Host, Rig
from evener.verify.loaded import held_bytes
from tests.rigs import GIB, card, cpu, scan, seen, weights

ONE, OTHER = "10.0.0.3:50052", "10.0.0.4:50052"
HOSTS = (
    Host(name="alpha", connection="local", address="10.0.0.1"),
    Host(name="windows", connection="endpoint", endpoints=(ONE, OTHER)),
    Host(name="beta", connection="ssh", ssh="beta", address="10.0.0.2"),
)
ALPHA = seen("alpha", card("RTX 5090", 1 * GIB))


def far(endpoint: str, number: int, free_bytes: int = GIB) -> Card:
    return card(
        "?", free_bytes, kind="unknown", device=f"#{number}", id=f"{endpoint}/{number}", endpoint=endpoint, holders=None
    )


def cluster(*hosts, rig=HOSTS, blocks=20) -> Candidate:
    question = Question(
        rig=Rig(hosts=rig),
        scan=scan(*hosts),
        weights=weights(blocks=blocks),
        workload=Workload(context=1024),
        tools=Tools(engines={}, ports={}),
    )
    found = make_plan(question, layout="cluster").candidate("cluster")
    assert found is not None
    return found


def flag(argv, name):
    return argv[argv.index(name) + 1]


def test_the_head_is_told_the_endpoint_and_no_worker_is_started() -> None:
    made = cluster(ALPHA, seen("windows", far(ONE, 0, 2 * GIB)))
    assert (made.fits, made.workers) == (True, ())
    assert flag(made.servers[0].argv, "--rpc") == ONE
    assert flag(made.servers[0].argv, "--device") == "RPC0,CUDA0"
    assert foreign_endpoints(made) == (ONE,)
    assert [(d.host, d.card, d.device) for d in made.devices] == [
        ("windows", f"{ONE}/0", "RPC0"),
        ("alpha", ALPHA.cards[0].id, "CUDA0"),
    ]


def test_endpoints_and_own_workers_are_numbered_in_the_order_of_rpc() -> None:
    made = cluster(
        ALPHA, seen("windows", far(ONE, 0), far(ONE, 1), far(OTHER, 0)), seen("beta", card("RTX 5080", GIB)), blocks=40
    )
    assert flag(made.servers[0].argv, "--rpc") == f"{ONE},{OTHER},10.0.0.2:50052"
    assert [d.device for d in made.devices] == ["RPC0", "RPC1", "RPC2", "RPC3", "CUDA0"]
    assert [w.host for w in made.workers] == ["beta"]


def test_a_device_that_takes_no_slot_still_has_its_number() -> None:
    windows = seen("windows", far(ONE, 0, 0), far(ONE, 1, 2 * GIB), far(OTHER, 0))
    seats = [*seats_of(HOSTS[1], scan(windows)), *seats_of(HOSTS[0], scan(ALPHA))]
    assert [s.card.id for s in seats[:2]] == [f"{ONE}/1", f"{OTHER}/0"]
    assert names_at_head(seats, "alpha") == ["RPC1", "RPC2", "CUDA0"]


def test_a_head_that_gets_no_layer_serves_all_the_same() -> None:
    alpha = seen("alpha", card("RTX 5090", 1))  # room for nothing
    made = cluster(alpha, seen("windows", far(ONE, 0, 8 * GIB)), rig=HOSTS[:2], blocks=4)
    assert [(d.host, d.device) for d in made.devices] == [("windows", "RPC0")]
    assert (made.workers, made.servers[0].host) == ((), "alpha")
    assert (flag(made.servers[0].argv, "--device"), flag(made.servers[0].argv, "--rpc")) == ("RPC0", ONE)


def test_an_endpoint_host_is_never_a_head() -> None:
    question = Question(
        rig=Rig(hosts=HOSTS[:2]),
        scan=scan(seen("alpha"), seen("windows", far(ONE, 0, 20 * GIB))),
        weights=weights(),
        workload=Workload(context=1024),
        tools=Tools(engines={}, ports={}),
    )
    assert [c.name for c in make_plan(question).candidates if c.fits] == []


def test_what_an_endpoint_holds_cannot_be_verified() -> None:
    windows = seen("windows", far(ONE, 0, 2 * GIB))
    made = cluster(ALPHA, windows)
    assert held_bytes(made.devices[0], scan(ALPHA, windows), ()) is None


def test_an_integrated_gpu_takes_slots_only_where_there_is_no_other() -> None:
    graphics = card("Raphael", 8 * GIB, device="ROCm1", kind="rocm", integrated=True)
    real = card("RX 6800", 16 * GIB, device="ROCm0", kind="rocm")
    both, alone = scan(seen("alpha", graphics, real, cpu())), scan(seen("alpha", graphics, cpu()))
    assert [s.device for s in seats_of(HOSTS[0], both)] == ["ROCm0"]
    assert [s.device for s in seats_of(HOSTS[0], alone)] == ["ROCm1"]


def test_somebody_elses_workers_alone_are_no_layout() -> None:
    """Nobody could start llama-server beside them, so there is no head, whatever a rig made in code says."""
    question = Question(
        rig=Rig(hosts=HOSTS[1:]),
        scan=scan(seen("windows", far(ONE, 0, 20 * GIB)), seen("beta", card("RTX 3090", 1 * GIB))),
        weights=weights(blocks=20),
        workload=Workload(context=1024),
        tools=Tools(engines={}, ports={}),
    )
    assert [c.kind for c in make_plan(question).candidates if c.kind == "cluster"] == []
