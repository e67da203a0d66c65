"""Watch hosts while several measurements follow each other, and let their cards cool down in between."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from evener.api import measure, telemetry
from evener.edges.run_folder import RunFolder
from evener.ports import Report
from evener.records.deployment import Process
from evener.records.telemetry import Cooled, Sample

COOL_WITHIN_S = 300.0


class Watch:
    """Hosts that are watched from before the first visit on."""

    def __init__(self, seen: Sequence[telemetry.Seen]) -> None:
        self._seen = [(one, one.temperatures()) for one in seen]

    async def cooled(self, report: Report) -> list[Cooled]:
        return [
            await telemetry.cooled(seen, first, within_s=COOL_WITHIN_S, report=report) for seen, first in self._seen
        ]

    def knows(self, processes: Iterable[Process]) -> None:
        """These are ours, and nobody who has joined a card."""
        for process in processes:
            for seen, _ in self._seen:
                if process.host in {watched.host for watched in seen.hosts}:
                    seen.ours(process.host).add(process.pid)


@asynccontextmanager
async def watching(hosts: Iterable[measure.Hosts], folder: RunFolder | None) -> AsyncIterator[Watch]:
    """Watch them as long as the block lasts; samples go into the run folder while that has room."""

    def keep(sample: Sample) -> None:
        if folder is not None:
            folder.telemetry([sample])

    async with AsyncExitStack() as stack:
        started_ns = time.perf_counter_ns()
        seen = [
            await stack.enter_async_context(
                telemetry.watching(
                    one.rig, scan=one.scan, hosts=one.hosts, deployment=one.deployment, keep=keep, started_ns=started_ns
                )
            )
            for one in hosts
        ]
        yield Watch(seen)
