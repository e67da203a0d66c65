"""`evener serve`: deployments behind one door, each kept up, for as long as the team wants them."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from evener.api import models, plans, telemetry
from evener.api.good_for import good_for
from evener.api.keeping import Care, Keeper, Post
from evener.api.measure import not_cancelled
from evener.api.plans import Planned
from evener.api.rig import Rig
from evener.api.session import is_loopback, machines, require_engines, slug, world_of
from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.codec import from_data, to_data
from evener.edges import deployments, locks
from evener.edges.control import Control, Message, ask
from evener.edges.local_shell import LocalShell
from evener.edges.rotating import rotating
from evener.edges.run_folder import RunFolder, new_run_id
from evener.edges.team import Usage, Welcome
from evener.edges.writing import writing
from evener.errors import ConfigurationError, EvenerError, HostError, NameUnknown
from evener.journeys.deploy import World
from evener.launch.children import OpenLog
from evener.records import rig as rig_records
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.plan import Candidate, Workload
from evener.records.run import Run, Summary
from evener.records.serving import DoorStatus, ReadyToUse
from evener.records.telemetry import CardSample
from evener.records.verification import FreedCheck
from evener.serve import metrics
from evener.serve.door import Door, Settings
from evener.serve.metrics import CardNow
from evener.state import runs_folder, state_folder
from evener.together import background, to_the_end, until

WRITE_EVERY_S = 10.0
WATCH_EVERY_S = 15.0
REVOKED_WITHIN_S = 0.5
DRAIN_WITHIN_S = 30.0
CLOSED_WITHIN_S = 120.0
FIRST_INNER_PORT = 8400  # the servers behind it listen there, on loopback or on their own host's address
EXPOSED = "the door would be open to the network without a key"


OnMessage = Callable[[Message], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One model for the team: in which layout, for how many at once, with how much context each."""

    model: str
    layout: str = "auto"
    workload: Workload
    name: str | None = None  # as requests name it; None for the model's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the door stands. `host` and `port` are the rig's [serve] where they are None."""

    host: str | None = None
    port: int | None = None
    tls: tuple[Path, Path] | None = None  # certificate, key
    hung_after_s: float = 60.0  # busy and nothing moves: dead
    probe_idle_every_s: float = 300.0  # a tiny completion when nobody asks for anything; 0 for never
    wait_for_hosts_s: float = 0.0  # at the start, until every host of the rig answers
    settings: Settings = field(default_factory=Settings)


async def posts(rig: Rig, wanted: Sequence[Wanted], *, report: Callable[[Progress], None]) -> tuple[Post, ...]:
    """What comes up behind the door: each model on hosts of its own, a replica on each host where that is the verdict.

    Raises what planning raises, and ConfigurationError when two models would use one host.
    """
    found: list[Post] = []
    for one in wanted:
        report(Progress(what="planning", detail=one.model))
        for post in await _posts(rig, one, taken=len(found)):
            _require_apart(post, found)
            found.append(post)
    return tuple(found)


async def _posts(rig: Rig, wanted: Wanted, *, taken: int) -> list[Post]:
    inner = Rig(replace(rig.record, serve=_inner(rig.record.serve, await _free_port(taken))))
    planned = await plans.plan(inner, wanted.model, wanted.workload, layout=wanted.layout)
    planned.require_file()
    chosen = planned.chosen()
    if chosen.one_server:
        return [_post(wanted, planned, chosen, None)]
    if chosen.kind != "replicas":
        raise ConfigurationError(
            f"{chosen.name}: {chosen.kind} is several models, each a word of its own",
            hint="evener serve MODEL@HOST OTHER@OTHER-HOST",
        )
    copies = []
    for n, (host, users) in enumerate(_shares(chosen).items()):
        record = replace(rig.record, serve=_inner(rig.record.serve, await _free_port(taken + n)))
        workload = replace(wanted.workload, users=users)
        alone = await plans.plan(Rig(record), wanted.model, workload, layout=host, one_server=True)
        copies.append(_post(wanted, alone, alone.chosen(), host))
    return copies


def _shares(replicas: Candidate) -> dict[str, int]:
    """host -> how many of the users its copy takes."""
    return {server.host: int(server.argv[server.argv.index("-np") + 1]) for server in replicas.servers}


