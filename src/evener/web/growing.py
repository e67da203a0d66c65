"""A run folder while it grows: read once for everybody who watches, only what is new of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evener.api import campaigns
from evener.codec import from_data
from evener.edges.run_folder import is_written
from evener.errors import EvenerError
from evener.records.campaign import CampaignStatus
from evener.records.load import UsersResult
from evener.records.run import Run

LOOK_EVERY_S = 1.0
LAST_FACTS = 30
STILL_S = 4.0
CAMPAIGN = "compare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What there is of a run at one moment. `users` is its last partial result."""

    run: Run
    is_over: bool
    is_left: bool = False  # over without a summary: whoever measured was interrupted or killed
    requests: int = 0
    answers: int = 0
    facts: tuple[tuple[str, str], ...] = ()  # the last ones: kind, and what it says in short
    users: UsersResult | None = None
    campaign: CampaignStatus | None = None


@dataclass(kw_only=True)
class Growing:
    """One run folder, followed by whoever wants to."""

    path: Path
    growth: Growth
    _at: dict[str, int] = field(default_factory=dict)  # file -> bytes read
    _facts: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LAST_FACTS))
    _grown: asyncio.Condition = field(default_factory=asyncio.Condition)
    _grew_at: float = field(default_factory=time.monotonic)
    _watchers: int = 0
    _looking: asyncio.Task[None] | None = None

    async def watched(self) -> AsyncIterator[Growth]:
        """What there is, at once and whenever it has grown, until the run is over."""
        self._watchers += 1
        if self._looking is None or self._looking.done():
            await asyncio.to_thread(self.look)
            self._looking = asyncio.create_task(self._look_on())
        try:
            seen: Growth | None = None
            while True:
                async with self._grown:
                    while self.growth is seen:
                        await self._grown.wait()
                    seen = self.growth
                yield seen
                if seen.is_over:
                    return
        finally:
            self._watchers -= 1

    async def _look_on(self) -> None:
        while self._watchers and not self.growth.is_over:
            await asyncio.sleep(LOOK_EVERY_S)
            before = self.growth
            await asyncio.to_thread(self.look)
            if self.growth is not before:
                async with self._grown:
                    self._grown.notify_all()

    def look(self) -> None:
        """Take in what is new."""
        now = replace(
            self.growth,
            is_over=(self.path / "summary.json").exists(),
            is_left=False,
            requests=self.growth.requests + len(self._new("requests.jsonl")),
            answers=self.growth.answers + len(self._new("answers.jsonl")),
        )
        for line in self._new("events.jsonl"):
            now = self._with_fact(now, line)
        if now.run.what == CAMPAIGN:
            with suppress(EvenerError):
                now = replace(now, campaign=campaigns.status(self.path))
        now = replace(now, facts=tuple(self._facts))
        if now != replace(self.growth, is_over=now.is_over, is_left=False):
            self._grew_at = time.monotonic()
        is_still = time.monotonic() - self._grew_at > STILL_S  # asking keeps a writer out for a moment
        if not now.is_over and is_still and not is_written(self.path):
            now = replace(now, is_over=True, is_left=True)
        if now != self.growth:
            self.growth = now

    def _new(self, name: str) -> list[bytes]:
        """Whole lines that have come since the last look."""
        try:
            with (self.path / name).open("rb") as file:
                file.seek(self._at.get(name, 0))
                text = file.read()
        except OSError:
            return []
        end = text.rfind(b"\n") + 1
        self._at[name] = self._at.get(name, 0) + end
        return text[:end].splitlines()

    def _with_fact(self, now: Growth, line: bytes) -> Growth:
        try:
            fact = json.loads(line)
            kind, data = str(fact["kind"]), dict(fact["data"])
        except (ValueError, KeyError, TypeError):
            return now
        self._facts.append((kind, _in_short(data)))
        if kind == "measured" and "users" in data:
            with suppress(EvenerError):
                return replace(now, users=from_data(UsersResult, data["users"], source=str(self.path)))
        return now


def _in_short(data: dict[str, Any]) -> str:
    """What fits a line: names, reasons, sentences."""
    words = [
        str(value) for value in data.values() if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    inner = [value for value in data.values() if isinstance(value, dict)]
    words += [str(one[key]) for one in inner for key in ("unit", "visit", "state", "why") if one.get(key)]
    return " · ".join(words)[:200]


@dataclass(kw_only=True)
class Watched:
    """Every run that somebody watches, once."""

    _known: dict[Path, Growing] = field(default_factory=dict)
    _used: dict[Path, float] = field(default_factory=dict)

    def of(self, path: Path, run: Run) -> Growing:
        for old in [one for one, at in self._used.items() if time.monotonic() - at > 3600 and one != path]:
            self._known.pop(old, None)
            self._used.pop(old, None)
        self._used[path] = time.monotonic()
        if path not in self._known:
            self._known[path] = Growing(path=path, growth=Growth(run=run, is_over=False))
        return self._known[path]
