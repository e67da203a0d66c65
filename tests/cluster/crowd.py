"""People at a door: each asks, reads to the end, and asks again. What became of every request, and how long it took."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import aiohttp

Ending = Literal["right", "said so", "hung", "broken off", "unreachable"]
TOKENS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. "said so": a status of its own, or an error in the stream; "broken off": neither that nor an end."""

    person: int
    sent_s: float
    took_s: float
    ending: Ending
    status: int | None
    deployment: str | None


@dataclass(kw_only=True)
class Crowd:
    """`people` at `url`, while `asking()`. No answer may take longer than `within_s`."""

    url: str
    people: int
    within_s: float
    key: str | None = None
    asked: list[Asked] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[Crowd]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        timeout = aiohttp.ClientTimeout(total=self.within_s)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            over = asyncio.Event()
            everybody = [asyncio.create_task(self._person(number, session, over)) for number in range(self.people)]
            try:
                yield self
            finally:
                over.set()
                await asyncio.gather(*everybody)

    async def _person(self, number: int, session: aiohttp.ClientSession, over: asyncio.Event) -> None:
        while not over.is_set():
            self.asked.append(await self._ask(number, session))
            if self.asked[-1].ending != "right":
                await asyncio.sleep(0.3)

    async def _ask(self, person: int, session: aiohttp.ClientSession) -> Asked:
        """A prompt that nobody asked before."""
        text = f"Person {person} asks question {next(self._numbers)}: what is two and two?"
        body = {"messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": TOKENS}
        sent_s, status, deployment = time.monotonic(), None, None
        try:
            async with session.post(f"{self.url}/v1/chat/completions", json=body) as answer:
                status, deployment = answer.status, answer.headers.get("X-Evener-Deployment")
                ending = _ending(status, await answer.read())
        except TimeoutError:
            ending = "hung"
        except aiohttp.ClientConnectorError:
            ending = "unreachable"
        except aiohttp.ClientError:
            ending = "broken off"
        took_s = time.monotonic() - sent_s
        return Asked(person=person, sent_s=sent_s, took_s=took_s, ending=ending, status=status, deployment=deployment)

    def endings(self, *, since_s: float = 0.0) -> Counter[str]:
        return Counter(one.ending for one in self.asked if one.sent_s >= since_s)

    async def until_right(self, *, since_s: float, within_s: float) -> float:
        """Seconds from `since_s` until a request that was sent after it had been answered right."""
        while time.monotonic() - since_s < within_s:
            ends = [one.sent_s + one.took_s for one in self.asked if one.sent_s >= since_s and one.ending == "right"]
            if ends:
                return min(ends) - since_s
            await asyncio.sleep(0.05)
        raise AssertionError(f"nobody was answered within {within_s:g} s: {self.endings(since_s=since_s)}")


def _ending(status: int, body: bytes) -> Ending:
    if status != 200:
        return "said so" if b'"message"' in body else "broken off"
    events = [line[6:] for line in body.decode(errors="replace").splitlines() if line.startswith("data: ")]
    if events and '"error"' in events[-1]:
        return "said so"
    if not events or events[-1] != "[DONE]":
        return "broken off"
    said = [json.loads(event) for event in events[:-1]]
    finished = [choice["finish_reason"] for event in said for choice in event["choices"] if choice["finish_reason"]]
    return "right" if len(finished) == 1 else "broken off"