def _post(wanted: Wanted, planned: Planned, candidate: Candidate, host: str | None) -> Post:
    model = wanted.name or planned.weights.name
    name = slug(model) if host is None else f"{slug(model)[:40]}-{slug(host)[:20]}"
    return Post(
        name=name,
        model=model,
        spec=wanted.model,
        asked=host or wanted.layout,
        alias=wanted.name,
        planned=planned,
        candidate=candidate,
    )


def _inner(serve: rig_records.Serve, port: int) -> rig_records.Serve:
    """Where a server behind the door listens: nobody but the door is to find it."""
    return replace(serve, host="127.0.0.1", port=port, api_key_env=None, api_key_file=None)


async def _free_port(taken: int) -> int:
    from evener.api.rig import heard_on

    heard = {port for _, port in await heard_on(LocalShell("here"))}
    free = (port for port in range(FIRST_INNER_PORT, FIRST_INNER_PORT + 400) if port not in heard)
    for _ in range(taken):
        next(free, None)
    port = next(free, None)
    if port is None:
        raise HostError(f"ports {FIRST_INNER_PORT} to {FIRST_INNER_PORT + 400} are all taken")
    return port


def _require_apart(post: Post, others: Sequence[Post]) -> None:
    for other in others:
        if other.name == post.name:
            raise ConfigurationError(f"{post.model} is named twice", hint="evener serve ANOTHER-NAME=MODEL")
        if both := sorted(set(post.candidate.hosts) & set(other.candidate.hosts)):
            raise ConfigurationError(
                f"{other.model} and {post.model} would both use {both[0]}",
                hint=f"name a host for each: {other.spec}@HOST {post.spec}@OTHER",
            )


@dataclass(kw_only=True)
class Machines:
    """Locks of machines, each held as long as any deployment behind the door needs it."""

    _needed: dict[str, set[str]] = field(default_factory=dict)
    _held: dict[str, ExitStack] = field(default_factory=dict)

    def hold(self, name: str, wanted: Mapping[str, str]) -> None:
        """From now on the deployment `name` needs these: machine -> what people call it. Raises HostBusy."""
        for machine, host in wanted.items():
            if machine not in self._held:
                with ExitStack() as held:
                    held.enter_context(locks.hold(state_folder() / "locks", machine, what=host, owner=deployments.DOOR))
                    self._held[machine] = held.pop_all()
        self._needed[name] = set(wanted)
        for machine in self._held.keys() - set().union(*self._needed.values()):
            self._held.pop(machine).close()

    def close(self) -> None:
        for held in self._held.values():
            held.close()


@dataclass(kw_only=True)
class House:
    """The door and everything behind it, while it stands."""

    door: Door
    keepers: dict[str, Keeper]
    usage: Usage
    welcome: Welcome
    run: RunFolder
    url: str
    tell: OnMessage
    cards: Callable[[], dict[tuple[str, str], CardSample]] = dict  # (host, card) -> what it said last

    def fact(self, kind: str, data: dict[str, Any]) -> None:
        self.tell({"fact": {"kind": kind, "data": data}})
        with suppress(HostError):  # a full disk closes no door
            self.run.fact(kind, data)

    def status(self) -> DoorStatus:
        rates = [keeper.tokens_per_s for keeper in self.keepers.values() if keeper.tokens_per_s is not None]
        return replace(self.door.status(), tokens_per_s=sum(rates) if rates else None)

    def keeper(self, name: str | None) -> Keeper:
        """The one called so, else the only one on that host, or with that model; without a name the only one.

        Raises NameUnknown.
        """
        if name in self.keepers:
            return self.keepers[name]
        found = [one for one in self.keepers.values() if name in (None, one.post.model, *one.post.candidate.hosts)]
        if len(found) == 1:
            return found[0]
        raise NameUnknown(
            f"nothing behind the door is called {name}" if not found else "several deployments are meant",
            hint=f"there is {', '.join(one.post.name for one in found) or ', '.join(self.keepers)}",
        )


OnOpen = Callable[[str], None]
OnReady = Callable[[str, Sequence[ReadyToUse]], None]


