"""A CPU card is measured by its worker's resident set: between weights + KV and the planned total."""

from dataclasses import replace

from evener.records.card import Holder
from evener.records.deployment import Buffer, Loaded, Process, UsedDevice
from evener.records.plan import Candidate, DevicePlan
from evener.verify.loaded import check_loaded
from tests.rigs import GIB, MIB, card, cpu, scan, seen

PLAN = DevicePlan(
    host="beta", card="cpu", card_name="EPYC", device="RPC0", position=0, layers=16, weights_bytes=34 * MIB,
    kv_bytes=96 * MIB, compute_bytes=43 * MIB, overhead_bytes=0, total_bytes=173 * MIB, free_bytes=None,
)  # fmt: skip
CANDIDATE = Candidate(
    name="cluster", kind="cluster", hosts=("beta",), fits=True, short_bytes=0, devices=(PLAN,), host_bytes={},
    servers=(), workers=(),
)  # fmt: skip
WORKER = Process(role="worker", host="beta", pid=7, listen="127.0.0.2:50052", argv=("ggml-rpc-server",))


def loaded(*, layers=16, weights=34, device="RPC0"):
    return Loaded(
        devices=(UsedDevice(name=device, description="127.0.0.2:50052", bus_id=None, free_bytes=None),),
        layers={device: layers},
        buffers=(
            Buffer(device=device, kind="weights", bytes=weights * MIB),
            Buffer(device=device, kind="kv", bytes=96 * MIB),
            Buffer(device=device, kind="compute", bytes=43 * MIB),
        ),
    )


def check(what, *holders, pid=7):
    process = Process(role="worker", host="beta", pid=pid, listen=WORKER.listen, argv=WORKER.argv)
    return check_loaded(CANDIDATE, what, scan(seen("beta", cpu(holders=holders))), (process,))[0]


def worker_holding(mib):
    return Holder(kind="process", bytes=mib * MIB, pid=7, command="ggml-rpc-server")


def test_resident_set_between_caches_and_total_is_as_planned():
    one = check(loaded(), worker_holding(137))
    assert (one.verdict, one.measured_bytes, one.reported_bytes) == ("as planned", 137 * MIB, 173 * MIB)
    assert (one.layers_planned, one.layers_seen) == (16, 16)


def test_weights_that_are_not_there_are_under():
    one = check(loaded(), worker_holding(60))
    assert one.verdict == "under"
    # 98 % of 130 MiB are 127.4; 60 are there
    assert one.why == "67 MiB less than its weights and caches"


def test_more_than_the_total_and_its_slack_is_over():
    assert check(loaded(), worker_holding(173 + 64)).verdict == "as planned"
    over = check(loaded(), worker_holding(173 + 65))
    assert (over.verdict, over.why) == ("over", "65 MiB more than planned")


def test_what_the_engine_reports_is_held_to_the_same_limits():
    assert check(loaded(weights=134), worker_holding(137)).verdict == "over"


def test_a_card_nobody_could_read_is_unknown_not_under():
    blind = scan(seen("beta", cpu(holders=None)))
    one = check_loaded(CANDIDATE, loaded(), blind, (WORKER,))[0]
    assert (one.verdict, one.measured_bytes) == ("unknown", None)


def on_gpu(*cards, bus_id=None):
    """The worker's device is planned on the RTX 5080."""
    plan = replace(PLAN, card="GPU-1", card_name="RTX 5080")
    what = loaded()
    device = replace(what.devices[0], bus_id=bus_id)
    candidate = replace(CANDIDATE, devices=(plan,))
    return check_loaded(candidate, replace(what, devices=(device,)), scan(seen("beta", *cards)), (WORKER,))[0]


def test_a_model_on_another_card_than_planned_is_missing():
    cards = (
        card("RTX 5080", 16 * GIB, id="GPU-1"),
        card("RTX 5060 Ti", 16 * GIB, id="GPU-2", holders=(worker_holding(173),)),
    )
    one = on_gpu(*cards)
    assert (one.verdict, one.why) == ("missing", "our process holds memory on RTX 5060 Ti (GPU-2) instead")


def test_a_device_with_another_bus_id_than_planned_is_missing():
    planned = card("RTX 5080", 16 * GIB, id="GPU-1", bus_id="00000000:03:00.0", holders=(worker_holding(173),))
    assert on_gpu(planned, bus_id="0000:03:00.0").verdict == "as planned"
    one = on_gpu(planned, bus_id="0000:1b:00.0")
    assert (one.verdict, one.why) == ("missing", "the engine's RPC0 is the card at 0000:1b:00.0, not 00000000:03:00.0")


def test_a_log_without_layers_is_no_proof():
    assert check(replace(loaded(), layers={}), worker_holding(137)).verdict == "missing"


def test_memory_of_somebody_elses_process_is_not_ours():
    one = check(loaded(), worker_holding(137), pid=8)
    assert (one.verdict, one.measured_bytes) == ("unknown", None)


def test_a_device_the_engine_does_not_use_is_missing():
    one = check(loaded(device="RPC1"), worker_holding(137))
    assert (one.verdict, one.why) == ("missing", "the engine does not use RPC0")


def test_layers_that_went_elsewhere_are_missing_though_the_memory_fits():
    one = check(loaded(layers=15), worker_holding(137))
    assert (one.verdict, one.why) == ("missing", "15 of 16 planned layers are there")


def test_layers_left_to_the_cpu_share_its_memory_with_what_the_head_holds_anyway():
    left = replace(PLAN, device="CPU", position=-1)
    candidate = replace(CANDIDATE, devices=(left,), host_bytes={"beta": 500 * MIB})
    what = Loaded(
        devices=(), layers={"CPU": 16}, buffers=(Buffer(device="host", kind="weights", bytes=600 * MIB),)
    )  # fmt: skip
    one = check_loaded(candidate, what, scan(seen("beta", cpu())), ())[0]
    assert one.ceiling_bytes == (173 + 500 + 64) * MIB
    assert one.verdict == "unknown", "it is no more than planned; the driver did not say"


def test_a_draft_model_in_the_heads_ram_is_no_excess_of_its_processor():
    alone = replace(PLAN, device="CPU")
    candidate = replace(CANDIDATE, devices=(alone,), host_bytes={"beta": 130 * MIB})
    head = replace(WORKER, role="head")
    what = Loaded(devices=(), layers={"CPU": 16}, buffers=(Buffer(device="host", kind="weights", bytes=300 * MIB),))
    one = check_loaded(candidate, what, scan(seen("beta", cpu(holders=(worker_holding(300),)))), (head,))[0]
    assert (one.verdict, one.ceiling_bytes) == ("as planned", (173 + 130 + 64) * MIB)
