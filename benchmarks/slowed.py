"""Let a cgroup's engine processes run a share of the time only, in slices of 2 ms: python slowed.py PROCS SHARE

A cgroup quota does not make a slow card of a fast one: it limits what is used over time, and in a chain of cards each
waits for the others most of the time, so it has always saved enough. Here a stage takes 1 / SHARE as long, whatever
happened before. A sleep lasts longer than asked, by a tenth of a millisecond or many: what a slice got too much or
too little, the next one gives back. Needs root. PROCS is the group's cgroup.procs; ends with SIGTERM or with its
parent, and lets go first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

CYCLE_S = 0.002
LOOK_EVERY_S = 0.05
MOST_OWED_S = 0.002  # a machine that stood still for longer is no debt
ENGINES = ("llama-", "ggml-rpc")


def main(procs: str, share: float) -> None:
    parent = os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(OSError):  # without it slices are longer on a busy machine; a group of its own would forbid it
        (Path(procs).parent.parent / "cgroup.procs").write_text(str(os.getpid()))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    pids: list[int] = []
    look_at, owed = 0.0, 0.0  # seconds that the engines ran beyond their share
    try:
        while os.getppid() == parent:
            if (now := time.monotonic()) >= look_at:
                pids, look_at = _engines(Path(procs)), now + LOOK_EVERY_S
            _send(pids, signal.SIGSTOP)
            stopped = _slept(CYCLE_S * (1 - share) + owed / share)
            _send(pids, signal.SIGCONT)
            ran = _slept(CYCLE_S * share)
            owed += ran - share * (ran + stopped)
            owed = max(-MOST_OWED_S, min(owed, MOST_OWED_S))
    finally:
        _send(pids, signal.SIGCONT)


def _slept(seconds: float) -> float:
    """How long it really was."""
    begin = time.monotonic()
    time.sleep(max(0.0, seconds))
    return time.monotonic() - begin


def _engines(procs: Path) -> list[int]:
    found = []
    for pid in procs.read_text().split():
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith(ENGINES):
                found.append(int(pid))
    return found


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


if __name__ == "__main__":
    with suppress(FileNotFoundError):  # the group has gone
        main(sys.argv[1], float(sys.argv[2]))
