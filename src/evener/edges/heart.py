"""Our sign of life for the far end of a cable: a line a second from a tiny process of its own, which ends with us."""

from __future__ import annotations

import subprocess
import weakref
from pathlib import Path

HEARTBEAT = Path(__file__).with_name("heartbeat.sh")


class Heart:
    """Beats into the file descriptor `out` until `stop()` is called, or we end, whichever way."""

    def __init__(self, out: int) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", str(HEARTBEAT)], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self.stop = weakref.finalize(self, end, self._process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Close a process's standard input, which ends it; a second later it has no choice."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
