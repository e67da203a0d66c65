"""Locks by name, so that two sessions meet by name. The kernel drops a lock when its owner dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from evener.edges.writing import writing
from evener.errors import HostBusy


@contextmanager
def hold(folder: Path, key: str, *, what: str, owner: str) -> Iterator[None]:
    """Hold `key` for `owner` (a deployment's name) while in the block; `what` is the key's name for people.

    Raises HostBusy naming who holds it, HostError when the folder cannot be written.
    """
    path = _path(folder, key)
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = path.open("a+")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HostBusy(
                f"{what} is held by {_holder(path)}", hint="evener status shows it, evener down stops it"
            ) from None
        with writing(path):
            file.truncate(0)
            started = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            file.write(json.dumps({"deployment": owner, "pid": os.getpid(), "since": started}))
            file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def holder_pid(folder: Path, key: str) -> int | None:
    """The process that holds `key` now, None when nobody does."""
    try:
        with _path(folder, key).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
    except BlockingIOError:
        return _said(_path(folder, key)).get("pid")
    except OSError:
        return None


def _path(folder: Path, key: str) -> Path:
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', key)}.lock"


def _said(path: Path) -> dict[str, int]:
    try:
        said = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _holder(path: Path) -> str:
    said = _said(path)
    if not {"deployment", "pid", "since"} <= said.keys():
        return "another evener session"
    return f"deployment {said['deployment']} (evener pid {said['pid']}, since {said['since']})"