async def serve(
    rig: Rig,
    wanted: Sequence[Wanted],
    options: Options,
    *,
    extra: tuple[str, ...] = (),
    on_message: OnMessage,
    on_open: OnOpen = lambda _url: None,
    on_ready: OnReady = lambda _url, _ready: None,
) -> Path:
    """Open the door and keep everything behind it up, until cancelled or `evener down`. Returns the run folder.

    The door is open before the first model is: what is asked meanwhile waits. Raises what planning raises, PortTaken,
    HostBusy, and ConfigurationError for a door that would be open to the network without a key.
    """
    host, port = options.host or rig.record.serve.host, options.port or rig.record.serve.port
    welcome = Welcome()
    require_keys(rig, options, welcome)
    tls = _tls(options.tls) if options.tls else None

    def report(progress: Progress) -> None:
        on_message({"progress": to_data(progress)})

    await _hosts_there(rig, within_s=options.wait_for_hosts_s, report=report)
    found = await posts(rig, wanted, report=report)
    with (
        locks.hold(state_folder() / "locks", deployments.DOOR, what="the door", owner=deployments.DOOR),
        closing(Machines()) as held,
    ):
        for post in found:
            require_engines(post.planned, post.candidate.hosts)
            held.hold(post.name, machines(post.planned, post.candidate.hosts))
        folder = RunFolder.create(runs_folder(), _run(rig, found))
        house = _house(found, folder, _url(host, port, bool(tls)), welcome, options, extra, on_message, held)
        standing = _standing(house)
        async with house.door.open(host, port, tls=tls), standing as asked_to_end:
            on_open(house.url)
            async with background(_told_when_ready(house, on_ready, report)):
                await _until_ended(house, rig, asked_to_end)
    return folder.path


def require_keys(rig: Rig, options: Options, welcome: Welcome | None = None) -> None:
    """Raise ConfigurationError for a door that would be open to the network without a key."""
    host = options.host or rig.record.serve.host
    if not is_loopback(host) and not (welcome or Welcome())():
        raise ConfigurationError(f"{host}: {EXPOSED}", hint="evener people add NAME gives somebody one")


def _house(
    found: Sequence[Post],
    folder: RunFolder,
    url: str,
    welcome: Welcome,
    options: Options,
    extra: tuple[str, ...],
    on_message: OnMessage,
    held: Machines,
) -> House:
    usage = Usage()
    door = Door(
        url=url,
        settings=options.settings,
        welcome=welcome,
        on_used=usage.add,
        tokens_today=lambda person: usage.tokens(person, f"{datetime.now(UTC):%Y-%m-%d}"),
        metrics=lambda: metrics.page(house.status(), usage.today(), _cards(house)),
    )
    care = Care(
        key=secrets.token_hex(32),
        hung_after_s=options.hung_after_s,
        probe_idle_every_s=options.probe_idle_every_s,
        drain_within_s=DRAIN_WITHIN_S,
        bundles=folder.path / "deaths",
        extra=extra,
    )

    def world(post: Post) -> World:
        outside = world_of(post.planned.rig, open_log=_rotating_in(folder), fact=house.fact, report=report)
        return replace(outside, secrets={"LLAMA_API_KEY": care.key})

    def report(progress: Progress) -> None:
        on_message({"progress": to_data(progress)})

    def keeper(post: Post) -> Keeper:
        def hold(hosts: Sequence[str]) -> None:
            held.hold(post.name, machines(house.keepers[post.name].post.planned, hosts))

        return Keeper(post, door, care, world=world, fact=house.fact, hold=hold)

    house = House(door=door, keepers={}, usage=usage, welcome=welcome, run=folder, url=url, tell=on_message)
    house.keepers.update({post.name: keeper(post) for post in found})
    return house


def _url(host: str, port: int, is_tls: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if is_tls else 'http'}://{name}:{port}"


def _cards(house: House) -> list[CardNow]:
    return [
        CardNow(
            host=host,
            card=said.name,
            temperature_c=said.temperature_c,
            power_w=said.power_w,
            used_bytes=said.memory_used_bytes,
            total_bytes=said.memory_total_bytes,
        )
        for (host, _), said in house.cards().items()
    ]


def _rotating_in(folder: RunFolder) -> OpenLog:
    """Logs that a door may write for months."""

    def open_log(host: str, name: str) -> TextIO:
        path = folder.log_path(host, f"{name}.log")
        with writing(path):
            return rotating(path)

    return open_log


