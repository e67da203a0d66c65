"""Borrow the machines of a deployment: what else is measured there comes between its leaving and its coming back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

from evener.api.rig import Rig
from evener.api.session import log_in, world_of
from evener.edges import deployments
from evener.edges.control import borrow
from evener.edges.run_folder import RunFolder, open_run
from evener.errors import ConfigurationError, HostError, Interrupted, RunUnreadable
from evener.journeys.deploy import World
from evener.launch.bring_up import load_within_s
from evener.ports import Report
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.run import Run
from evener.together import to_the_end, until

BEYOND_THE_LOAD_S = 60.0  # scans, verification, and what the borrower leaves on its ports


@asynccontextmanager
async def borrowed(ours: Deployment, *, report: Report) -> AsyncIterator[None]:
    """`ours` is off its machines in the block, and serves again when this returns.

    Raises HostBusy when it cannot be lent, HostError when it does not come back, and Interrupted in the block when
    somebody has taken it down for good meanwhile.
    """
    report(Progress(what=f"{ours.name} leaves its machines"))
    try:
        async with borrow(deployments.folder(ours.name) / deployments.SOCKET) as gone, _unless(gone, ours.name):
            yield
    finally:
        report(Progress(what=f"{ours.name} comes back"))
        await to_the_end(_until_back(ours))


@asynccontextmanager
async def _unless(gone: asyncio.Future[bytes], name: str) -> AsyncIterator[None]:
    """End the block when the supervisor has gone: the machines are nobody's then."""
    task = asyncio.current_task()
    assert task is not None
    ended = False

    def end(_: object) -> None:
        nonlocal ended
        if not gone.cancelled():
            ended = True
            task.cancel()

    gone.add_done_callback(end)
    try:
        yield
    except asyncio.CancelledError:
        if ended and not task.uncancel():
            raise Interrupted(f"{name} was taken down meanwhile") from None
        raise
    finally:
        gone.remove_done_callback(end)


async def _until_back(ours: Deployment) -> None:
    size = sum(device.weights_bytes for device in ours.candidate.devices)
    within_s = load_within_s(size) + BEYOND_THE_LOAD_S
    if await until(lambda: _is_settled(ours.name), within_s=within_s) is None:
        raise HostError(f"{ours.name} was lent and is not back after {within_s:.0f} s", hint="evener status")
    record = deployments.load(ours.name)
    if record is not None and record.state != "ready":
        why = f": {record.fault}" if record.fault else ""
        raise HostError(f"{ours.name} was lent and did not come back{why}", hint="evener up starts it again")


async def _is_settled(name: str) -> bool | None:
    """Whether it serves again, or never will."""
    record = deployments.load(name)
    if record is None or deployments.supervisor(name) is None:
        return True
    return True if record.state in ("ready", "failed") else None


def require_ours(ours: Deployment | None, option: str) -> Deployment:
    """Raise ConfigurationError for a server that is not a deployment of this machine."""
    if ours is None:
        raise ConfigurationError(
            f"{option} stops the server and starts it again: only a deployment of ours can be",
            hint="name it, or leave the URL out; evener status lists them",
        )
    return ours


def run_of(ours: Deployment) -> Run:
    """What its own run knows: plan, rig, and the scan from before its load. Raises HostError when that is gone."""
    try:
        return open_run(Path(ours.run or "")).run
    except RunUnreadable as error:
        raise HostError(f"{ours.name}: {error.message}", hint="evener up starts it anew, with a run folder") from None


def extra_flags(ours: Deployment) -> tuple[str, ...]:
    """Engine flags that its server was given after `--`: they are in no plan."""
    head = next((process for process in ours.processes if process.role == "head"), None)
    return head.argv[len(ours.candidate.servers[0].argv) :] if head else ()


def world_beside(ours: Deployment, *, folder: RunFolder | None, report: Report) -> World:
    """The rig of a deployment for a borrower; logs go into the borrower's own run folder."""
    rig = run_of(ours).rig
    if rig is None:
        raise HostError(f"{ours.name}: its run does not say on which rig it is")
    return world_of(
        Rig(rig),
        open_log=log_in(folder) if folder else _nowhere,
        fact=(lambda kind, data: None) if folder is None else (lambda kind, data: _kept(folder, kind, data)),
        report=report,
    )


def _kept(folder: RunFolder, kind: str, data: dict[str, object]) -> None:
    folder.fact(kind, data)


def _nowhere(_host: str, _name: str) -> TextIO:
    return Path(os.devnull).open("a", encoding="utf-8")
