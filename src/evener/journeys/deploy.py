"""A deployment's whole life: look, load, verify, serve, stop, prove that the memory came back.

Joins scan, launch and verify. Everything that was started ends with the block, whichever way it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from evener.codec import to_data
from evener.errors import DeviceMissing
from evener.journeys.cautions import SYSTEM_CONFIG, cautions
from evener.launch.bring_up import Ports, Up, bring_up
from evener.launch.children import OpenLog
from evener.ports import Http, Report, Rpc, Shell
from evener.records.card import Scan
from evener.records.deployment import Process, State
from evener.records.events import Progress
from evener.records.plan import Candidate
from evener.records.verification import CardCheck, FreedCheck
from evener.together import to_the_end
from evener.verify.freed import check_freed
from evener.verify.loaded import check_loaded

FREED_WITHIN_S = 15.0  # drivers give memory back while a process exits, and a little after
LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The outside, handed in. `scan` looks at the rig now; `fact` writes a durable event; `report` shows progress."""

    shells: Mapping[str, Shell]
    rpc: Rpc
    http: Http
    scan: Callable[[], Awaitable[Scan]]
    open_log: OpenLog
    fact: Callable[[str, dict[str, Any]], None]
    report: Report
    doors: Mapping[str, Shell] = field(default_factory=dict)  # address -> the host that has it
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # the head's environment, never on record


@dataclass(kw_only=True)
class Life:
    """What is known of a deployment so far; filled in as it goes. `freed` is empty until it has stopped."""

    candidate: Candidate
    state: State = "starting"
    up: Up | None = None
    processes: list[Process] = field(default_factory=list)  # as they start, long before they serve
    checks: tuple[CardCheck, ...] = ()
    freed: tuple[FreedCheck, ...] = ()
    before: Scan | None = None
    during: Scan | None = None
    on_state: Callable[[Life], None] = field(default=lambda _life: None)

    def enter(self, state: State) -> None:
        self.state = state
        self.on_state(self)


@asynccontextmanager
async def deployed(life: Life, world: World, *, model_bytes: int, extra: Sequence[str] = ()) -> AsyncIterator[Up]:
    """Load `life.candidate`, verify it, and serve while in the block. Afterwards `life.freed` has the proof.

    Raises what `bring_up` raises, and DeviceMissing when a planned device is absent.
    """
    life.before = await world.scan()
    world.fact("before", {"scan": to_data(life.before)})
    for line in [*cautions(life.candidate, life.before), *await _foreign_settings(life.candidate, world)]:
        world.fact("caution", {"text": line})
    try:
        life.enter("loading")
        ports = Ports(
            shells=world.shells,
            rpc=world.rpc,
            http=world.http,
            open_log=world.open_log,
            report=world.report,
            doors=world.doors,
            secrets=world.secrets,
            on_start=life.processes.append,
        )
        async with bring_up(life.candidate, ports, model_bytes=model_bytes, extra=extra) as up:
            life.up = up
            try:
                life.enter("verifying")
                await _verify(life, up, world)
                life.enter("loaded")
                world.fact("ready", {"url": up.url, "load_s": up.load_s})
                yield up
            finally:
                life.enter("stopping")
    finally:
        if life.up is not None:
            world.fact("breakdown", {"rows": to_data(life.up.breakdown())})
        life.freed = await to_the_end(_freed(life, world))
        life.enter("stopped")


async def _foreign_settings(candidate: Candidate, world: World) -> list[str]:
    """The engine reads this file whatever its environment says; what the plan decides overrides it, the rest stays.

    An endpoint's host cannot be asked.
    """
    asked = [host for host in candidate.hosts if host in world.shells]
    hosts = [host for host in asked if await world.shells[host].read(SYSTEM_CONFIG, most_bytes=1) is not None]
    return [f"{host}: {SYSTEM_CONFIG} exists and changes engine options that the plan does not set" for host in hosts]


async def _verify(life: Life, up: Up, world: World) -> None:
    world.report(Progress(what="verifying"))
    life.during = await world.scan()
    life.checks = check_loaded(life.candidate, up.loaded, life.during, up.processes)
    world.fact("verified", {"checks": to_data(life.checks), "processes": to_data(up.processes)})
    if missing := next((c for c in life.checks if c.verdict == "missing"), None):
        raise DeviceMissing(
            f"{missing.host}/{missing.card_name} ({missing.device}): {missing.why}",
            hint="evener scan shows what the engine sees now",
        )


async def _freed(life: Life, world: World) -> tuple[FreedCheck, ...]:
    """Look until every card is free, or the deadline has passed: memory comes back after the process has gone.

    Where nothing was started there is nothing to prove.
    """
    assert life.before is not None
    if not life.processes:
        return ()
    deadline = asyncio.get_running_loop().time() + FREED_WITHIN_S
    world.report(Progress(what="waiting for the memory"))
    while True:
        after = await world.scan()
        checks = check_freed(life.candidate, life.before, life.during, after, life.processes)
        settled = all(c.verdict != "held" for c in checks)
        if settled or asyncio.get_running_loop().time() > deadline:
            world.fact("freed", {"checks": to_data(checks)})
            return checks
        await asyncio.sleep(LOOK_EVERY_S)
