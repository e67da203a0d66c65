"""Hosts whose workers somebody else started, seen through RPC alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from evener.dialects import nvidia_paste
from evener.edges.rpc_probe import RpcProbe
from evener.records.card import HostSeen, Pasted
from evener.records.rig import Host, Rig
from evener.scan.endpoints import visit
from evener.scan.take import Door, Known, take
from evener.testing.fake_linux import fake_linux
from evener.testing.fake_worker import FakeWorker
from tests import case_one
from tests.edges.workers import free_port, real_worker, web_server

GIB, MIB = 1 << 30, 1 << 20
TABLE = (Path(__file__).parents[1] / "captures" / "nvidia_smi" / "table_two_5090.txt").read_text()


def rig(*endpoints: str, reserve_bytes: int = 0) -> Rig:
    return Rig(
        hosts=(
            Host(name="alpha", connection="local"),
            Host(name="windows", connection="endpoint", endpoints=endpoints, reserve_bytes=reserve_bytes),
        )
    )


async def seen(of: Rig, *, pasted: Pasted | None = None, in_use: Mapping[str, str] | None = None) -> HostSeen:
    visits = await visit(of, RpcProbe(), in_use=in_use or {}, within_s=0.5)
    known = Known(visits=visits, pasted={"windows": pasted} if pasted else {})
    scan = await take(of, {"alpha": Door(shell=fake_linux("alpha"))}, now=case_one.NOON, known=known)
    return scan.hosts[1]


def pasted(text: str) -> Pasted:
    return Pasted(host="windows", taken_at=case_one.NOON, cards=nvidia_paste.parse(text))


async def test_a_card_stands_for_each_device_with_what_the_worker_says() -> None:
    with FakeWorker(devices=((30 * GIB, 31 * GIB), (15 * GIB, 16 * GIB))) as worker:
        host = await seen(rig(worker.endpoint, reserve_bytes=GIB))
    assert host.fault is None
    assert [(c.id, c.kind, c.device, c.free_bytes, c.total_bytes, c.offered_bytes) for c in host.cards] == [
        (f"{worker.endpoint}/0", "unknown", "#0", 30 * GIB, 31 * GIB, 29 * GIB),
        (f"{worker.endpoint}/1", "unknown", "#1", 15 * GIB, 16 * GIB, 14 * GIB),
    ]
    assert {(c.endpoint, c.protocol, c.holders, c.note) for c in host.cards} == {(worker.endpoint, "7.0.0", None, None)}


async def test_a_worker_that_calls_all_of_its_memory_free_is_doubted_in_one_line() -> None:
    with FakeWorker(devices=((64 * GIB, 64 * GIB),)) as worker:
        (card,) = (await seen(rig(worker.endpoint))).cards
    assert card.note == "calls all of its memory free, as a worker on a CPU does: that is no measure"
    assert card.free_bytes == 64 * GIB  # as told


async def test_more_free_than_there_is_is_no_figure() -> None:
    with FakeWorker(devices=((120 * GIB, 62 * GIB),)) as worker:
        (card,) = (await seen(rig(worker.endpoint))).cards
    assert (card.free_bytes, card.offered_bytes) == (None, None)
    assert card.note == "says that 122880 MiB of 63488 are free: that is no measure"


async def test_each_way_to_fail_is_one_line_and_the_others_are_seen() -> None:
    with (
        FakeWorker(manners="silent") as silent,
        FakeWorker(manners="closes") as closes,
        FakeWorker(protocol=(5, 0, 0)) as old,
        FakeWorker() as well,
        web_server() as web,
    ):
        closed = f"127.0.0.1:{free_port()}"
        host = await seen(rig(silent.endpoint, closes.endpoint, old.endpoint, web, closed, well.endpoint))
    assert host.fault is not None
    first, second, *rest = host.fault.split("; ")
    assert first == f"{silent.endpoint}: connected, but no answer to HELLO within 0.5 s"
    assert second.startswith(f"{closes.endpoint}: closed the connection")  # at once, or after a reset
    assert rest == [
        f"{old.endpoint}: speaks RPC 5.0.0, our engine 7.0.0",
        f"{web}: a web server answers there",
        f"{closed}: nobody listens",
    ]
    assert [c.endpoint for c in host.cards] == [well.endpoint]


async def test_a_worker_that_serves_a_deployment_is_left_alone() -> None:
    with FakeWorker() as worker:
        host = await seen(rig(worker.endpoint), in_use={worker.endpoint: "smollm2"})
        assert worker.commands == []
    assert host.fault == f"{worker.endpoint}: serves smollm2 and is left alone: it has one client at a time"


async def test_devices_take_their_places_by_endpoint_and_a_silent_one_counts_as_one() -> None:
    with FakeWorker(devices=((GIB, 2 * GIB), (GIB, 2 * GIB))) as worker:
        closed = f"127.0.0.1:{free_port()}"
        of = rig(closed, worker.endpoint)
        visits = await visit(of, RpcProbe(), in_use={}, within_s=1)
        doors = {"alpha": Door(shell=fake_linux("alpha"))}
        scan = await take(of, doors, now=case_one.NOON, known=Known(visits=visits))
    assert [(d.name, d.endpoint, d.card_id, d.worker_device) for d in scan.devices] == [
        ("RPC0", closed, None, None),
        ("RPC1", worker.endpoint, f"{worker.endpoint}/0", "#0"),
        ("RPC2", worker.endpoint, f"{worker.endpoint}/1", "#1"),
        ("RPC3", "127.0.0.1:50052", "cpu", "CPU"),
    ]


async def test_pasted_names_go_to_the_devices_of_their_size() -> None:
    table = pasted(
        "name, pci.bus_id, memory.total [MiB]\n"
        "NVIDIA GeForce RTX 5090, 00000000:01:00.0, 32607 MiB\n"
        "NVIDIA GeForce RTX 5060 Ti, 00000000:02:00.0, 16311 MiB\n"
    )
    with FakeWorker(devices=((15000 * MIB, 15900 * MIB), (30000 * MIB, 32109 * MIB))) as worker:
        host = await seen(rig(worker.endpoint), pasted=table)
    assert [(c.name, c.kind, c.bus_id, c.total_bytes, c.free_bytes) for c in host.cards] == [
        ("NVIDIA GeForce RTX 5060 Ti", "cuda", "00000000:02:00.0", 15900 * MIB, 15000 * MIB),
        ("NVIDIA GeForce RTX 5090", "cuda", "00000000:01:00.0", 32109 * MIB, 30000 * MIB),
    ]
    assert {(c.pasted_at, c.holders) for c in host.cards} == {(case_one.NOON, None)}


async def test_of_two_equal_cards_the_name_is_known_and_the_bus_id_is_not() -> None:
    with FakeWorker(devices=((1 * GIB, 32109 * MIB), (2 * GIB, 32109 * MIB))) as worker:
        host = await seen(rig(worker.endpoint), pasted=pasted(TABLE))
    assert [(c.name, c.bus_id) for c in host.cards] == [("NVIDIA GeForce RTX 5090", None)] * 2


async def test_a_device_of_another_size_keeps_its_number() -> None:
    with FakeWorker(devices=((1 * GIB, 64 * GIB),)) as worker:
        (card,) = (await seen(rig(worker.endpoint), pasted=pasted(TABLE))).cards
    assert (card.name, card.pasted_at) == (f"device 0 of {worker.endpoint}", None)


async def test_where_no_worker_answers_the_pasted_cards_are_shown_and_take_no_part() -> None:
    host = await seen(rig(f"127.0.0.1:{free_port()}"), pasted=pasted(TABLE))
    assert [(c.name, c.device, c.endpoint, c.pasted_at) for c in host.cards] == [
        ("NVIDIA GeForce RTX 5090", None, None, case_one.NOON)
    ] * 2


@pytest.mark.engine
async def test_a_real_worker_is_seen_as_it_is(engine: Path) -> None:
    with real_worker(engine, devices="CPU,CPU") as worker:
        host = await seen(rig(worker.endpoint))
    total = int(Path("/proc/meminfo").read_text().split()[1]) >> 10
    assert [(c.id, (c.total_bytes or 0) >> 20) for c in host.cards] == [
        (f"{worker.endpoint}/0", total),
        (f"{worker.endpoint}/1", total),
    ]
    assert host.cards[0].note is not None
    assert host.cards[0].note.startswith("calls all of its memory free")
