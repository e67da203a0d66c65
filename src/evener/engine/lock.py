"""One install at a time and host. The locks are the kernel's: each goes with the process that holds it, anyhow."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path

from evener import files
from evener.errors import HostBusy, HostError
from evener.ports import Shell
from evener.together import to_the_end

LOCK = "install.lock"
LANDING = ".landing-"
# The lock is held by a process on a leash, so it goes when we do, or when the connection does.
_HOLD = """command -v flock >/dev/null 2>&1 || { echo none; exit 0; }
mkdir -p -- "${1%/*}" && exec 9>>"$1" || exit 1
flock -n 9 || { echo "held $(cat -- "$1")"; exit 0; }
printf %s "$2" >"$1"; echo ours; exec sleep 2000000"""
_SWEEP = 'for d in "$1"/"$2"*; do [ -d "$d" ] && [ ! -L "$d" ] && rm -rf -- "$d"; done; :'
_SWEEP_OLD = 'find "$1" -maxdepth 1 -type d -name "$2*" -mtime +0 -exec rm -rf -- {} + 2>/dev/null; :'


@asynccontextmanager
async def installing(shell: Shell, engines: str, *, lock: Path) -> AsyncIterator[None]:
    """Hold `lock` here and the lock of `engines` on its host, so that sessions of other machines wait their turn too.

    Then what killed sessions left in `engines` goes. A far host without `flock` (macOS) has no lock against other
    machines: there each session lands in a folder of its own, and what is older than a day goes.
    Raises HostBusy with the holder.
    """
    there = f"{engines}/{LOCK}"
    ours = str(lock) == there  # this machine's own cache: the same file, and a second lock would meet the first
    with install_lock(lock):
        async with nullcontext(True) if ours else _far_lock(shell, there) as alone:
            await files.sh(shell, _SWEEP if alone else _SWEEP_OLD, engines, LANDING, within_s=300)
            yield


@contextmanager
def install_lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, one per host. Raises HostBusy with the pid of the holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _busy(file.read()) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@asynccontextmanager
async def _far_lock(shell: Shell, path: str) -> AsyncIterator[bool]:
    """Hold `path` on the shell's host; False where nothing there can."""
    owner = f"{os.getpid()} on {platform.node()}"
    child = await shell.start(["sh", "-c", _HOLD, "sh", path, owner], env={})
    try:
        said = await anext(aiter(child.lines()), "")
        if said.startswith("held "):
            raise _busy(said.removeprefix("held "), host=shell.host)
        if said not in ("ours", "none"):
            raise HostError(f"{shell.host}: cannot lock {path}: {said or 'nothing was said'}")
        yield said == "ours"
    finally:
        await to_the_end(child.stop())


def _busy(holder: str, *, host: str = "") -> HostBusy:
    return HostBusy(
        f"{f'{host}: ' if host else ''}another evener (pid {holder.strip() or 'unknown'}) is installing an engine",
        hint="wait for it, then run the same command again",
    )
