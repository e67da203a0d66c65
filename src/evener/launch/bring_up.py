"""Bring a candidate up, and take it down: workers, then a visit to each endpoint, then the head until it serves.

Leaving the block stops everything in reverse, on every host, however it is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from evener.dialects import llama_log, proc_net
from evener.dialects.llama_log import BreakdownRow
from evener.errors import (
    ChildDied,
    DoesNotFit,
    EndpointError,
    EndpointNotRpc,
    EndpointRefused,
    LoadFailed,
    LoadTimedOut,
    PortTaken,
)
from evener.launch import blame, health
from evener.launch.children import OpenLog, Running, started
from evener.ports import Http, Report, Rpc, Shell
from evener.records.deployment import Loaded, Process, Role
from evener.records.events import Progress
from evener.records.plan import Candidate, Command
from evener.together import together

WORKER_LISTENS_WITHIN_S = 15.0
HELLO_WITHIN_S = 3.0
SLOWEST_LOAD_BYTES_PER_S = 8 << 20  # a 100 Mbit/s cable, with hashing on both sides
LOAD_BASE_S = 90.0
LISTENING = "listening on http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world, as this verb needs it. `shells` has a door for each host of the candidate."""

    shells: Mapping[str, Shell]
    rpc: Rpc
    http: Http
    open_log: OpenLog
    report: Report
    doors: Mapping[str, Shell] = field(default_factory=dict)  # address -> the host that has it
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # the head's environment, never on record
    on_start: Callable[[Process], None] = lambda _process: None  # as soon as it has a pid, long before it serves


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A candidate that serves. `url` is the base of its OpenAI-compatible API."""

    url: str
    loaded: Loaded
    load_s: float
    children: tuple[Running, ...]
    shells: Mapping[str, Shell]

    @property
    def processes(self) -> tuple[Process, ...]:
        return tuple(c.process for c in self.children)

    def breakdown(self) -> list[BreakdownRow]:
        """The engine's own memory table, which it prints as it ends; empty when it did not come to that."""
        rows = (llama_log.read_breakdown_row(text) for text in self.children[-1].last)
        return [row for row in rows if row is not None]

    async def fault(self) -> ChildDied:
        """Wait for the first thing that goes wrong."""
        return await health.fault(self.children, self.shells)


@asynccontextmanager
async def bring_up(
    candidate: Candidate, ports: Ports, *, model_bytes: int, extra: Sequence[str] = ()
) -> AsyncIterator[Up]:
    """Start, probe, load, serve. `extra` are engine flags for the head, already checked for conflicts.

    Raises PortTaken, the EndpointError that fits, LoadFailed, LoadTimedOut or ChildDied; nothing is left running.
    """
    if not candidate.fits:
        raise DoesNotFit(f"{candidate.name}: {candidate.why_not}", hint="evener plan shows what fits")
    server = candidate.servers[0]
    await require_free_port(ports.shells[server.host], server.listen)
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(workers_up(candidate, ports))
        begun_s = asyncio.get_running_loop().time()
        head_command = replace(server, argv=(*server.argv, *extra))
        head = await stack.enter_async_context(_start("head", head_command, ports))
        children = (*served, head)
        url = url_of(server.listen)
        await _serving(url, children, ports, within_s=load_within_s(model_bytes))
        for child in children:
            child.settled = True
        yield Up(
            url=url,
            loaded=llama_log.read_loaded(head.facts),
            load_s=asyncio.get_running_loop().time() - begun_s,
            children=children,
            shells=ports.shells,
        )
        ports.report(Progress(what="stopping"))


@asynccontextmanager
async def workers_up(candidate: Candidate, ports: Ports) -> AsyncIterator[tuple[Running, ...]]:
    """Start the workers and tunnels of a candidate and visit every endpoint of it, for whatever head comes next.

    Raises PortTaken, LoadFailed, or the EndpointError that fits; nothing is left running.
    """
    for command in (*candidate.workers, *candidate.tunnels):
        await require_free_port(ports.shells[command.host], command.listen)
    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(_start("worker", w, ports)) for w in candidate.workers]
        tunnels = [await stack.enter_async_context(_start("tunnel", t, ports)) for t in candidate.tunnels]
        await together(_listening(worker, tunnels, ports) for worker in workers)
        await together(_visit(endpoint, ports) for endpoint in foreign_endpoints(candidate))
        yield (*workers, *tunnels)


@asynccontextmanager
async def _start(role: Role, command: Command, ports: Ports) -> AsyncIterator[Running]:
    ports.report(Progress(what=f"starting {role} on {command.host}", detail=command.listen))
    secrets = ports.secrets if role == "head" else {}
    shell = ports.shells[command.host]
    async with started(role, command, shell, ports.open_log, secrets=secrets) as running:
        ports.on_start(running.process)
        yield running


