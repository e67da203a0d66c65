"""Measure something that serves: probe it, run the closed loop, give up when what serves has died."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.launch.bring_up import Up
from evener.ports import Report
from evener.records.load import Request, UsersResult

T = TypeVar("T")
CUT = "cut off: it was interrupted, or what served had died"


async def measure_users(
    url: str,
    load: Load,
    *,
    keep: Callable[[Request], None],
    report: Report,
    api_key: str | None = None,
    on_cut: Callable[[UsersResult], None] = lambda _partial: None,
) -> UsersResult:
    """`load` against `url`. When it is cancelled, `on_cut` gets what was measured until then, if anything was.

    Raises what the probe raises.
    """
    server = await probe(base_url(url), load, api_key=api_key)
    bench = UsersBench(server, load, keep=keep, report=report)
    try:
        return await bench.run()
    except asyncio.CancelledError:
        partial = bench.result(CUT)
        if partial.levels:
            on_cut(partial)
        raise


async def while_up(up: Up, work: Awaitable[T]) -> T:
    """The result of `work`, unless a part of the deployment dies first: then its ChildDied is raised."""
    task, fault = asyncio.ensure_future(work), asyncio.ensure_future(up.fault())
    try:
        await asyncio.wait([task, fault], return_when=asyncio.FIRST_COMPLETED)
        if fault.done():
            raise fault.result()
        return task.result()
    finally:
        for one in (task, fault):
            one.cancel()
        await asyncio.gather(task, fault, return_exceptions=True)
