"""The rig as it is now, asked once for everybody who looks: twenty watchers cost what one does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from evener.api import doctor, what_if
from evener.api.rig import Rig
from evener.api.what_if import Look
from evener.records.card import Scan
from evener.records.deployment import Deployment
from evener.records.finding import Examined
from evener.records.whatif import PlanAnswer

FRESH_S = 4.0
EXAMINED_FRESH_S = 20.0


class Now:
    """The rig of one rig file. The file is read again whenever its date changes."""

    def __init__(self, path: str | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._rig = Rig.open(path)
        self._read_at = self._stamp()
        self._scan: Scan | None = None
        self._scanned_at = float("-inf")
        self._look: Look | None = None
        self.held: dict[str, PlanAnswer] = {}  # answers to questions that are held beside others, of the last look
        self._examined: Examined | None = None
        self._examined_at = float("-inf")
        self._asking = asyncio.Lock()
        self._examining = asyncio.Lock()

    @property
    def rig(self) -> Rig:
        """Raises RigFileError when the file has come to have a fault."""
        if self._read_at != (now := self._stamp()):
            self._rig, self._read_at = Rig.open(self._path), now
            self._scanned_at = self._examined_at = float("-inf")
        return self._rig

    @property
    def rig_name(self) -> str | None:
        return self._rig.record.path

    async def scan(self, *, fresh_s: float = FRESH_S) -> Scan:
        """The rig as it was at most `fresh_s` ago."""
        rig = self.rig
        async with self._asking:
            if self._scan is None or self._clock() - self._scanned_at > fresh_s:
                self._scan = await rig.scan()
                self._scanned_at = self._clock()
            return self._scan

    async def look(self, *, fresh_s: float) -> Look:
        """The rig for the explorer's many questions."""
        scan = await self.scan(fresh_s=fresh_s)
        if self._look is None or self._look.scan is not scan:
            self._look = await what_if.look(self.rig, scan)
            self.held.clear()
        return self._look

    async def examined(self) -> Examined:
        """What would stop or slow a load, as it was a moment ago."""
        rig = self.rig
        async with self._examining:
            if self._examined is None or self._clock() - self._examined_at > EXAMINED_FRESH_S:
                self._examined = await doctor.examine(rig, report=lambda _progress: None)
                self._examined_at = self._clock()
            return self._examined

    def deployments(self) -> tuple[Deployment, ...]:
        return self.rig.deployments()

    def _stamp(self) -> tuple[int, int] | None:
        path = self._rig.record.path if hasattr(self, "_rig") else None
        try:
            stat = Path(path).stat() if path else None
        except OSError:
            return None
        return (stat.st_mtime_ns, stat.st_size) if stat else None
