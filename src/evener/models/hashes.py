"""sha256 of files here, computed once: kept under path, size, time and inode in the state folder. Knows no format."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from evener.errors import ModelMissing
from evener.ports import Report
from evener.records.events import Progress
from evener.state import state_folder

CHUNK_BYTES = 16 << 20
SETTLED_S = 2.0  # a file that changed just now may change again within one tick of its clock


async def sha256_of(path: str | Path, *, report: Report) -> str:
    """The hash of a file on this machine; at once when the file is the one that was hashed before.

    Cancelling stops the reading. Raises ModelMissing when it cannot be read or changes meanwhile.
    """
    file = await asyncio.to_thread(Path(path).resolve)
    try:
        before = _identity(file)
        if (known := _known(file, before)) is not None:
            return known
        found = await _computed(file, before["bytes"], report)
        after = _identity(file)
    except OSError as error:
        raise ModelMissing(f"{path}: cannot be read: {error.strerror or error}") from error
    if after != before:
        raise ModelMissing(f"{path}: changed while it was read", hint="is something still writing to it?")
    if time.time_ns() - before["mtime_ns"] > SETTLED_S * 1e9:
        remember(file, found)
    return found


async def sha256_of_all(paths: Sequence[str | Path], *, report: Report) -> str:
    """The identity of a model in one or several parts: of one file its hash, of several the hash of their hashes, each
    as hexadecimal with a line end, in order."""
    found = [await sha256_of(path, report=report) for path in paths]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(f"{one}\n" for one in found).encode()).hexdigest()


def remember(path: Path, sha256: str) -> None:
    """Keep what somebody has just computed or checked. A state folder that cannot be written costs time, no more."""
    file = path.resolve()
    kept = _kept(file)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps({"path": str(file), **_identity(file), "sha256": sha256}))
        fresh.replace(kept)
    except OSError:
        return


def _known(file: Path, identity: dict[str, int]) -> str | None:
    try:
        said = json.loads(_kept(file).read_text())
        return str(said["sha256"]) if {key: said[key] for key in identity} == identity else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _kept(file: Path) -> Path:
    name = hashlib.sha256(os.fsencode(file)).hexdigest()[:24]
    return state_folder() / "hashes" / f"{name}.json"


def _identity(file: Path) -> dict[str, int]:
    stat = file.stat()
    return {"bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns, "inode": stat.st_ino}


async def _computed(file: Path, size: int, report: Report) -> str:
    digest = hashlib.sha256()
    done = 0
    with file.open("rb") as content:
        while chunk := await asyncio.to_thread(content.read, CHUNK_BYTES):
            await asyncio.to_thread(digest.update, chunk)
            done += len(chunk)
            report(Progress(what="hash", done=done, of=size, detail=file.name))
    return digest.hexdigest()
