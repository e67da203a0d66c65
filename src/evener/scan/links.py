"""Measure one link: raw rate, round trip, and RPC's own payload. It sends data for some five seconds, and says so.

Workers and servers are started on a leash, bound to the link's address, and gone when the measurement is over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from evener.dialects import llama_flags, rates, ssh_tunnel
from evener.errors import EndpointNotRpc, EndpointRefused, EvenerError, HostError
from evener.ports import Child, Report, Rpc, RpcBench, Shell
from evener.records.events import Progress
from evener.records.link import LinkMeasured, Measured, Payload
from evener.records.rig import Link
from evener.scan import paths
from evener.scan.paths import Ends
from evener.stats.repeated import measured
from evener.together import background, to_the_end

LISTENS_WITHIN_S = 15.0
IPERF_WITHIN_S = 8.0
PING_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The worker to start at the far end: the engine's program, one device of its, a free port, an environment."""

    binary: str
    device: str
    port: int
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunnel:
    """How ssh reaches the far end, and a free port on this machine."""

    destination: str
    local_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How to reach both ends. What is None was not to be had, and `why` says why for RPC.

    `endpoint` is a worker that somebody else runs at the far end. `spare_port` is free there, for iperf3.
    """

    near: Shell
    far: Shell | None = None
    worker: Worker | None = None
    endpoint: str | None = None
    tunnel: Tunnel | None = None
    spare_port: int | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The outside, handed in."""

    rpc: Rpc
    bench: RpcBench
    report: Report
    now: Callable[[], datetime]


async def measure(link: Link, between: Ends, sides: Sides, world: World) -> LinkMeasured:
    """Everything that can be measured of `link`; each part that cannot is None, with its reason in `faults`.

    The parts run one after another: together they would measure each other.
    """
    address = between.far.address
    if address is None:
        raise HostError(f"link {link.name}: {between.far.host} has no address on it", hint="name it in rig.toml")
    faults: list[str] = []
    world.report(Progress(what=f"measuring {link.name}", detail="interfaces"))
    seen, unseen = await paths.both(sides.near, sides.far, between)
    faults += unseen
    world.report(Progress(what=f"measuring {link.name}", detail="raw rate (iperf3)"))
    out, back, why = await _raw(sides, address)
    faults += why
    world.report(Progress(what=f"measuring {link.name}", detail="round trip (ping)"))
    trips = await _ping(sides.near, address)
    world.report(Progress(what=f"measuring {link.name}", detail="RPC payload"))
    payload = await _or_fault(_payload(sides, address, world), faults)
    tunnelled = None
    if link.tunnel:
        world.report(Progress(what=f"measuring {link.name}", detail="RPC payload through ssh"))
        tunnelled = await _or_fault(_through_tunnel(sides, world), faults)
    by_connect = None if payload is None else measured([payload.connect_us])
    return LinkMeasured(
        name=link.name,
        between=(between.near.host, between.far.host),
        addresses=(between.near.address, address),
        taken_at=world.now(),
        out_gbit_per_s=out,
        back_gbit_per_s=back,
        rtt_us=trips or by_connect,
        rtt_by="ping" if trips else "tcp connect" if by_connect else None,
        payload=payload,
        through_tunnel=tunnelled,
        interfaces=seen,
        notes=tuple(paths.remarks(between, seen)),
        faults=tuple(faults),
    )


async def _or_fault(work: Awaitable[Payload], faults: list[str]) -> Payload | None:
    try:
        return await work
    except EvenerError as error:
        faults.append(error.message)
        return None


# ---- raw


async def _raw(sides: Sides, address: str) -> tuple[Measured | None, Measured | None, list[str]]:
    """(out, back, why not). Needs iperf3 at both ends."""
    if sides.far is None or sides.spare_port is None:
        return None, None, ["raw rate: nobody can start iperf3 at the far end"]
    try:
        without = [shell.host for shell in (sides.near, sides.far) if await shell.which(rates.IPERF3) is None]
    except HostError as error:  # lost since it was scanned
        return None, None, [error.message]
    if without:
        return None, None, [f"raw rate: no iperf3 on {' and '.join(without)}"]
    faults: list[str] = []
    both: list[Measured | None] = []
    for back in (False, True):
        try:
            values = await _iperf(sides.near, sides.far, address, sides.spare_port, back=back)
            both.append(measured(values))
        except HostError as error:
            both.append(None)
            faults.append(error.message)
    return both[0], both[1], faults


