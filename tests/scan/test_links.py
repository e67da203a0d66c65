"""Measuring a link: with stand-ins for each part that can be missing, and on this machine with the real tools."""

from __future__ import annotations

import asyncio
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.edges.rpc_bench import RpcPayload
from evener.edges.rpc_probe import RpcProbe
from evener.errors import EndpointTimedOut, HostError
from evener.ports import Finished, WorkerSeen
from evener.records.events import Progress
from evener.records.link import Hop, LinkMeasured, Measured, Payload
from evener.records.rig import Link
from evener.scan.links import Sides, Tunnel, Worker, World, _running, measure
from evener.scan.paths import End, Ends
from evener.testing.fake_shell import FakeShell, prints
from evener.testing.fake_worker import FakeWorker
from tests import case_one
from tests.edges.workers import free_port
from tests.engine.toys import script

CAPTURES = Path(__file__).parents[1] / "captures" / "net"
LINK = Link(name="5gbe", between=("alpha", "beta"))
BETWEEN = Ends(near=End(host="alpha", address="127.0.0.1"), far=End(host="beta", address="127.0.0.2"))
ONE = Measured(n=2, p50=2.0, low=1.0, high=3.0)
PAYLOAD = Payload(
    endpoint="127.0.0.2:50052",
    device="CUDA0",
    connect_us=77.0,
    rtt_us=ONE,
    set_mib_per_s=ONE,
    get_mib_per_s=ONE,
    hops=(Hop(bytes=4096, set_us=ONE, get_us=ONE),),
)
WORKER = Worker(binary="/opt/llama/ggml-rpc-server", device="CUDA0", port=50052)


class Answering:
    """A worker that is there and measures as `PAYLOAD`; `refuse` is what hello raises instead."""

    def __init__(self, refuse: Exception | None = None) -> None:
        self.refuse = refuse

    async def hello(self, endpoint: str, *, within_s: float = 3.0) -> WorkerSeen:
        if self.refuse is not None:
            raise self.refuse
        return WorkerSeen(endpoint=endpoint, protocol="7.0.0", devices=((1, 1),))

    async def measure(self, endpoint: str, *, device: str, within_s: float = 30.0) -> Payload:
        return replace(PAYLOAD, endpoint=endpoint, device=device)


def world(worker: Answering | None = None) -> World:
    worker = worker or Answering()
    return World(rpc=worker, bench=worker, report=lambda _: None, now=lambda: case_one.NOON)


def iperf(argv: Sequence[str], _stdin: bytes) -> Finished:
    return prints((CAPTURES / "iperf3_client.json").read_text())(argv, b"")


def near(**more: object) -> FakeShell:
    programs = {"ping": prints((CAPTURES / "ping.txt").read_text()), "iperf3": iperf}
    return FakeShell(host="alpha", programs={**programs, **more})  # type: ignore[dict-item]


def far() -> FakeShell:
    listens = ["-----------------", "Server listening on 50059 (test #1)"]
    return FakeShell(
        host="beta",
        programs={"iperf3": prints("")},
        children={"iperf3": listens, "ggml-rpc-server": ["Starting RPC server v7.0.0"]},
    )


async def test_everything_is_measured_one_part_after_another_and_nothing_is_left_running() -> None:
    shell = far()
    sides = Sides(near=near(), far=shell, worker=WORKER, spare_port=50059)
    done = await measure(LINK, BETWEEN, sides, world())
    assert (done.name, done.between, done.addresses) == ("5gbe", ("alpha", "beta"), ("127.0.0.1", "127.0.0.2"))
    assert done.out_gbit_per_s == done.back_gbit_per_s
    assert done.out_gbit_per_s is not None
    assert (done.out_gbit_per_s.n, round(done.out_gbit_per_s.p50, 1)) == (5, 14.5)
    assert done.rtt_us is not None
    assert (done.rtt_by, done.rtt_us.n, done.rtt_us.p50) == ("ping", 3, 36.0)
    assert done.payload == PAYLOAD
    assert done.taken_at == case_one.NOON
    assert [argv[:5] for argv in shell.ran if argv[0] == "iperf3"] == [("iperf3", "-s", "-1", "-B", "127.0.0.2")] * 2
    assert [argv for argv in shell.ran if argv[0].endswith("server")] == [
        ("/opt/llama/ggml-rpc-server", "-H", "127.0.0.2", "-p", "50052", "-d", "CUDA0")
    ]
    assert all(child._ended.is_set() for child in shell.started)


