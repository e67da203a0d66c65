"""One supervisor: it holds its hosts, keeps a run folder, listens on a socket, and brings layouts up one after another.

Everything that happens is one stream of messages, {"progress": ...}, {"deployment": ...} and {"fact": ...}: the
terminal that runs the supervisor, `evener down` and `up --detach` all render the same stream.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TextIO

from evener import config
from evener.api import models
from evener.api.loan import Loan
from evener.api.plans import Planned
from evener.api.rig import Rig
from evener.bench.load import Load
from evener.codec import to_data
from evener.edges import deployments, locks
from evener.edges.control import Control, Message
from evener.edges.http import AioHttp
from evener.edges.rpc_probe import RpcProbe
from evener.edges.run_folder import RunFolder, new_run_id
from evener.edges.writing import writing
from evener.errors import ConfigurationError, EngineMissing, EvenerError, Interrupted, PortTaken
from evener.journeys.conditions import conditions_of
from evener.journeys.deploy import Life, World, deployed
from evener.journeys.measure import measure_users, while_up
from evener.launch.bring_up import Up, require_free_port
from evener.launch.children import OpenLog
from evener.ports import Shell
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.plan import Candidate
from evener.records.run import Run, Stage, Summary
from evener.report import comparing, rows
from evener.state import runs_folder, state_folder
from evener.together import to_the_end, until

OnMessage = Callable[[Message], None]
PORTS_FREE_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a supervised deployment ended. `run` is its folder."""

    stages: tuple[Stage, ...]
    run: Path

    @property
    def is_clean(self) -> bool:
        """Every card as planned (or unknown) while loaded, and free afterwards."""
        return all(
            all(c.verdict in ("as planned", "unknown") for c in stage.checks)
            and all(f.verdict != "held" for f in stage.freed)
            for stage in self.stages
        )


@dataclass(kw_only=True)
class Session:
    """One supervisor: a run folder, a socket, and the layouts it brings up, one after the other."""

    name: str
    model: str
    planned: Planned
    run: Run
    folder: RunFolder
    on_message: OnMessage
    extra: tuple[str, ...] = ()
    stages: list[Stage] = field(default_factory=list)
    record: Deployment | None = None
    control: Control | None = None
    results: dict[str, UsersResult] = field(default_factory=dict)  # layout -> what was measured there
    pair: PairResult | None = None  # what two layouts in turns have said so far
    life: Life | None = None  # of the layout that is up, or was last
    loan: Loan = field(default_factory=Loan)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_serving(self) -> bool:
        """Whether a layout is up for its users, or lent: then being stopped is its normal end."""
        return self.life is not None and self.life.state in ("ready", "lent")

    def say(self, message: Message) -> None:
        self.on_message(message)
        if self.control:
            self.control.publish(message)

    def fact(self, kind: str, data: dict[str, Any]) -> None:
        self.say({"fact": to_data(self.folder.fact(kind, data))})

    def report(self, progress: Progress) -> None:
        self.say({"progress": to_data(progress)})

    def world(self) -> World:
        return world_of(self.planned.rig, open_log=log_in(self.folder), fact=self.fact, report=self.report)

    def keep(self, life: Life, *, fault: str | None = None) -> None:
        """Write the deployment's record as it is now."""
        workload, weights = self.planned.plan.workload, self.planned.weights
        self.record = Deployment(
            name=self.name,
            state="failed" if fault else life.state,
            since=self.started_at,
            supervisor_pid=os.getpid(),
            model=self.model,
            model_path=weights.paths[0],
            candidate=life.candidate,
            users=workload.users,
            context=workload.context,
            projector=weights.projector.path if weights.projector else None,
            draft=weights.draft.paths[0] if weights.draft else None,
            processes=tuple(life.processes) if life.state not in ("stopped", "lent", "failed") else (),
            url=life.up.url if life.up and life.state in ("loaded", "ready") else None,
            run=str(self.folder.path),
            api_key_env=self.planned.rig.record.serve.api_key_env,
            api_key_file=self.planned.rig.record.serve.api_key_file,
            fault=fault,
        )
        deployments.save(self.record)
        self.say({"deployment": to_data(self.record)})

    async def layout(self, candidate: Candidate, work: Callable[[Up], Awaitable[None]]) -> None:
        """Bring `candidate` up, run `work(up)` while it lives, take it down; its stage is recorded either way."""
        life = self.life = Life(candidate=candidate, on_state=self.keep)
        size = self.planned.weights.file_bytes
        self.fact("layout", {"name": candidate.name})
        try:
            async with deployed(life, self.world(), model_bytes=size, extra=self.extra) as up:
                await while_up(up, work(up))
        except EvenerError as error:
            self.keep(life, fault=error.message)
            raise
        finally:
            loaded = life.up.load_s if life.up else None
            self.stages.append(Stage(layout=candidate.name, load_s=loaded, checks=life.checks, freed=life.freed))

    async def measured(self, up: Up, *, load: Load, layout: str) -> None:
        """The closed loop against what is up; the result goes into the record of facts, a partial one too."""
        serve = self.planned.rig.record.serve

        def told(result: UsersResult) -> None:
            self.results[layout] = replace(result, label=layout)
            self.fact("measured", {"layout": layout, "users": to_data(self.results[layout])})

        result = await measure_users(
            up.url,
            load,
            keep=lambda r: self.folder.requests([replace(r, layout=layout)]),
            report=self.report,
            api_key=config.api_key(serve),
            on_cut=told,
        )
        told(result)

    async def serve(self, up: Up) -> None:
        """Be up for its users, until cancelled, or until somebody borrows the machines."""
        self.fact("serving", {"url": up.url})
        if self.life is not None:
            self.life.enter("ready")
        await self.loan.wanted()

    async def lent(self) -> None:
        """Nothing is up: others may use the machines, until they have given them back and the ports are free."""
        assert self.life is not None
        candidate, shells = self.life.candidate, self.planned.rig.shells()
        self.life.enter("lent")
        self.fact("lent", {})
        await self.loan.returned()
        self.fact("given back", {})
        if Ended(stages=tuple(self.stages[-1:]), run=self.folder.path).is_clean:
            self.stages.pop()  # it comes again: one stage tells of a layout, unless there was something to tell
        await ports_free(candidate, shells)

    def compared(self) -> None:
        """Say what the second machine brought or cost, for one user, as far as it was measured."""
        stages = [Stage(layout=name, users=result) for name, result in self.results.items()]
        base, other = rows.layouts(self.run, stages)[:2]
        found = comparing.compare(base, other, 1)
        self.fact("compared", {"sentence": found.sentence, "basis": found.basis, "outcome": found.outcome})

    def finish(self, partial: str | None) -> Ended:
        stages = tuple(replace(s, users=self.results.get(s.layout)) for s in self.stages)
        pair = replace(self.pair, partial=partial) if self.pair else None
        self.folder.finish(Summary(ended_at=datetime.now(UTC), stages=stages, partial=partial, pair=pair))
        return Ended(stages=stages, run=self.folder.path)


