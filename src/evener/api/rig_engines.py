"""llama.cpp on the hosts of a rig: built there, carried there, compared. One host at a time is `engines`' business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evener.api import engines
from evener.api.rig import Rig
from evener.api.rig_models import door
from evener.dialects import proc_net
from evener.edges.rpc_probe import RpcProbe
from evener.engine import compare
from evener.errors import EngineError, EngineMissing, HostError
from evener.launch.bring_up import foreign_endpoints
from evener.ports import Report, Shell
from evener.records import rig as records
from evener.records.capability import Backend, HostEngine, Installed, RigEngines, WorkerFound
from evener.records.plan import Candidate
from evener.records.rig import Host
from evener.together import together


async def install(
    rig_file: str | None,
    *,
    host: str | None,
    report: Report,
    backend: Backend | None = None,
    jobs: int | None = None,
    given: str | None = None,
    sha256: str | None = None,
) -> Installed:
    """Leave an engine on `host`, or here, for the GPUs of all hosts of the rig.

    Raises EngineError, HostError, FetchFailed, NameUnknown.
    """
    rig = Rig.open(rig_file)
    shells = rig.shells()
    shell = door(rig, host)[1] if host else engines.here()
    others = [one for name, one in shells.items() if name != host]
    asked = [] if given or rig.record.path is None else await together(_architectures(one) for one in others)
    done = await engines.install(
        report=report,
        backend=backend,
        jobs=jobs,
        given=given,
        sha256=sha256,
        shell=shell,
        architectures=frozenset(a for found in asked if isinstance(found, frozenset) for a in found),
    )
    silent = tuple(f"not asked for its GPUs: {found}" for found in asked if isinstance(found, str))
    return replace(done, notes=(*done.notes, *silent))


async def push(rig_file: str | None, host: str, *, report: Report) -> Installed:
    """Carry this machine's engine to a host of the rig. Raises NameUnknown, EngineUnfit, HostError."""
    rig = Rig.open(rig_file)
    return await engines.push(door(rig, host)[1], report=report, engine=_engine_here(rig.record))


def _engine_here(rig: records.Rig) -> str | None:
    """The engine that the rig file names for this machine, which need not be the head."""
    return next((host.engine for host in rig.hosts if host.connection == "local"), None)


async def check(rig_file: str | None) -> RigEngines:
    """Prove every host's engine, visit every running worker, and compare. A rig of one host without an engine raises
    EngineMissing; a host of several that cannot be asked is a problem in the answer."""
    rig = Rig.open(rig_file)
    shells: Mapping[str, Shell] = {rig.record.head.name: engines.here()} if rig.record.path is None else rig.shells()
    hosts = [host for host in rig.record.hosts if host.connection != "stated"]
    found = await together(_engine(host, shells.get(host.name), alone=len(hosts) == 1) for host in hosts)
    protocol = found[0].check.capability.protocol if found[0].check else None
    rpc = RpcProbe(_version(protocol)) if protocol else RpcProbe()
    serving = await _serving(rig)
    seen = await together(
        _workers(host, shells.get(host.name), rpc, engine.folder, serving)
        for host, engine in zip(hosts, found, strict=True)
    )
    return compare.compare(
        found,
        [worker for some, _ in seen for worker in some],
        stale=[problem for _, problems in seen for problem in problems],
    )


async def _serving(rig: Rig) -> dict[str, str]:
    """Whom each endpoint serves, as far as this machine knows: a deployment, or any client that runs here."""
    reached = proc_net.reached(*[(await engines.here().read(path) or b"").decode() for path in proc_net.TABLES])
    clients = {f"{address}:{port}": "a client on this machine" for address, port in reached}
    return clients | {endpoint: d.name for d in rig.deployments() for endpoint in _endpoints(d.candidate)}


def _endpoints(candidate: Candidate) -> tuple[str, ...]:
    return (*foreign_endpoints(candidate), *(worker.reached_at for worker in candidate.workers))


async def _engine(host: Host, shell: Shell | None, *, alone: bool) -> HostEngine:
    if shell is None:
        return HostEngine(host=host.name, fault=None if host.endpoints else "there is no door to this host")
    try:
        used = await engines.in_use(host.engine, shell=shell)
        check = await engines.check(used.folder, shell=shell)
    except (EngineError, HostError) as error:
        if alone and isinstance(error, EngineMissing):
            raise
        hint = f" ({error.hint})" if error.hint else ""
        return HostEngine(host=host.name, fault=error.message.removeprefix(f"{host.name}: ") + hint)
    built = used.built
    return HostEngine(
        host=host.name,
        folder=used.folder,
        backend=built.backend if built else None,
        source_sha256=built.source_sha256 if built else None,
        check=check,
    )


async def _workers(
    host: Host, shell: Shell | None, rpc: RpcProbe, engine: str | None, serving: Mapping[str, str]
) -> tuple[list[WorkerFound], list[str]]:
    try:
        return await compare.workers(host, shell, rpc, engine=engine, in_use=serving)
    except HostError:
        return [], []  # the host's engine says why already


async def _architectures(shell: Shell) -> frozenset[str] | str:
    """What its GPUs are, or why nobody could ask."""
    try:
        return await engines.architectures_of(shell)
    except HostError as error:
        return error.message


def _version(dotted: str) -> tuple[int, int, int]:
    parts = [int(part) for part in dotted.split(".")]
    return (parts[0], parts[1], parts[2])
