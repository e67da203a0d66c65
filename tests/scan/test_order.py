"""The engine's order of use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evener.dialects.nvidia_smi import parse_gpus
from evener.records.card import Card, HostSeen
from evener.records.rig import Host, Rig
from evener.scan.names import disagreements, name_devices
from evener.scan.order import device_order
from tests import case_one

CASE_4 = Path(__file__).parents[1] / "captures" / "nvidia_smi" / "case4.csv"


def card(name: str, *, device: str | None, integrated: bool = False, kind: str = "cuda", out: bool = False) -> Card:
    return Card(id=name, kind=kind, name=name, device=device, integrated=integrated, excluded=out)  # type: ignore[arg-type]


CPU = card("cpu", device="CPU", kind="cpu")


def seen(name: str, *cards: Card) -> HostSeen:
    return HostSeen(name=name, connection="local", cards=cards)


def local(name: str, address: str | None = None) -> Host:
    return Host(name=name, connection="local", address=address)


async def test_the_five_cards_of_two_hosts_stand_workers_first_and_the_head_last() -> None:
    scan = await case_one.scan()
    order = [(d.position, d.name, d.host, d.description, d.endpoint, d.worker_device) for d in scan.devices]
    assert order == [
        (0, "RPC0", "beta", "NVIDIA GeForce RTX 5080", "10.0.0.2:50052", "CUDA0"),
        (1, "RPC1", "beta", "NVIDIA GeForce RTX 5060 Ti", "10.0.0.2:50052", "CUDA1"),
        (2, "RPC2", "beta", "NVIDIA GeForce RTX 5060 Ti", "10.0.0.2:50052", "CUDA2"),
        (3, "CUDA0", "alpha", "NVIDIA GeForce RTX 5090", None, None),
        (4, "CUDA1", "alpha", "NVIDIA GeForce RTX 5060 Ti", None, None),
    ]


async def test_the_first_tensor_split_value_lands_on_the_workers_first_card_and_not_on_the_heads() -> None:
    scan = await case_one.scan()
    first = scan.devices[0]
    assert (first.host, first.card_id) == ("beta", "GPU-b1")


def test_engine_numbers_follow_the_bus_and_not_the_drivers_list() -> None:
    rows = parse_gpus(CASE_4.read_text())
    named = name_devices(tuple(reversed(rows)), case_one.engine("CUDA0", "CUDA1"))
    assert [(c.device, c.name) for c in named] == [
        ("CUDA0", "NVIDIA GeForce RTX 5090"),
        ("CUDA1", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"),
    ]


def test_bus_ids_are_compared_as_numbers_whatever_their_width() -> None:
    ids = ["00000001:01:00.0", "0000:0A:00.0", "00000000:1B:00.0", "0000:02:00.0"]
    cards = [replace(card(i, device=None), bus_id=i) for i in ids]
    assert [c.id for c in name_devices(cards, None)] == [
        "0000:02:00.0", "0000:0A:00.0", "00000000:1B:00.0", "00000001:01:00.0"
    ]  # fmt: skip


def test_a_card_the_engine_does_not_list_has_no_device_and_is_told() -> None:
    named = name_devices([card("RTX 5090", device=None), card("RTX 5080", device=None)], case_one.engine("CUDA0"))
    assert [c.device for c in named] == ["CUDA0", None]
    assert disagreements(named, case_one.engine("CUDA0")) == (
        "the engine does not see RTX 5090: was it built for it?",
    )  # ids stand in for missing bus ids: "RTX 5080" comes first


def test_an_engine_built_for_the_cpu_sees_no_card() -> None:
    named = name_devices([card("RTX 5090", device=None)], case_one.engine())
    assert named[0].device is None
    assert disagreements(named, case_one.engine()) == ("the engine does not see RTX 5090: was it built for it?",)


def test_the_only_device_is_the_only_card_whatever_the_backend() -> None:
    assert name_devices([card("RTX 5090", device=None)], case_one.engine("Vulkan0"))[0].device == "Vulkan0"


def test_a_device_that_no_known_card_is_gets_told() -> None:
    assert disagreements([CPU], case_one.engine("ROCm0")) == ("the engine has ROCm0, and no card known here is it",)


def test_a_worker_without_gpu_serves_its_cpu() -> None:
    rig = Rig(hosts=(local("alpha"), local("beta", "127.0.0.2")))
    order = device_order(rig, [seen("alpha", card("g", device="CUDA0"), CPU), seen("beta", CPU)])
    assert [(d.name, d.host, d.worker_device, d.endpoint) for d in order] == [
        ("RPC0", "beta", "CPU", "127.0.0.2:50052"),
        ("CUDA0", "alpha", None, None),
    ]


def test_a_head_without_gpu_is_served_by_a_worker_of_its_own_and_comes_last() -> None:
    rig = Rig(hosts=(local("alpha"), local("beta", "127.0.0.2")))
    order = device_order(rig, [seen("alpha", CPU), seen("beta", CPU)])
    assert [(d.name, d.host, d.endpoint) for d in order] == [
        ("RPC0", "beta", "127.0.0.2:50052"),
        ("RPC1", "alpha", "127.0.0.1:50052"),
    ]


def test_a_single_machine_without_gpu_has_its_cpu() -> None:
    (only,) = device_order(Rig(hosts=(local("alpha"),)), [seen("alpha", CPU)])
    assert (only.name, only.endpoint) == ("CPU", None)


def test_integrated_graphics_of_the_head_count_only_without_another_gpu() -> None:
    rig = Rig(hosts=(local("alpha"),))
    graphics = card("iGPU", device="Vulkan1", integrated=True, kind="vulkan")
    both = device_order(rig, [seen("alpha", graphics, card("g", device="CUDA0"), CPU)])
    assert [d.name for d in both] == ["CUDA0"]
    assert [d.name for d in device_order(rig, [seen("alpha", graphics, CPU)])] == ["Vulkan1"]


def test_integrated_graphics_of_a_worker_always_count() -> None:
    rig = Rig(hosts=(local("alpha"), local("beta", "10.0.0.2")))
    graphics = card("iGPU", device="Vulkan1", integrated=True, kind="vulkan")
    order = device_order(
        rig, [seen("alpha", card("g", device="CUDA0")), seen("beta", card("h", device="CUDA0"), graphics)]
    )
    assert [(d.name, d.worker_device) for d in order] == [("RPC0", "CUDA0"), ("RPC1", "Vulkan1"), ("CUDA0", None)]


def test_excluded_cards_take_no_position() -> None:
    rig = Rig(hosts=(local("alpha"),))
    order = device_order(rig, [seen("alpha", card("a", device="CUDA0", out=True), card("b", device="CUDA1"), CPU)])
    assert [(d.position, d.name) for d in order] == [(0, "CUDA1")]


def test_an_endpoint_nobody_asked_is_one_unknown_device() -> None:
    windows = Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052", "10.0.0.3:50053"))
    order = device_order(Rig(hosts=(local("alpha"), windows)), [seen("alpha", card("g", device="CUDA0"))])
    assert [(d.name, d.card_id, d.endpoint) for d in order] == [
        ("RPC0", None, "10.0.0.3:50052"),
        ("RPC1", None, "10.0.0.3:50053"),
        ("CUDA0", "g", None),
    ]
