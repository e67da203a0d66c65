"""The stand-in worker and the real one keep one contract; probe and measurement are safe for both."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from evener.dialects import rpc_wire as wire
from evener.edges.rpc_bench import RpcPayload
from evener.edges.rpc_probe import RpcProbe
from evener.edges.rpc_visit import _timeval, visit
from evener.errors import (
    EndpointBusy,
    EndpointError,
    EndpointNotRpc,
    EndpointRefused,
    EndpointTimedOut,
    EndpointUnresolved,
    EndpointWrongProtocol,
)
from evener.testing.fake_worker import FakeWorker
from tests.edges.workers import RealWorker, free_port, real_worker, web_server

GIB = 1 << 30
MIB = 1 << 20


@pytest.mark.parametrize(
    ("within_s", "kernel"), [(30.0, (30, 0)), (0.5, (0, 500_000)), (1.25, (1, 250_000)), (0.0, (0, 1)), (1e-9, (0, 1))]
)
def test_a_deadline_below_a_second_is_not_for_ever(within_s: float, kernel: tuple[int, int]) -> None:
    assert struct.unpack("@ll", _timeval(within_s)) == kernel


class WorkerContract:
    """Run against each worker by a subclass with an `endpoint` fixture."""

    async def test_it_says_its_protocol_and_the_memory_of_each_device(self, endpoint: str) -> None:
        seen = await RpcProbe().hello(endpoint)
        assert (seen.endpoint, seen.protocol) == (endpoint, "7.0.0")
        assert len(seen.devices) == 2
        assert all(0 < free <= total for free, total in seen.devices)

    async def test_a_visit_leaves_it_ready_for_the_next_client(self, endpoint: str) -> None:
        for _ in range(3):
            await RpcProbe().hello(endpoint)

    async def test_it_keeps_what_is_set_and_gives_it_back(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as worker:
            await worker.hello(wire.PROTOCOL, within_s=3)
            buffer = wire.read_buffer(await worker.ask(wire.alloc(1, 4096), 16, within_s=3))
            assert buffer is not None
            base = wire.read_number(await worker.ask(wire.buffer_base(buffer), 8, within_s=3))
            tensor, data = wire.region(buffer, base, 4096), bytes(range(256)) * 16
            await worker.tell(wire.set_tensor_head(tensor, 4096), data, within_s=3)
            assert await worker.ask(wire.get_tensor(tensor, 4096), 4096, within_s=3) == data
            assert await worker.fetch(wire.get_tensor(tensor, 4096), 4096, within_s=3) == data
            await worker.tell(wire.free(buffer), within_s=3)
            assert wire.read_count(await worker.ask(wire.device_count(), 4, within_s=3)) == 2

    async def test_an_allocation_beyond_its_memory_is_refused_and_it_lives(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as worker:
            await worker.hello(wire.PROTOCOL, within_s=3)
            assert wire.read_buffer(await worker.ask(wire.alloc(0, 1 << 50), 16, within_s=3)) is None
        await RpcProbe().hello(endpoint)

    async def test_a_device_it_has_not_ends_the_connection_and_it_lives(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as worker:
            await worker.hello(wire.PROTOCOL, within_s=3)
            with pytest.raises(EndpointNotRpc, match="closed the connection"):
                await worker.ask(wire.device_memory(7), 16, within_s=3)
        await RpcProbe().hello(endpoint)

    async def test_a_buffer_nobody_made_ends_the_connection_and_it_lives(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as worker:
            await worker.hello(wire.PROTOCOL, within_s=3)
            with pytest.raises(EndpointNotRpc, match="closed the connection"):
                await worker.ask(wire.buffer_base(12345), 8, within_s=3)
        await RpcProbe().hello(endpoint)

    async def test_hello_comes_first_and_once(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as worker:
            with pytest.raises(EndpointNotRpc, match="closed the connection"):
                await worker.ask(wire.device_count(), 4, within_s=3)
        async with visit(endpoint, within_s=3) as worker:
            await worker.hello(wire.PROTOCOL, within_s=3)
            with pytest.raises(EndpointNotRpc, match="closed the connection"):
                await worker.hello(wire.PROTOCOL, within_s=3)
        await RpcProbe().hello(endpoint)

    async def test_it_serves_one_client_and_the_next_waits_its_turn(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as first:
            await first.hello(wire.PROTOCOL, within_s=3)
            waiting = asyncio.ensure_future(RpcProbe().hello(endpoint, within_s=5))
            await asyncio.sleep(0.3)
            assert not waiting.done()
        assert (await waiting).protocol == "7.0.0"

    async def test_a_queued_visit_that_gives_up_leaves_it_alive(self, endpoint: str) -> None:
        async with visit(endpoint, within_s=3) as first:
            await first.hello(wire.PROTOCOL, within_s=3)
            with pytest.raises(EndpointBusy, match=r"connected, but no answer to HELLO within 0\.4 s"):
                await RpcProbe().hello(endpoint, within_s=0.4)
        assert (await RpcProbe().hello(endpoint)).protocol == "7.0.0"

    async def test_its_payload_is_measured_with_n_and_spread(self, endpoint: str) -> None:
        found = await RpcPayload().measure(endpoint, device="CPU")
        assert (found.endpoint, found.device, found.rtt_us.n) == (endpoint, "CPU", 100)
        assert [hop.bytes for hop in found.hops] == [4096, 16384, 65536]
        for one in (found.rtt_us, found.set_mib_per_s, found.get_mib_per_s, *(hop.get_us for hop in found.hops)):
            assert 0 < one.low <= one.p50 <= one.high
            assert one.n >= 2
        assert (await RpcProbe().hello(endpoint)).protocol == "7.0.0"

    @pytest.mark.parametrize("after_s", [0.0, 0.01, 0.03, 0.06, 0.1])
    async def test_a_measurement_that_is_cancelled_leaves_it_ready(self, endpoint: str, after_s: float) -> None:
        """Wherever it was: a worker that answers somebody who has left dies of SIGPIPE."""
        measuring = asyncio.ensure_future(RpcPayload().measure(endpoint, device="CPU"))
        await asyncio.sleep(after_s)
        measuring.cancel()
        with suppress(asyncio.CancelledError):
            await measuring
        assert (await RpcProbe().hello(endpoint)).protocol == "7.0.0"


class TestFakeWorker(WorkerContract):
    @pytest.fixture
    def endpoint(self) -> Iterator[str]:
        with FakeWorker(devices=((6 * GIB, 8 * GIB), (16 * GIB, 16 * GIB))) as worker:
            yield worker.endpoint

    async def test_its_devices_are_what_was_asked_for(self, endpoint: str) -> None:
        assert (await RpcProbe().hello(endpoint)).devices == ((6 * GIB, 8 * GIB), (16 * GIB, 16 * GIB))


@pytest.mark.engine
class TestRealWorker(WorkerContract):
    @pytest.fixture
    def worker(self, engine: Path) -> Iterator[RealWorker]:
        with real_worker(engine, devices="CPU,CPU") as worker:
            yield worker

    @pytest.fixture
    def endpoint(self, worker: RealWorker) -> str:
        return worker.endpoint

    async def test_it_is_the_same_process_after_a_queued_visit_gave_up(self, worker: RealWorker) -> None:
        async with visit(worker.endpoint, within_s=3) as first:
            await first.hello(wire.PROTOCOL, within_s=3)
            for _ in range(2):  # its queue holds two
                with pytest.raises(EndpointBusy):
                    await RpcProbe().hello(worker.endpoint, within_s=0.4)
        await RpcProbe().hello(worker.endpoint)
        assert worker.is_alive

    async def test_a_visitor_that_leaves_politely_would_have_killed_it(self, worker: RealWorker) -> None:
        """Why the probe resets: the same visit, closed as everybody closes a socket."""
        address, _, port = worker.endpoint.partition(":")
        async with visit(worker.endpoint, within_s=3) as first:
            await first.hello(wire.PROTOCOL, within_s=3)
            with socket.create_connection((address, int(port))) as polite:
                polite.sendall(wire.hello())
        for _ in range(100):
            if not worker.is_alive:
                return
            await asyncio.sleep(0.05)
        pytest.skip("this build survives a polite visitor: the reset has become a courtesy")


# ---- the ways it can fail


async def test_nobody_listens() -> None:
    with pytest.raises(EndpointRefused, match=r"^127\.0\.0\.1:\d+: nobody listens$"):
        await RpcProbe().hello(f"127.0.0.1:{free_port()}")


async def test_a_web_server_is_told_from_a_busy_worker() -> None:
    with web_server() as endpoint, pytest.raises(EndpointNotRpc, match="a web server answers there"):
        await RpcProbe().hello(endpoint, within_s=0.5)


async def test_a_silent_socket_is_busy_or_no_worker() -> None:
    with FakeWorker(manners="silent") as worker, pytest.raises(EndpointBusy, match="no answer to HELLO"):
        await RpcProbe().hello(worker.endpoint, within_s=0.3)


async def test_a_socket_that_closes_is_no_worker() -> None:
    with FakeWorker(manners="closes") as worker, pytest.raises(EndpointNotRpc, match="closed the connection"):
        await RpcProbe().hello(worker.endpoint)


@pytest.mark.parametrize("protocol", [(5, 0, 0), (7, 1, 0), (8, 0, 0)])
async def test_another_protocol_is_named_beside_ours(protocol: tuple[int, int, int]) -> None:
    said = ".".join(map(str, protocol))
    with (
        FakeWorker(protocol=protocol) as worker,
        pytest.raises(EndpointWrongProtocol, match=rf"speaks RPC {said}, our engine 7\.0\.0"),
    ):
        await RpcProbe().hello(worker.endpoint)


async def test_another_patch_is_no_other_protocol() -> None:
    with FakeWorker(protocol=(7, 0, 3)) as worker:
        assert (await RpcProbe().hello(worker.endpoint)).protocol == "7.0.3"


@pytest.mark.parametrize("endpoint", ["nowhere", "127.0.0.1:0", "127.0.0.1:70000", "no-such-host.invalid:50052"])
async def test_what_is_no_endpoint_or_no_name_is_unresolved(endpoint: str) -> None:
    with pytest.raises(EndpointUnresolved):
        await RpcProbe().hello(endpoint, within_s=5)


async def test_a_full_queue_is_a_connection_that_times_out() -> None:
    with FakeWorker() as worker:
        address, _, port = worker.endpoint.partition(":")
        held = [socket.create_connection((address, int(port))) for _ in range(3)]
        try:
            with pytest.raises((EndpointTimedOut, EndpointBusy)):
                await RpcProbe().hello(worker.endpoint, within_s=0.4)
        finally:
            for sock in held:
                sock.close()


async def test_data_that_comes_back_changed_is_an_error_and_no_figure() -> None:
    with (
        FakeWorker(manners="garbles") as worker,
        pytest.raises(EndpointError, match="did not come back as they were sent"),
    ):
        await RpcPayload().measure(worker.endpoint, device="CPU")


async def test_a_device_without_room_is_an_error_with_its_size() -> None:
    with (
        FakeWorker(devices=((MIB, GIB),)) as worker,
        pytest.raises(EndpointError, match="could not allocate 8388608 bytes"),
    ):
        await RpcPayload().measure(worker.endpoint, device="CPU")


async def test_a_measurement_keeps_its_regions_inside_their_buffers() -> None:
    with FakeWorker() as worker:
        await RpcPayload().measure(worker.endpoint, device="CPU")
        await RpcProbe().hello(worker.endpoint)  # it is served only after what came before
    assert worker.commands.count(wire.ALLOC_BUFFER) == worker.commands.count(wire.FREE_BUFFER) == 4
    assert wire.TENSOR.size == 296
    fields = wire.TENSOR.unpack(wire.region(77, 1000, 4096))
    assert (fields[2], fields[3:7], fields[7:11], fields[-3]) == (77, (4096, 1, 1, 1), (1, 4096, 4096, 4096), 1000)
    assert struct.unpack("<BQ", wire.set_tensor_head(wire.region(77, 1000, 4096), 4096)[:9]) == (6, 296 + 9 + 4096)
