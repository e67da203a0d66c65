"""What is looked at beside a measurement: its client before, its hosts meanwhile, the room as the user states it.

Measures nothing of the server itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from evener.api import measure, self_test, telemetry
from evener.api.measure import Target
from evener.bench.self_test import Result
from evener.edges.run_folder import RunFolder
from evener.errors import CannotRun
from evener.ports import Report
from evener.records.client import ClientCheck
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.telemetry import Sample, Telemetry
from evener.telemetry.watch import Keep

MOST_CHECKED = 64  # streams of the client's check


@dataclass(frozen=True, slots=True, kw_only=True)
class Eyes:
    """What to look at: the hosts, once a second; what the client adds. `ambient_c` is a condition, of the room."""

    watch: bool = True
    check_client: bool = True
    ambient_c: float | None = None


EYES = Eyes()


class Watching:
    """One measurement under these eyes: `check_client`, then whatever is measured in `watching`, then `told`."""

    def __init__(self, target: Target, eyes: Eyes, *, report: Report) -> None:
        self._target, self._eyes, self._report = target, eyes, report
        self._check: ClientCheck | str | None = None
        self._seen: telemetry.Seen | None = None
        self._from_s = 0.0
        self._has_begun = False

    @property
    def seen(self) -> telemetry.Seen | None:
        """What the hosts have said; None while nobody watches."""
        return self._seen

    async def check_client(self, users: int) -> None:
        """What the client adds at so many streams: as kept, else measured in some four seconds."""
        if not self._eyes.check_client:
            return
        at = min(MOST_CHECKED, 1 << math.ceil(math.log2(users)))
        try:
            self._check = await self_test.self_test(at, report=self._report)
        except CannotRun as error:
            self._check = f"what this client adds is not known: {error.message}"

    def checked(self, result: Result) -> Result:
        """The result with what is known of the client; invalid where that adds too much."""
        if isinstance(self._check, str):
            return replace(result, notes=(*result.notes, self._check))
        return result if self._check is None else self_test.with_check(result, self._check)

    @asynccontextmanager
    async def watching(self, keep: Keep, *, elapsed_s: float = 0.0) -> AsyncIterator[None]:
        """Watch the hosts while in the block, which is `elapsed_s` behind the beginning of the run.

        `keep` gets each sample, the first when the block has begun: before that their times are not the run's.
        """
        if not self._eyes.watch:
            yield
            return
        hosts = measure.watched(self._target)
        self._report(Progress(what="asking the hosts"))
        async with telemetry.watching(
            hosts.rig, scan=hosts.scan, hosts=hosts.hosts, deployment=hosts.deployment, keep=self._once_begun(keep)
        ) as seen:
            self._report(Progress(what="asking the hosts", done=1, of=1))
            seen.begin(time.perf_counter_ns() - round(elapsed_s * 1e9))
            self._seen, self._from_s, self._has_begun = seen, seen.now_s(), True
            for sample in seen.samples:
                keep(sample)
            yield

    def told(self, *, tokens: float | None = None) -> Telemetry | None:
        """What the hosts did from the block's beginning until now, in which `tokens` were made; None unwatched."""
        if self._seen is None:
            return None
        return telemetry.tell(
            self._seen,
            from_s=self._from_s,
            tokens=tokens,
            money=measure.money_of(self._target),
            ambient_c=self._eyes.ambient_c,
        )

    @property
    def from_s(self) -> float:
        """When the block began, in seconds of the run."""
        return self._from_s

    def _once_begun(self, keep: Keep) -> Keep:
        def kept(sample: Sample) -> None:
            if self._has_begun:
                keep(sample)

        return kept


def into(folder: RunFolder | None) -> Keep:
    """Keeps samples in a run folder, or nowhere."""

    def keep(sample: Sample) -> None:
        if folder is not None:
            folder.telemetry([sample])

    return keep


def as_conditions(known: Conditions, told: Telemetry | None) -> Conditions:
    """The conditions with what the hosts were like meanwhile."""
    return known if told is None else telemetry.as_conditions(known, told)