def url_of(listen: str) -> str:
    """The base URL of a server that listens on "address:port"; an IPv6 address gets its brackets."""
    address, _, port = listen.rpartition(":")
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def load_within_s(model_bytes: int) -> float:
    """The deadline of a load: what a slow cable needs, and a base for the rest."""
    return LOAD_BASE_S + model_bytes / SLOWEST_LOAD_BYTES_PER_S


def foreign_endpoints(candidate: Candidate) -> tuple[str, ...]:
    """Endpoints of the head's --rpc that no worker of ours serves."""
    argv = candidate.servers[0].argv
    asked = argv[argv.index("--rpc") + 1].split(",") if "--rpc" in argv else []
    ours = {w.reached_at for w in candidate.workers}
    return tuple(e for e in asked if e not in ours)


async def require_free_port(shell: Shell, listen: str) -> None:
    """Raise PortTaken, with the listener's name where the host tells it."""
    address, _, port = listen.rpartition(":")
    tables = [(await shell.read(path) or b"").decode() for path in proc_net.TABLES]
    if proc_net.is_taken(proc_net.listening(*tables), address, int(port)):
        by = await blame.listener(shell, port)
        raise PortTaken(
            f"{shell.host}: {listen} is taken{f' by {by}' if by else ''}",
            hint="stop it, or choose another port in rig.toml ([serve] port, or the host's ports)",
        )


async def _listening(worker: Running, tunnels: Sequence[Running], ports: Ports) -> None:
    """A worker prints nothing until its first client: its port is its sign of life. Then say HELLO.

    Through a tunnel, a worker that does not listen yet is a connection that closes at once.
    """
    tunnel = next((t for t in tunnels if t.command.listen == worker.command.endpoint), None)
    not_yet = EndpointRefused if tunnel is None else (EndpointRefused, EndpointNotRpc)
    deadline = asyncio.get_running_loop().time() + WORKER_LISTENS_WITHIN_S
    while True:
        try:
            await _visit(worker.command.reached_at, ports)
            return
        except EndpointError as error:
            if await _ended(worker):  # then nobody answers, or somebody else
                raise await _worker_ended(worker) from None
            if tunnel is not None and await _ended(tunnel):
                why = f"the {tunnel.label} ended: {tunnel.said()}"
                raise LoadFailed(why, hint=f"its log: {tunnel.log.name}") from None
            if not isinstance(error, not_yet) or asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.05)


async def _ended(running: Running) -> bool:
    try:
        async with asyncio.timeout(0.05):
            await running.child.wait()
    except TimeoutError:
        return False
    return True


async def _worker_ended(worker: Running) -> EndpointError | LoadFailed | PortTaken:
    await asyncio.sleep(0.1)
    if any("Failed to create server socket" in line for line in worker.last):
        return PortTaken(
            f"{worker.command.host}: {worker.command.listen} cannot be bound",
            hint="is that address this host's own (rig.toml), and the port free?",
        )
    code = await worker.child.wait()
    why = f": {worker.said()}" if code >= 0 else ""
    return LoadFailed(f"the {worker.label} {health.how(code)}{why}", hint=f"its log: {worker.log.name}")


async def _visit(endpoint: str, ports: Ports) -> None:
    ports.report(Progress(what=f"probing {endpoint}"))
    await blame.visit(endpoint, ports.rpc, ports.doors, within_s=HELLO_WITHIN_S)


async def _serving(url: str, children: Sequence[Running], ports: Ports, *, within_s: float) -> None:
    """Wait until the head serves, or the first sign that it never will."""
    fault = asyncio.ensure_future(health.fault(children, ports.shells))
    serving = asyncio.ensure_future(_until_serving(url, children[-1], ports))
    try:
        async with asyncio.timeout(within_s):
            done, _ = await asyncio.wait([fault, serving], return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        raise LoadTimedOut(
            f"{children[-1].label} does not serve after {within_s:.0f} s; last line: {_last(children[-1])}",
            hint=f"its log: {children[-1].log.name}",
        ) from None
    finally:
        for wait in (fault, serving):
            wait.cancel()
        await asyncio.gather(fault, serving, return_exceptions=True)
    if fault in done:
        died = fault.result()
        raise LoadFailed(f"while loading, {died.message}", hint=died.hint)
    serving.result()  # raises what went wrong in asking


async def _until_serving(url: str, head: Running, ports: Ports) -> None:
    """Health alone proves nothing: another server may answer there. Our head must have said that it listens."""
    while not (any(LISTENING in text for text in head.facts) and await health.is_serving(ports.http, url)):
        ports.report(Progress(what="loading", detail=head.last[-1][:70] if head.last else None))
        await asyncio.sleep(0.1)


def _last(running: Running) -> str:
    return running.last[-1] if running.last else "(nothing yet)"
