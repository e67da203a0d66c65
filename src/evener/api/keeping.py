"""One deployment behind a door, kept up: loaded, verified, watched; restarted when it dies, elsewhere when it must."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from evener import __version__
from evener.api.plans import Planned
from evener.codec import to_data
from evener.dialects.llama_metrics import values
from evener.edges.writing import write_whole, writing
from evener.errors import ChildDied, EvenerError, HostBusy, HostError
from evener.journeys.deploy import Life, World, deployed
from evener.launch.bring_up import Up
from evener.records.plan import Candidate
from evener.records.run import Stage
from evener.records.serving import Behind, BehindState
from evener.serve.door import Door
from evener.serve.health import FEW, Death, Deaths, Heart, Pulse, counters, works
from evener.together import to_the_end

LOOK_EVERY_S = 1.0
LOOK_WITHIN_S = 5.0
PROBE_WITHIN_S = 30.0
LAST_LINES = 200  # of each log, in a crash bundle
MOST_BUNDLES = 20  # per deployment, the last ones: a machine that dies all night does not fill the disk
BUSY_EVERY_S = 10.0  # between tries while somebody else holds the machine
BATCH_TOKENS = 2048  # of a prompt, between two moments at which the engine says how far it is
SLOWER = 3.0  # than the plan's lowest figure a batch may be, and is not hung

Fact = Callable[[str, dict[str, object]], None]
Hold = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is to be up: a candidate of a plan. `name` is the deployment's, `model` what requests call it.

    `spec`, `asked` and `alias` are the user's: the model, the layout, and what requests are to call it, if anything.
    """

    name: str
    model: str
    spec: str
    asked: str
    alias: str | None = None
    planned: Planned
    candidate: Candidate

    @property
    def slots(self) -> int:
        return self.planned.plan.workload.users

    def behind(self) -> Behind:
        """As it is before it is up."""
        return Behind(
            name=self.name,
            model=self.model,
            layout=self.candidate.name,
            hosts=self.candidate.hosts,
            state="starting",
            url=None,
            slots=self.slots,
            context=self.planned.plan.workload.context,
            since=datetime.now(UTC),
        )

    def without(self, host: str) -> Post | None:
        """In the best layout of its plan that does not need `host`; None where there is none."""
        others = [c for c in self.planned.plan.candidates if c.one_server and host not in c.hosts]
        return replace(self, candidate=max(others, key=_users_rate)) if others else None

    def hung_after_s(self, stated_s: float) -> float:
        """The time that was stated, or longer where a batch of a prompt is known to take that long."""
        predicted = self.candidate.predicted
        rate = predicted.prefill_tokens_per_s if predicted else None
        return max(stated_s, SLOWER * BATCH_TOKENS / rate.low) if rate and rate.low > 0 else stated_s


def _users_rate(candidate: Candidate) -> float:
    rate = candidate.predicted.users_tokens_per_s if candidate.predicted else None
    return rate.value if rate else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """How it is looked after. `bundles` is where what is known of a death goes."""

    key: str = field(repr=False)  # of its server, which only the door knows
    hung_after_s: float
    probe_idle_every_s: float
    drain_within_s: float
    bundles: Path
    extra: tuple[str, ...] = ()


