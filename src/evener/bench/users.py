"""How fast for how many: users who wait for their answers, or requests sent by the clock, one level after the other.

No time box and no draining. Users go on from one user count to the next, what is in flight at the change warms up the
next level, and beside a level's last measured requests the others go on, so that the server sees the full load
throughout. What is measured is finished, not cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from evener.bench.client import now_ns
from evener.bench.closed_loop import ClosedLoop
from evener.bench.crowd import Crowd, Keep
from evener.bench.gate import Gate
from evener.bench.load import Load
from evener.bench.mixed import run_mixed
from evener.bench.open_loop import OpenLoop
from evener.bench.probe import Server
from evener.bench.slots import SlotsWatch
from evener.bench.summarise import latest_part, users_result
from evener.bench.watch import Watch
from evener.ports import Report
from evener.records.load import Queue, Request, UsersResult
from evener.together import background, together


class UsersBench:
    """One measurement. Every request goes to `keep` as soon as it is read; `result()` works at any time.

    When `run` is cancelled, finished requests have been kept and `result("why")` is the partial answer.

    `earlier` are the requests of a run that goes on: its whole levels stand, with their `queues`, and half ones are
    measured again. The load must be the same, its seed too.
    """

    def __init__(
        self,
        server: Server,
        load: Load,
        *,
        keep: Keep,
        report: Report,
        earlier: Sequence[Request] = (),
        queues: Mapping[int, Queue] | None = None,
    ) -> None:
        self._server = server
        self._load = load
        self._report = report
        self._crowd = Crowd(server, load, keep=keep, earlier=earlier)
        self._slots = SlotsWatch(server)
        self._gate = Gate(self._crowd, load, report=report, on_turn=self._slots.look_now)
        self._to_do = [users for users in load.levels if not is_whole(earlier, users, load)]
        self._mixed_to_do = load.mixed is not None and not is_mixed_whole(earlier, load)
        self._queues = {users: queue for users, queue in (queues or {}).items() if users not in self._to_do}
        self._watch = Watch()

    def result(self, partial: str | None = None) -> UsersResult:
        """What has been measured so far; `partial` says why it is not all."""
        requests = self._crowd.requests
        return users_result(
            requests,
            load=self._load,
            server=self._server,
            client=self._watch.cost(retries=sum(request.retried for request in requests)),
            partial=partial or self._crowd.gone,
            queues=self._queues | self._queues_seen(),
        )

    async def run(self) -> UsersResult:
        """All levels, one after the other. Ends early, and says so in `partial`, when the server is gone or silent."""
        self._crowd.begin()
        try:
            async with self._watch.watching(), background(self._crowd.watching()), background(self._slots.watching()):
                await together([self._levels(), self._crowd.reading()])
        except asyncio.CancelledError:
            self._crowd.read_rest()
            raise
        finally:
            self._crowd.close()
        return self.result()

    async def _levels(self) -> None:
        loop = (ClosedLoop if self._load.arrivals == "closed" else OpenLoop)(
            self._crowd, self._gate, self._server, self._load
        )
        try:
            for users in self._to_do:
                if self._crowd.gone is None:
                    await loop.level(users)
        finally:
            await loop.end()
        if self._mixed_to_do and self._crowd.gone is None:
            await run_mixed(self._crowd, self._server, self._load, report=self._report)
        self._crowd.finish_reading()

    def _queues_seen(self) -> dict[int, Queue]:
        seen = {users: self._slots.between(start, end or now_ns()) for users, (start, end) in self._gate.spans.items()}
        return {users: queue for users, queue in seen.items() if queue is not None}


def is_whole(requests: Sequence[Request], users: int, load: Load) -> bool:
    """Whether this level was measured to its end, in one part of the run."""
    measured = [r for r in latest_part(requests, users) if r.users == users and not r.warm_up]
    return len(measured) >= load.requests_at(users)


def is_mixed_whole(requests: Sequence[Request], load: Load) -> bool:
    """Whether all long prompts were sent, in one part of the run."""
    part = max((r.part for r in requests if r.long), default=0)
    return load.mixed is not None and sum(r.long and r.part == part for r in requests) >= load.mixed.repeats