@asynccontextmanager
async def _standing(house: House) -> AsyncIterator[asyncio.Event]:
    """The socket at which `evener status`, `pause`, `down` and others find the door."""
    asked_to_end = asyncio.Event()
    control = Control(status=lambda: to_data(house.status()), on_down=asked_to_end.set, orders=_orders(house))
    async with control.listening(socket()):
        yield asked_to_end


def socket() -> Path:
    return state_folder() / "door" / deployments.SOCKET


def _orders(house: House) -> dict[str, Any]:
    async def pause(asked: Message) -> Message:
        return await _ordered(house, asked, lambda keeper: keeper.pause())

    async def go_on(asked: Message) -> Message:
        return await _ordered(house, asked, lambda keeper: keeper.go_on())

    async def switch(asked: Message) -> Message:
        return await _ordered(house, asked, lambda keeper: _switched(house, keeper, asked.get("model")))

    return {"pause": pause, "continue": go_on, "switch": switch}


async def _ordered(house: House, asked: Message, order: Callable[[Keeper], Any]) -> Message:
    try:
        keeper = house.keeper(asked.get("name"))
        await order(keeper)
    except EvenerError as error:
        return {"refused": error.message, "hint": error.hint}
    freed = keeper.stages[-1].freed if keeper.stages else ()
    return {"done": to_data(house.status()), "freed": to_data(freed)}


async def _switched(house: House, keeper: Keeper, model: str | None) -> None:
    """A model that is none is refused before anything is drained for it."""
    if model is not None:
        await models.opened(model)
    await keeper.switch(lambda: _again(house, keeper.post, model))


async def _again(house: House, before: Post, model: str | None) -> Post:
    """The same, or another model, planned anew in the layout that was asked for, with whatever engine is there now."""
    spec, workload = model or before.spec, before.planned.plan.workload
    planned = await plans.plan(before.planned.rig, spec, workload, layout=before.asked, one_server=True)
    planned.require_file()
    called = before.alias or (planned.weights.name if model else before.model)
    post = replace(before, spec=spec, model=called, planned=planned, candidate=planned.chosen())
    _require_apart(post, [one.post for one in house.keepers.values() if one.post.name != before.name])
    require_engines(planned, post.candidate.hosts)
    return post


async def _told_when_ready(house: House, on_ready: OnReady, report: Callable[[Progress], None]) -> None:
    """When everything has come up that will: what people need to know to use it."""
    ready = [
        await ready_to_use(keeper, url)
        for keeper in house.keepers.values()
        if (url := await keeper.ready()) is not None
    ]
    house.fact("ready to use", {"models": to_data(ready)})
    if ready:
        on_ready(house.url, ready)
        report(Progress(what=f"the door is open: {house.url}/v1"))


async def ready_to_use(keeper: Keeper, url: str) -> ReadyToUse:
    """What one deployment has for each, how it thinks when nobody asks, and for how many it was measured good."""
    post = keeper.post
    measured, thinking = None, None
    with suppress(EvenerError):
        measured = await good_for(post)
    with suppress(EvenerError):
        thinking = (await probe(base_url(url), Load(users=(1,)), api_key=keeper.key)).thinking
    return ReadyToUse(
        name=post.name,
        model=post.model,
        context=post.planned.plan.workload.context,
        slots=post.slots,
        thinking=thinking,
        good_for=measured[0] if measured else None,
        run=measured[1] if measured else None,
    )


async def _until_ended(house: House, rig: Rig, asked_to_end: asyncio.Event) -> None:
    """Keep everything up until somebody asks for the end; then everything is down when this returns."""
    keeping = [asyncio.ensure_future(keeper.run()) for keeper in house.keepers.values()]
    besides = (_written(house.usage), _revoked(house), _watched(house, rig))
    beside = [asyncio.ensure_future(one) for one in besides]
    asked = asyncio.ensure_future(asked_to_end.wait())
    try:
        done, _ = await asyncio.wait([asked, *keeping, *beside], return_when=asyncio.FIRST_COMPLETED)
        for one in done - {asked}:
            one.result()  # a fault of ours: everything ends with it
    except asyncio.CancelledError:  # Ctrl-C, or systemd: a normal end
        not_cancelled()
    finally:
        await to_the_end(_ended(house, [asked, *keeping, *beside]))