async def _iperf(near: Shell, far: Shell, address: str, port: int, *, back: bool) -> tuple[float, ...]:
    async with _running(far, rates.server_argv(address=address, port=port), {}) as server:
        await server.says(rates.is_listening, within_s=IPERF_WITHIN_S)
        done = await near.run(rates.client_argv(address=address, port=port, back=back), within_s=IPERF_WITHIN_S)
    values = rates.gbit_per_s(done.stdout)
    if not values:
        said = rates.iperf_error(done.stdout) or done.stderr.strip() or f"exit {done.code}"
        raise HostError(f"raw rate: iperf3 on {near.host}: {said}")
    return values


async def _ping(near: Shell, address: str) -> Measured | None:
    try:
        done = await near.run(rates.ping_argv(address), within_s=PING_WITHIN_S)
    except HostError:
        return None
    trips = rates.round_trips_us(done.stdout)
    return measured(trips) if trips else None


# ---- RPC


async def _payload(sides: Sides, address: str, world: World) -> Payload:
    if sides.endpoint is not None:
        return await world.bench.measure(sides.endpoint, device="#0")
    if sides.worker is None or sides.far is None:
        raise HostError(f"RPC payload: {sides.why or 'no worker can be started at the far end'}")
    async with _serving(sides.far, sides.worker, address) as child:
        endpoint = f"{address}:{sides.worker.port}"
        await _answers(endpoint, child, world)
        return await world.bench.measure(endpoint, device=sides.worker.device)


async def _through_tunnel(sides: Sides, world: World) -> Payload:
    if sides.tunnel is None or sides.worker is None or sides.far is None:
        raise HostError("RPC through ssh: the far end is not reached by ssh")
    argv = ssh_tunnel.tunnel_argv(sides.tunnel.destination, port=sides.worker.port, local_port=sides.tunnel.local_port)
    endpoint = f"{ssh_tunnel.LOOPBACK}:{sides.tunnel.local_port}"
    async with (
        _serving(sides.far, sides.worker, ssh_tunnel.LOOPBACK),
        _running(sides.near, argv, {}) as tunnel,
    ):
        await _answers(endpoint, tunnel, world)
        return await world.bench.measure(endpoint, device=sides.worker.device)


@dataclass(slots=True)
class _Run:
    """A child whose last lines are kept."""

    child: Child
    last: deque[str]
    fresh: asyncio.Event
    silent: bool = False  # it has closed its output

    async def says(self, wanted: Callable[[str], bool], *, within_s: float) -> None:
        """Wait for a line. Raises HostError with what it said instead."""
        try:
            async with asyncio.timeout(within_s):
                while not any(wanted(line) for line in self.last):
                    if self.silent:
                        raise HostError(f"it ended: {self.words}")
                    self.fresh.clear()
                    await self.fresh.wait()
        except TimeoutError:
            raise HostError(f"it did not begin within {within_s:g} s: {self.words}") from None

    @property
    def words(self) -> str:
        return next((line for line in reversed(self.last) if line.strip()), "it said nothing")

    async def has_ended(self) -> bool:
        try:
            async with asyncio.timeout(0.05):
                await self.child.wait()
        except TimeoutError:
            return False
        return True


@asynccontextmanager
async def _running(shell: Shell, argv: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[_Run]:
    child = await shell.start(argv, env=env)
    run = _Run(child, deque(maxlen=50), asyncio.Event())

    async def keep() -> None:
        async for line in child.lines():
            run.last.append(line)
            run.fresh.set()
        run.silent = True
        run.fresh.set()

    async with background(keep()):
        try:
            yield run
        finally:
            await to_the_end(child.stop())


@asynccontextmanager
async def _serving(far: Shell, worker: Worker, address: str) -> AsyncIterator[_Run]:
    argv = llama_flags.worker_argv(worker.binary, listen=(address, worker.port), devices=[worker.device], threads=None)
    async with _running(far, argv, worker.env) as run:
        yield run


async def _answers(endpoint: str, run: _Run, world: World) -> None:
    """Until the worker behind `endpoint` says hello. Its port is its sign of life."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LISTENS_WITHIN_S
    while True:
        try:
            await world.rpc.hello(endpoint, within_s=3.0)
            return
        except (EndpointRefused, EndpointNotRpc):  # a tunnel accepts, and closes while the worker does not listen
            if await run.has_ended():
                raise HostError(f"RPC payload: it ended: {run.words}") from None
            if loop.time() > until:
                raise
            await asyncio.sleep(0.1)
