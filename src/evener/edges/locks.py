"""One lock per host, so that two sessions meet by name. The kernel drops a lock when its owner dies, anyhow."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from evener.errors import HostBusy


@contextmanager
def hold(folder: Path, host: str, owner: str) -> Iterator[None]:
    """Hold `host` for `owner` (a deployment's name) while in the block. Raises HostBusy naming who holds it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / f"{host}.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HostBusy(
                f"{host} is held by {_holder(file.name)}", hint="evener status shows it, evener down stops it"
            ) from None
        started = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        file.truncate(0)
        file.write(json.dumps({"deployment": owner, "pid": os.getpid(), "since": started}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _holder(path: str) -> str:
    try:
        said = json.loads(Path(path).read_text())
        return f"deployment {said['deployment']} (evener pid {said['pid']}, since {said['since']})"
    except (OSError, ValueError, KeyError):
        return "another evener session"