async def test_without_iperf3_the_rest_is_measured_and_the_host_is_named() -> None:
    shell = far()
    shell.programs = {}
    shell.children = {"ggml-rpc-server": []}
    done = await measure(LINK, BETWEEN, Sides(near=near(), far=shell, worker=WORKER, spare_port=50059), world())
    assert done.out_gbit_per_s is None
    assert "raw rate: no iperf3 on beta" in done.faults
    assert done.payload == PAYLOAD


class Lost(FakeShell):
    """A host that was there a moment ago."""

    async def which(self, name: str) -> str | None:
        raise HostError("beta: no answer from 10.0.0.2 port 22")


async def test_a_host_that_is_lost_meanwhile_leaves_nothing_but_its_reason() -> None:
    shell = near()
    shell.programs = {}
    blocked = Answering(EndpointTimedOut("127.0.0.2:50052", "no answer to a connection within 3 s"))
    sides = Sides(near=shell, far=Lost(host="beta"), worker=WORKER, spare_port=50059)
    done = await measure(LINK, BETWEEN, sides, world(blocked))
    assert done.is_empty
    assert "beta: no answer from 10.0.0.2 port 22" in done.faults


async def test_a_server_that_ends_at_once_is_said_at_once(tmp_path: Path) -> None:
    run = script(tmp_path / "ends", "echo 'bind: Address already in use'; exit 1")
    began = asyncio.get_running_loop().time()
    async with _running(LocalShell("beta"), [str(run)], {}) as server:
        with pytest.raises(HostError, match=r"^it ended: bind: Address already in use$"):
            await server.says(lambda line: "listening" in line, within_s=60)
    assert asyncio.get_running_loop().time() - began < 5


async def test_what_iperf3_says_is_told() -> None:
    refused = prints('{"error": "unable to connect to server: Connection refused"}', code=1)
    sides = Sides(near=near(iperf3=refused), far=far(), worker=WORKER, spare_port=50059)
    done = await measure(LINK, BETWEEN, sides, world())
    assert done.faults.count("raw rate: iperf3 on alpha: unable to connect to server: Connection refused") == 2


async def test_without_ping_a_connection_tells_the_round_trip() -> None:
    shell = near()
    shell.programs = {}
    done = await measure(LINK, BETWEEN, Sides(near=shell, far=far(), worker=WORKER), world())
    assert (done.rtt_us, done.rtt_by) == (Measured(n=1, p50=77.0, low=77.0, high=77.0), "tcp connect")


async def test_without_a_worker_the_reason_is_told() -> None:
    done = await measure(LINK, BETWEEN, Sides(near=near(), far=far(), why="no engine on beta"), world())
    assert done.payload is None
    assert "RPC payload: no engine on beta" in done.faults


async def test_a_firewall_is_named_and_the_worker_is_stopped() -> None:
    shell = far()
    blocked = Answering(EndpointTimedOut("127.0.0.2:50052", "no answer to a connection within 3 s"))
    done = await measure(LINK, BETWEEN, Sides(near=near(), far=shell, worker=WORKER), world(blocked))
    assert "127.0.0.2:50052: no answer to a connection within 3 s" in done.faults
    assert all(child._ended.is_set() for child in shell.started)


async def test_somebody_elses_worker_is_measured_where_it_is() -> None:
    with FakeWorker() as worker:
        sides = Sides(near=near(), endpoint=worker.endpoint)
        real = World(rpc=RpcProbe(), bench=RpcPayload(), report=lambda _: None, now=lambda: case_one.NOON)
        done = await measure(LINK, BETWEEN, sides, real)
    assert done.payload is not None
    assert (done.payload.endpoint, done.payload.device) == (worker.endpoint, "#0")


async def test_a_link_whose_far_end_has_no_address_is_refused() -> None:
    nowhere = Ends(near=BETWEEN.near, far=End(host="beta", address=None))
    with pytest.raises(HostError, match="link 5gbe: beta has no address on it"):
        await measure(LINK, nowhere, Sides(near=near()), world())