Live = Callable[[Session], Awaitable[None]]


def world_of(
    rig: Rig, *, open_log: OpenLog, fact: Callable[[str, dict[str, Any]], None], report: Callable[[Progress], None]
) -> World:
    """The real world around a rig's deployment. Raises ConfigurationError for a key that is not where it should be."""
    key = config.api_key(rig.record.serve)
    shells = rig.shells()
    return World(
        shells=shells,
        doors={h.address: shells[h.name] for h in rig.record.hosts if h.address and h.name in shells},
        rpc=RpcProbe(),
        http=AioHttp(),
        scan=rig.scan,
        open_log=open_log,
        fact=fact,
        report=report,
        secrets={"LLAMA_API_KEY": key} if key else {},
    )


def log_in(folder: RunFolder) -> OpenLog:
    """Logs of the engine's processes, in a run folder."""

    def open_log(host: str, name: str) -> TextIO:
        path = folder.log_path(host, f"{name}.log")
        with writing(path):
            return path.open("a", encoding="utf-8")

    return open_log


async def ports_free(candidate: Candidate, shells: Mapping[str, Shell]) -> None:
    """Wait until nobody listens where the candidate wants to; what has just ended may need a moment to let go."""
    await until(lambda: _are_free(candidate, shells), within_s=PORTS_FREE_WITHIN_S)


async def _are_free(candidate: Candidate, shells: Mapping[str, Shell]) -> bool | None:
    """Whether nobody listens where the candidate wants to; None while somebody does."""
    try:
        for command in (*candidate.workers, *candidate.tunnels, *candidate.servers):
            await require_free_port(shells[command.host], command.listen)
    except PortTaken:
        return None
    return True


async def supervise(
    planned: Planned,
    candidates: Sequence[Candidate],
    live: Live,
    *,
    what: str,
    model: str,
    name: str | None = None,
    extra: tuple[str, ...] = (),
    on_message: OnMessage,
    base: Path | None = None,
) -> Ended:
    """Hold the hosts, open a run folder (under `base`) and the socket, and run `live` until it ends or is told to.

    Raises HostBusy when another session holds one of the hosts.
    """
    _require_key_beyond_loopback(planned, candidates)
    called = name or slug(planned.weights.name)
    deployments.folder(called)  # refuses a name that is none
    hosts = list(dict.fromkeys(h for c in candidates for h in c.hosts))
    require_engines(planned, hosts)
    with ExitStack() as held:
        here = state_folder() / "locks"
        held.enter_context(locks.hold(here, deployments.lock_key(called), what=f"deployment {called}", owner=called))
        for machine, host in machines(planned, hosts).items():
            held.enter_context(locks.hold(here, machine, what=host, owner=called))
        run = _run(planned, candidates[-1], what, sha256=await _hash(planned, on_message))
        folder = RunFolder.create(base or runs_folder(), run)
        session = Session(
            name=called, model=model, planned=planned, run=run, folder=folder, on_message=on_message, extra=extra
        )
        return await _run_session(session, live)


