"""One install at a time and host. The lock is the kernel's: it goes with the process that holds it, anyhow."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evener.errors import HostBusy


@contextmanager
def install_lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, one per host. Raises HostBusy with the pid of the holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise HostBusy(
                f"another evener (pid {holder}) is installing an engine",
                hint="wait for it, then run the same command again",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