async def test_a_tunnel_without_ssh_is_a_fault_beside_the_direct_rate() -> None:
    tunnelled = replace(LINK, tunnel=True)
    done = await measure(tunnelled, BETWEEN, Sides(near=near(), far=far(), worker=WORKER), world())
    assert done.payload == PAYLOAD
    assert done.through_tunnel is None
    assert "RPC through ssh: the far end is not reached by ssh" in done.faults


async def test_progress_tells_the_parts() -> None:
    told: list[Progress] = []
    with_report = replace(world(), report=told.append)
    await measure(LINK, BETWEEN, Sides(near=near(), far=far(), worker=WORKER, spare_port=50059), with_report)
    assert [p.detail for p in told] == ["interfaces", "raw rate (iperf3)", "round trip (ping)", "RPC payload"]


# ---- the real thing, on this machine


def here(engine: Path, *, port: int) -> Sides:
    binary = str(engine / "ggml-rpc-server")
    env = {"XDG_CONFIG_HOME": "/nonexistent/evener"}
    return Sides(
        near=LocalShell("alpha"),
        far=LocalShell("beta"),
        worker=Worker(binary=binary, device="CPU", port=port, env=env),
        spare_port=free_port("127.0.0.2"),
    )


REAL = World(rpc=RpcProbe(), bench=RpcPayload(), report=lambda _: None, now=lambda: case_one.NOON)


def listens(address: str, port: int) -> bool:
    found = Path("/proc/net/tcp").read_text().splitlines()[1:]
    wanted = f"{int.from_bytes(bytes(map(int, address.split('.'))), 'little'):08X}:{port:04X}"
    return any(line.split()[1] == wanted and line.split()[3] == "0A" for line in found)


@pytest.mark.engine
async def test_two_hosts_of_this_machine_are_measured_for_real(engine: Path) -> None:
    sides = here(engine, port=free_port("127.0.0.2"))
    assert sides.worker is not None
    done: LinkMeasured = await measure(LINK, BETWEEN, sides, REAL)
    assert done.payload is not None
    assert done.payload.endpoint == f"127.0.0.2:{sides.worker.port}"
    assert done.payload.set_mib_per_s.low > 10
    assert 5 < done.payload.rtt_us.p50 < 50_000
    if shutil.which("iperf3"):
        assert done.out_gbit_per_s is not None
        assert done.back_gbit_per_s is not None
        assert done.out_gbit_per_s.p50 > 0.1
    else:
        assert "raw rate: no iperf3 on alpha and beta" in done.faults
    assert done.rtt_us is not None
    assert not listens("127.0.0.2", sides.worker.port)


@pytest.mark.engine
async def test_a_measurement_that_is_cancelled_leaves_no_worker(engine: Path) -> None:
    sides = replace(here(engine, port=free_port("127.0.0.2")), spare_port=None)
    assert sides.worker is not None
    running = asyncio.ensure_future(measure(LINK, BETWEEN, sides, REAL))
    for _ in range(200):
        if listens("127.0.0.2", sides.worker.port):
            break
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not listens("127.0.0.2", sides.worker.port)


SSH = """#!{python}
# Stands in for ssh -N -L: carries one local port to another.
import asyncio, sys

address, local, target, port = sys.argv[sys.argv.index("-L") + 1].split(":")

async def pump(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()

async def carry(reader, writer):
    try:
        out, into = await asyncio.open_connection(target, int(port))
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, into), pump(out, writer))

async def main():
    await (await asyncio.start_server(carry, address, int(local))).serve_forever()

asyncio.run(main())
"""


@pytest.mark.engine
async def test_rpc_through_a_tunnel_is_measured_beside_the_direct_rate(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "ssh"
    script.write_text(SSH.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    local_port = free_port()
    sides = replace(
        here(engine, port=free_port("127.0.0.2")),
        spare_port=None,
        tunnel=Tunnel(destination="me@beta.lan", local_port=local_port),
    )
    done = await measure(replace(LINK, tunnel=True), BETWEEN, sides, REAL)
    assert done.payload is not None
    assert done.through_tunnel is not None
    assert done.through_tunnel.endpoint == f"127.0.0.1:{local_port}"
    assert done.through_tunnel.rtt_us.p50 > done.payload.rtt_us.p50
    assert not listens("127.0.0.1", local_port)
