"""Look now and then at what the server says of its slots while it is loaded: who waits for one, how many are busy.

On a line of its own. A server that says nothing is asked no more: then nobody knows, which is not zero.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from evener.bench.client import Line, now_ns
from evener.bench.probe import Server
from evener.dialects.llama_metrics import SlotsSeen, from_metrics, from_slots
from evener.records.load import Queue

EVERY_S = 2.0
ANSWER_WITHIN_S = 30.0  # it answers between two batches, and a batch of a long prompt takes its time
AT_ITS_END_NS = 100_000_000
FEWEST_DECODES = 20  # below that, the mean of a time is a difference of rounded figures


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen, and when it was asked for."""

    at_ns: int
    seen: SlotsSeen


class SlotsWatch:
    """Run `watching()` beside the load; `look_now()` asks for one look at once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._looks: list[Look] = []
        self._source: Literal["metrics", "slots"] | None = "metrics" if server.llama else None
        self._now = asyncio.Event()

    def look_now(self) -> None:
        self._now.set()

    def between(self, start_ns: int, end_ns: int) -> Queue | None:
        """What was seen in that time, by the look that its end asked for too; None when nothing was."""
        looks = [look.seen for look in self._looks if start_ns <= look.at_ns <= end_ns + AT_ITS_END_NS]
        return None if self._source is None or not looks else queue(looks, self._source)

    async def watching(self) -> None:
        async with self._server.line() as line:
            while self._source is not None:
                self._now.clear()
                await self._look(line)
                try:
                    async with asyncio.timeout(EVERY_S):
                        await self._now.wait()
                except TimeoutError:
                    continue

    async def _look(self, line: Line) -> None:
        at_ns = now_ns()
        answer = await line.get(f"/{self._source}", within_s=ANSWER_WITHIN_S)
        if answer.ending in ("timeout", "unreachable"):
            return
        text = answer.body.decode(errors="replace") if answer.status == 200 else ""
        seen = from_metrics(text) if self._source == "metrics" else from_slots(text)
        if seen is not None:
            self._looks.append(Look(at_ns, seen))
        elif not self._looks:
            self._source = "slots" if self._source == "metrics" else None
            self._now.set()


def queue(looks: Sequence[SlotsSeen], source: Literal["metrics", "slots"]) -> Queue:
    """Of at least one look. Busy slots by the server's own mean where it has one, else over the looks."""
    deferred = [look.deferred for look in looks if look.deferred is not None]
    return Queue(
        source=source,
        polls=len(looks),
        deferred_mean=fmean(deferred) if deferred else None,
        deferred_most=max(deferred, default=None),
        busy_slots=_mean_busy(looks[0], looks[-1]) if source == "metrics" else fmean(look.busy for look in looks),
    )


def _mean_busy(first: SlotsSeen, last: SlotsSeen) -> float | None:
    if None in (first.busy_total, first.decodes, last.busy_total, last.decodes):
        return None
    decodes = (last.decodes or 0) - (first.decodes or 0)
    busy = (last.busy_total or 0) - (first.busy_total or 0)
    return busy / decodes if decodes >= FEWEST_DECODES else None
