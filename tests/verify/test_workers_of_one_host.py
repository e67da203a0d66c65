"""A host may run a worker for each of its cards: each card is held to its own promise."""

from dataclasses import replace

from evener.records.card import Holder
from evener.records.deployment import Buffer, Loaded, Process, UsedDevice
from evener.records.plan import Candidate, DevicePlan
from evener.verify.freed import check_freed
from evener.verify.loaded import check_loaded
from tests.rigs import GIB, card, scan, seen

FIRST = DevicePlan(
    host="beta", card="GPU-0", card_name="RTX 5090", device="RPC0", position=0, layers=20, weights_bytes=10 * GIB,
    kv_bytes=GIB, compute_bytes=GIB, overhead_bytes=0, total_bytes=12 * GIB, free_bytes=32 * GIB,
)  # fmt: skip
SECOND = replace(FIRST, card="GPU-1", device="RPC1", position=1, layers=21)
PLAN = Candidate(
    name="cluster-per-card", kind="cluster", hosts=("alpha", "beta"), fits=True, short_bytes=0,
    devices=(FIRST, SECOND), host_bytes={}, servers=(), workers=(),
)  # fmt: skip
WORKERS = tuple(
    Process(role="worker", host="beta", pid=pid, listen=f"10.0.0.2:{port}", argv=("ggml-rpc-server",))
    for pid, port in ((7, 50052), (8, 50053))
)
LOADED = Loaded(
    devices=tuple(
        UsedDevice(name=name, description=worker.listen, bus_id=None, free_bytes=None)
        for name, worker in zip(("RPC0", "RPC1"), WORKERS, strict=True)
    ),
    layers={"RPC0": 20, "RPC1": 21},
    buffers=tuple(Buffer(device=name, kind="weights", bytes=11 * GIB) for name in ("RPC0", "RPC1")),
)


def looked(*holders, used=0):
    """beta's two cards with what is held on each."""
    cards = [
        card("RTX 5090", 32 * GIB, id=f"GPU-{number}", device=f"CUDA{number}", holders=held, used_bytes=used)
        for number, held in enumerate(holders)
    ]
    return scan(seen("beta", *cards))


def held(pid, gib=11):
    return Holder(kind="process", bytes=gib * GIB, pid=pid, command="ggml-rpc-server")


def test_each_card_is_as_planned_under_its_own_worker():
    checks = check_loaded(PLAN, LOADED, looked((held(7),), (held(8),)), WORKERS)
    assert [(c.verdict, c.measured_bytes) for c in checks] == [("as planned", 11 * GIB)] * 2


def test_two_workers_on_one_card_leave_the_other_missing():
    checks = check_loaded(PLAN, LOADED, looked((), (held(7), held(8))), WORKERS)
    assert [c.verdict for c in checks] == ["missing", "over"]
    assert checks[0].why == "our process holds memory on RTX 5090 (GPU-1) instead"


def test_memory_that_one_of_the_workers_keeps_is_held_on_its_card_only():
    before, after = looked((), ()), looked((), (held(8),))
    checks = check_freed(PLAN, before, None, after, WORKERS)
    assert [c.verdict for c in checks] == ["freed", "held"]
    assert checks[1].why == "our own pid 8 still holds memory"