def machines(planned: Planned, hosts: Sequence[str]) -> dict[str, str]:
    """The machines behind these hosts, each with the first host's name: two names of one machine are one lock."""
    machines: dict[str, str] = {}
    for name in hosts:
        seen = planned.scan.host(name)
        machines.setdefault(f"machine-{(seen and seen.machine_id) or name}", name)
    return machines


def require_engines(planned: Planned, hosts: Sequence[str]) -> None:
    """Raise EngineMissing for a host that has none, before anything is locked or written.

    An endpoint's host needs none of ours: somebody else has started its worker.
    """
    for name in hosts:
        seen = planned.scan.host(name)
        if seen is not None and seen.engine is None and seen.connection != "endpoint":
            why = f": {seen.fault}" if seen.fault else ""
            raise EngineMissing(f"{name} has no engine that can be used{why}", hint="evener engine install")


async def _run_session(session: Session, live: Live) -> Ended:
    """Run `live` until it ends or somebody asks it to; then finish the run folder, whatever happened."""
    asked_to_end = asyncio.Event()
    session.control = Control(status=lambda: to_data(session.record), on_down=asked_to_end.set, lender=session.loan)
    async with session.control.listening(deployments.folder(session.name) / deployments.SOCKET):
        work = asyncio.ensure_future(live(session))
        asked = asyncio.ensure_future(asked_to_end.wait())
        partial: str | None = None
        try:
            await asyncio.wait([work, asked], return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not session.is_serving:
                partial = "stopped by evener down"
        except asyncio.CancelledError:
            partial = None if session.is_serving else "interrupted"
        asked.cancel()
        work.cancel()
        with suppress(asyncio.CancelledError):  # asked to end once more: it is ending
            await to_the_end(asyncio.wait([work]))
        fault = None if work.cancelled() else work.exception()
        if fault is not None:
            session.finish(partial=str(fault))
            raise fault
        ended = session.finish(partial)
        session.say({"ended": {"clean": ended.is_clean, "run": str(ended.run)}})
        deployments.forget(session.name)
    if partial:
        raise Interrupted(f"{partial}; everything that was started has been stopped", hint=f"the run: {ended.run}")
    return ended


async def _hash(planned: Planned, on_message: OnMessage) -> str | None:
    """The model's hash, for the conditions; read once per file and then remembered. None for a file elsewhere."""
    if not all(Path(path).is_file() for path in planned.weights.paths):
        return None
    return await models.sha256(
        planned.weights.paths, report=lambda progress: on_message({"progress": to_data(progress)})
    )


def _run(planned: Planned, candidate: Candidate, what: str, *, sha256: str | None) -> Run:
    rig, scan = planned.rig.record, planned.scan
    return Run(
        id=new_run_id(what),
        what=what,
        started_at=datetime.now(UTC),
        conditions=conditions_of(rig, scan, planned.weights, planned.plan.workload, candidate, sha256=sha256),
        plan=planned.plan,
        rig=rig,
        scan=scan,
    )


def _require_key_beyond_loopback(planned: Planned, candidates: Sequence[Candidate]) -> None:
    if beyond := open_to_the_network(planned, candidates):
        raise ConfigurationError(
            f"{beyond}: the model would be open to the network without a key",
            hint='set api_key_env = "EVENER_API_KEY" under [serve]',
        )


def open_to_the_network(planned: Planned, candidates: Sequence[Candidate]) -> str | None:
    """The address beyond loopback where one of these would serve without a key, None when there is none.

    A server on a far host listens on that host's address, whatever [serve] says.
    """
    serve = planned.rig.record.serve
    listening = [serve.host, *(s.listen.rpartition(":")[0] for c in candidates for s in c.servers)]
    beyond = next((address for address in listening if not is_loopback(address)), None)
    return beyond if config.api_key(serve) is None else None


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def slug(name: str) -> str:
    """A model's name as a deployment's: lower case, digits and dashes."""
    words = "".join(c if c.isascii() and (c.isalnum() or c == ".") else " " for c in name.lower()).split()
    return "-".join(words).strip(".-")[:60] or "model"