async def _ended(house: House, tasks: Sequence[asyncio.Future[Any]]) -> None:
    house.door.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with suppress(HostError):
        house.usage.write()
    stages = tuple(stage for keeper in house.keepers.values() for stage in keeper.stages)
    with suppress(HostError):
        house.run.finish(Summary(ended_at=datetime.now(UTC), stages=stages))


async def _written(usage: Usage) -> None:
    while True:
        await asyncio.sleep(WRITE_EVERY_S)
        with suppress(HostError):  # a full disk: it is kept, and tried again
            await asyncio.to_thread(usage.write)


async def _revoked(house: House) -> None:
    """End what is in flight of whoever has been revoked."""
    known = house.welcome() or {}
    while True:
        await asyncio.sleep(REVOKED_WITHIN_S)
        now = house.welcome() or {}
        for hashed in known.keys() - now.keys():
            house.door.send_away(known[hashed].name)
        known = now


async def _watched(house: House, rig: Rig) -> None:
    """What the cards say, now and then: a door stands for months, so that only the last of it is kept."""
    async with telemetry.watching(rig, every_s=WATCH_EVERY_S) as seen:
        house.cards = seen.last
        while True:
            await asyncio.sleep(600)
            del seen.samples[:-100]


async def _hosts_there(rig: Rig, *, within_s: float, report: Callable[[Progress], None]) -> None:
    """Wait until every host of the rig answers: at boot the cable and the other machine come later."""
    deadline = time.monotonic() + within_s
    while within_s:
        await rig.scan()
        missing = list(rig.out_of_reach())
        if not missing:
            return
        if time.monotonic() >= deadline:
            report(Progress(what=f"{', '.join(missing)} did not answer within {within_s:.0f} s: going on without"))
            return
        report(Progress(what=f"waiting for {', '.join(missing)}"))
        await asyncio.sleep(5.0)
        rig.forget_out_of_reach()


def _run(rig: Rig, found: Sequence[Post]) -> Run:
    first = found[0].planned
    return Run(
        id=new_run_id("serve"),
        what="serve",
        started_at=datetime.now(UTC),
        conditions=Conditions(),
        plan=first.plan,
        rig=rig.record,
        scan=first.scan,
    )


def _tls(files: tuple[Path, Path]) -> ssl.SSLContext:
    """Raises ConfigurationError for files that are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(*files, password="")  # one that needs a password would ask for it, at boot of nobody
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"{files[0]}, {files[1]}: no certificate with its key: {error}") from None
    return context


async def status() -> DoorStatus:
    """What the door says of itself. Raises HostError where there is none."""
    return from_data(DoorStatus, (await _said("status"))["deployment"], source="the door")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The door when an order is done, and what the last stop of that deployment gave back."""

    status: DoorStatus
    freed: tuple[FreedCheck, ...]


async def order(what: str, name: str | None, **more: str | None) -> Ordered:
    """Have the door `pause`, `continue` or `switch` a deployment. Returns when it is done. Raises HostError."""
    message = await _said(what, name=name, **more)
    freed = from_data(tuple[FreedCheck, ...], message.get("freed", []), source="the door")
    return Ordered(status=from_data(DoorStatus, message["done"], source="the door"), freed=freed)


async def _said(what: str, **more: str | float | None) -> Message:
    """The door's one answer. Raises HostError where there is none, or with the reason why not."""
    async for message in ask(socket(), what, **more):
        if "refused" in message:
            raise HostError(message["refused"], hint=message.get("hint"))
        return message
    raise HostError("no door is open", hint="evener serve MODEL opens one")


async def close() -> None:
    """Ask the door to end, and wait until it has. Raises HostError where there is none, or it does not end in time."""
    if (pid := deployments.door_supervisor()) is None:
        raise HostError("no door is open", hint="evener status")

    async def is_gone() -> bool | None:
        return True if deployments.door_supervisor() is None else None

    async for _message in ask(socket(), "down"):
        pass
    if await until(is_gone, within_s=CLOSED_WITHIN_S) is None:
        raise HostError(
            f"the door (pid {pid}) did not end within {CLOSED_WITHIN_S:.0f} s",
            hint=f"kill -9 {pid} ends it, and everything it has started with it",
        )
