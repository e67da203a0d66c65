"""A deployment lent for a while: off the machines so that something else can be measured there, and back again.

The loan is a connection to its supervisor. However the borrower ends, Ctrl-C and kill -9 included, the connection ends
with it, and the supervisor brings the deployment up as it was: same plan, same arguments, same locks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evener.edges import deployments
from evener.edges.control import borrow
from evener.errors import ConfigurationError, HostError, Interrupted
from evener.launch.bring_up import load_within_s
from evener.ports import Report
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.together import to_the_end, until

BEYOND_THE_LOAD_S = 60.0  # scans, verification, and what the borrower leaves on its ports


class Loan:
    """The supervisor's side: one borrower at a time, and only while the deployment serves."""

    def __init__(self) -> None:
        self._open = False
        self._asked, self._free, self._returned = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wanted(self) -> None:
        """Wait until somebody wants to borrow. Before and after that nobody can."""
        self._open = True
        try:
            await self._asked.wait()
        finally:
            self._open = False

    async def lend(self) -> str | None:
        """Ask for the loan and wait until nothing is up. Why not, when that is the answer."""
        if self._asked.is_set():
            return "somebody has borrowed it already"
        if not self._open:
            return "it does not serve now"
        self._asked.set()
        await self._free.wait()
        return None

    def give_back(self) -> None:
        self._returned.set()

    async def returned(self) -> None:
        """Nothing is up: let the borrower have it, and wait until it is given back."""
        self._free.set()
        await self._returned.wait()
        for event in (self._asked, self._free, self._returned):
            event.clear()


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
