"""Start a command of ours as a process of its own that outlives whoever started it: a supervisor, a measurement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evener.edges.writing import writing

ENDS_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """`log` is where it says what it has to say."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.poll()

    def said(self, lines: int = 10) -> list[str]:
        """The last lines of its log."""
        with suppress(OSError):
            return [line for line in self.log.read_text(errors="replace").splitlines() if line][-lines:]
        return []

    def interrupt(self) -> None:
        """As Ctrl-C would: it ends in good order, and keeps what there is."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGINT)


def started(arguments: Sequence[str], log: Path) -> Started:
    """`evener ARGUMENTS` in a session of its own. Raises HostError when its log cannot be written."""
    with writing(log):
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = log.open("wb")
    with file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "evener", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    return Started(process=process, log=log)
