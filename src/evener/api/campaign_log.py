"""What is said at each visit of a campaign, in a file of its own: a line for each thing that happens, with its time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evener.edges.control import Message
from evener.edges.run_folder import RunFolder
from evener.errors import HostError

BETWEEN = "campaign"  # what is said before, between and after visits
WORDS = ("text", "why", "url", "name", "load_s", "unit", "visit")  # of a fact: what people read


@dataclass(kw_only=True)
class VisitLog:
    """Takes every message of a session. A disk that is full loses lines of it, and nothing else."""

    folder: RunFolder
    visit: str = BETWEEN
    going_on: str | None = None

    def take(self, message: Message) -> None:
        if "progress" in message:
            self._progress(message["progress"])
        elif "fact" in message:
            self._fact(message["fact"]["kind"], message["fact"]["data"])
        elif "judging" in message:
            self._write(f"judging: {message['judging']}")

    def _progress(self, progress: dict[str, Any]) -> None:
        """Each thing that goes on is told once, when it begins."""
        if progress["what"] != self.going_on:
            self.going_on = progress["what"]
            detail = f": {progress['detail']}" if progress.get("detail") else ""
            self._write(f"{progress['what']}{detail}")

    def _fact(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "visit begun":
            self.visit = data["visit"]
        told = data.get("end", data)
        said = [f"{name} {told[name]}" for name in WORDS if isinstance(told.get(name), str | float | int)]
        state = f" {told['state']}" if "state" in told else ""
        self._write(f"{kind}{state}" + (f": {', '.join(said)}" if said else ""))
        for line in told.get("evidence") or ():
            self._write(f"    {line}")
        if kind == "visit ended":
            self.visit = BETWEEN

    def _write(self, line: str) -> None:
        with suppress(HostError, OSError), self.folder.log_path("visits", f"{self.visit}.log").open("a") as file:
            file.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")