class Keeper:
    """`run()` until cancelled. In between it can be paused, continued, and given another post.

    `hold` locks the machines of these hosts for it, and lets go of others. Raises HostBusy.
    """

    def __init__(
        self, post: Post, door: Door, care: Care, *, world: Callable[[Post], World], fact: Fact, hold: Hold
    ) -> None:
        self.post = post
        self.stages: list[Stage] = []
        self.restarts = 0
        self.tokens_per_s: float | None = None
        self._door, self._care, self._world, self._fact, self._hold = door, care, world, fact, hold
        self._deaths = Deaths()
        self._paused = self._is_switching = False
        self._next: Post | None = None
        self._changed = asyncio.Event()  # somebody wants something else than what is
        self._settled = asyncio.Event()  # it has come up once, or failed to
        self._wish: asyncio.Future[None] | None = None  # what was ordered last, done when it is so
        self._ready_s: float | None = None  # since when this life serves
        self._is("starting")

    @property
    def key(self) -> str:
        """Of its own server, which listens to the door alone."""
        return self._care.key

    async def run(self) -> None:
        """Keep it up. Returns only by being cancelled; then it is down, and its memory back."""
        try:
            while True:
                self._changed.clear()
                if self._next is not None:
                    self.post, self._next, self._deaths = self._next, None, Deaths()
                if self._paused:
                    await self._away()
                else:
                    await self._one_try()
        finally:
            self._settled.set()
            if self._wish is not None and not self._wish.done():
                self._wish.set_exception(HostError("the door is closing"))

    async def _away(self) -> None:
        """Paused: whoever else uses the machines may have them."""
        if not self._is_switching:
            self._hold(())
        self._is("restarting" if self._is_switching else "paused")
        self._is_so()
        await self._changed.wait()

    async def _one_try(self) -> None:
        """From load to stop, and what comes after it when it was a death."""
        try:
            self._hold(self.post.candidate.hosts)
        except HostBusy as busy:
            self._is("restarting", why=busy.message)
            self._is_so(busy)
            await self._pause(BUSY_EVERY_S)
            return
        self._ready_s = None
        try:
            await self._life_while_wanted()
        except EvenerError as error:
            await self._died(error, lived_s=time.monotonic() - self._ready_s if self._ready_s else 0.0)
            await self._pause(self._deaths.pause_s)

    async def _pause(self, seconds: float) -> None:
        """Before the next try, or until somebody wants something else."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _life_while_wanted(self) -> None:
        """One life; what is still being loaded when somebody wants something else is not waited for."""
        living = asyncio.ensure_future(self._one_life())
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait([living, changed], return_when=asyncio.FIRST_COMPLETED)
            if self._ready_s is None:
                living.cancel()
            await asyncio.wait([living])
            if not living.cancelled():
                living.result()
        finally:
            changed.cancel()
            living.cancel()
            await to_the_end(asyncio.gather(living, return_exceptions=True))

    def _is(self, state: BehindState, *, url: str | None = None, why: str | None = None) -> None:
        """Tell the door what there is now."""
        now = replace(self.post.behind(), state=state, url=url, why=why, restarts=self.restarts)
        self._door.place(now, key=self._care.key)

    async def _one_life(self) -> None:
        """From load to stop. Returns when somebody wants something else; raises what ended it otherwise."""
        post, name = self.post, self.post.name
        life = Life(candidate=post.candidate)
        world = self._world(post)
        self._is("restarting" if self._deaths.recent else "starting")
        try:
            size = post.planned.weights.file_bytes
            async with deployed(life, world, model_bytes=size, extra=self._care.extra) as up:
                self._ready_s = time.monotonic()
                self._is("ready", url=up.url)
                hung_after_s = post.hung_after_s(self._care.hung_after_s)
                told = {"name": name, "url": up.url, "load_s": up.load_s, "hung_after_s": hung_after_s}
                self._fact("ready behind the door", told)
                self._is_so()
                try:
                    await self._until_wanted_otherwise(up)
                    await self._door.drained(name, within_s=self._care.drain_within_s)
                finally:
                    self._is("restarting")
        finally:
            loaded = life.up.load_s if life.up else None
            self.stages.append(Stage(layout=post.name, load_s=loaded, checks=life.checks, freed=life.freed))

    async def _until_wanted_otherwise(self, up: Up) -> None:
        """Raises ChildDied for whatever dies or hangs first."""
        wants: list[asyncio.Future[object]] = [
            asyncio.ensure_future(self._changed.wait()),
            asyncio.ensure_future(up.fault()),
            asyncio.ensure_future(self._hung(up)),
        ]
        try:
            done, _ = await asyncio.wait(wants, return_when=asyncio.FIRST_COMPLETED)
            for one in (wants[1], wants[2]):
                if one in done and isinstance(fault := one.result(), ChildDied):
                    raise fault
        finally:
            for one in wants:
                one.cancel()
            await asyncio.gather(*wants, return_exceptions=True)

    async def _hung(self, up: Up) -> ChildDied:
        """Wait until it is busy and nothing moves, says nothing for as long, or is idle and answers no question."""
        heart = Heart(hung_after_s=self.post.hung_after_s(self._care.hung_after_s))
        idle_since_s = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=LOOK_WITHIN_S)
        headers = {"Authorization": f"Bearer {self._care.key}"}
        made: tuple[float, float] | None = None
        try:
            async with aiohttp.ClientSession(up.url, headers=headers, timeout=timeout) as session:
                while True:
                    await asyncio.sleep(LOOK_EVERY_S)
                    now_s, busy = time.monotonic(), self._busy()
                    said = await _said(session)
                    if said is not None:
                        self.tokens_per_s = _rate(made, (now_s, said.made))
                        made = (now_s, said.made)
                    counted = None if said is None else said.counters
                    # a client that does not take its answer keeps the door busy, and the engine has long been done
                    works_for_us = busy and (said is None or said.works)
                    if heart.is_hung(Pulse(at_s=now_s, busy=works_for_us, counters=counted)):
                        return ChildDied(f"{self.post.name} hangs: nothing has moved for {heart.hung_after_s:.0f} s")
                    idle_since_s = now_s if busy else idle_since_s
                    every_s = self._care.probe_idle_every_s
                    if every_s and now_s - idle_since_s >= every_s:
                        if not await _answers(session) and not self._busy():  # else it may have waited for its turn
                            within = f"{PROBE_WITHIN_S:g} s"
                            return ChildDied(f"{self.post.name} is idle and does not answer a question within {within}")
                        idle_since_s = time.monotonic()
        finally:
            self.tokens_per_s = None

    def _busy(self) -> bool:
        return any(one.busy for one in self._door.behind() if one.name == self.post.name)

    # ---- death

    async def _died(self, error: EvenerError, *, lived_s: float) -> None:
        """Keep what is known of it, and decide where it comes up next."""
        host = getattr(error, "host", None) or await self._lost_host()
        self._deaths.add(Death(at_s=time.monotonic(), lived_s=lived_s, why=error.message, host=host))
        bundle = await asyncio.to_thread(self._bundle, error, host)
        self._fact("death behind the door", {"name": self.post.name, "why": error.message, "bundle": bundle})
        self.restarts += 1
        self._is("restarting", why=error.message)
        self._is_so(error)
        if (hopeless := self._deaths.hopeless_host) is None:
            return
        if (elsewhere := self.post.without(hopeless)) is not None:
            self._deaths = Deaths()
            self.post, layout = elsewhere, elsewhere.candidate.name
            self._fact("elsewhere", {"name": self.post.name, "without": hopeless, "layout": layout})
            told = f"{hopeless} died {FEW} times in a row: {layout}, without it; last: {error.message}"
            self._is("restarting", why=told)

    async def _lost_host(self) -> str | None:
        """A host of this layout that does not answer now."""
        try:
            scan = await self.post.planned.rig.scan(within_s=LOOK_WITHIN_S)
        except EvenerError:
            return None
        seen = [host for name in self.post.candidate.hosts if (host := scan.host(name)) is not None]
        return next((host.name for host in seen if host.connection == "ssh" and host.machine_id is None), None)

    def _bundle(self, error: EvenerError, host: str | None) -> str | None:
        """A folder with what is known of this death; None when it cannot be written."""
        folder = self._care.bundles / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{self.post.name}"
        older = sorted(self._care.bundles.glob(f"*Z-{self.post.name}")) if self._care.bundles.is_dir() else []
        for one in older[: len(older) + 1 - MOST_BUNDLES]:
            shutil.rmtree(one, ignore_errors=True)
        told = {
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "why": error.message,
            "hint": error.hint,
            "host": host,
            "evener": __version__,
            "engines": {h.name: to_data(h.engine) for h in self.post.planned.scan.hosts if h.engine},
            "candidate": to_data(self.post.candidate),
        }
        try:
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(folder / "death.json", json.dumps(told, indent=1, ensure_ascii=False) + "\n")
                for log in sorted((self._care.bundles.parent / "logs").glob("*/*.log")):
                    lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
                    write_whole(folder / f"{log.parent.name}-{log.name}", "\n".join(lines) + "\n")
        except HostError:
            return None
        return str(folder)

    # ---- orders

    async def ready(self) -> str | None:
        """Wait until it serves for the first time, or has failed to; the URL of its own server then."""
        await self._settled.wait()
        return next((one.url for one in self._door.behind() if one.name == self.post.name), None)

    async def pause(self) -> None:
        """Finish what is in flight, leave the machines, and stay away until `go_on`. Returns when nothing is up.

        Raises HostBusy when another order comes before it is so, as the others do.
        """
        await self._order(paused=True)

    async def go_on(self) -> None:
        """Come back. Returns when it serves, at once where it was not away. Raises what kept it from doing so."""
        await self._order(paused=False)

    async def switch(self, post: Callable[[], Awaitable[Post]]) -> None:
        """Drain, leave the machines, plan anew with them free, and come up as that; as before where that fails.

        Raises what kept it from doing so.
        """
        self._require_no_switch()
        if self._paused:
            raise HostBusy(f"{self.post.name} is paused", hint=f"first: evener continue {self.post.name}")
        before, self._is_switching = self.post, True
        try:
            await self._order_now(paused=True)
            self._next = replace(await post(), name=before.name)
            await self._order_now(paused=False)
        except EvenerError:
            self._next = before
            with suppress(EvenerError):
                await self._order_now(paused=False)
            raise
        finally:
            self._is_switching = False

    def _require_no_switch(self) -> None:
        if self._is_switching:
            raise HostBusy(f"{self.post.name} is being switched", hint="evener status shows when it is ready")

    async def _order(self, *, paused: bool) -> None:
        self._require_no_switch()
        if paused != self._paused:
            await self._order_now(paused=paused)
        elif self._wish is not None and not self._wish.done():  # somebody else ordered the same
            await asyncio.shield(self._wish)

    async def _order_now(self, *, paused: bool) -> None:
        if self._wish is not None and not self._wish.done():
            self._wish.set_exception(HostBusy(f"{self.post.name}: another order came meanwhile", hint="evener status"))
        self._paused = paused
        self._wish = wish = asyncio.get_running_loop().create_future()
        self._changed.set()
        await wish

    def _is_so(self, fault: EvenerError | None = None) -> None:
        """What was ordered is so, or has failed. An order that came since is not meant: its turn comes."""
        self._settled.set()
        if self._wish is None or self._wish.done() or self._changed.is_set():
            return
        if fault is None:
            self._wish.set_result(None)
        else:
            self._wish.set_exception(fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What an engine says of itself: everything that grows, tokens made since its start, whether it works."""

    counters: tuple[float, ...]
    made: float
    works: bool


async def _said(session: aiohttp.ClientSession) -> _Said | None:
    """None when it does not say."""
    try:
        async with session.get("/metrics") as said:
            metrics = values(await said.text())
        async with session.get("/slots") as said:
            slots = await said.json(content_type=None)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return None
    made = metrics.get("tokens_predicted_total", 0.0)
    return _Said(counters=counters(slots, metrics), made=made, works=works(slots, metrics))


def _rate(before: tuple[float, float] | None, now: tuple[float, float]) -> float | None:
    if before is None or now[0] <= before[0] or now[1] < before[1]:
        return None
    return (now[1] - before[1]) / (now[0] - before[0])


async def _answers(session: aiohttp.ClientSession) -> bool:
    """Whether one token comes, through every card and worker."""
    asked = {"prompt": "a", "n_predict": 1, "cache_prompt": False}
    try:
        async with session.post("/completion", json=asked, timeout=aiohttp.ClientTimeout(total=PROBE_WITHIN_S)) as said:
            return said.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
