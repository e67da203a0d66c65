"""Files of any host, through its Shell: what is there, how much room, getting a file there. It knows no file format.

Every script is a constant that `sh` runs: what comes from outside is an argument and never part of a script's text.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evener.dialects import proc
from evener.errors import HostError
from evener.ports import Finished, Report, Shell
from evener.records.events import Progress

WITHIN_S = 30.0
CHUNK_BYTES = 32 << 20  # in memory at once; long enough that a new ssh connection per chunk costs little
CHUNK_WITHIN_S = 900.0  # 0.3 Mbit/s
SLOWEST_HASH_BYTES_PER_S = 20e6

_CACHE = 'printf %s "${EVENER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evener}"'
_STAT = """if stat -c %s / >/dev/null 2>&1; then stat -L -c '%d %i %s %Y %n' -- "$@"
else stat -L -f '%d %i %z %m %N' -- "$@"; fi 2>/dev/null; :"""
_ROOM = 'd=$1; while [ ! -d "$d" ]; do d=$(dirname -- "$d"); done; df -Pk "$d"'
_APPEND = """cat >>"$1" && { stat -c %s "$1" 2>/dev/null || stat -f %z "$1"; }"""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat >"$1.$$" && mv -f -- "$1.$$" "$1" || { rm -f -- "$1.$$"; exit 1; }'
_SHA256 = 'sha256sum "$1" 2>/dev/null || shasum -a 256 "$1" 2>/dev/null || openssl dgst -sha256 -r "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file as it is on its host. Two entries with one `device` and `inode` are one file under two names."""

    path: str
    device: int
    inode: int
    bytes: int
    modified_s: int


async def sh(shell: Shell, script: str, *arguments: str, within_s: float = WITHIN_S, stdin: bytes = b"") -> Finished:
    """Run a constant script under `sh` with arguments $1, $2, ... Raises HostError as `Shell.run` does."""
    return await shell.run(["sh", "-c", script, "sh", *arguments], within_s=within_s, stdin=stdin)


async def must(
    shell: Shell, script: str, *arguments: str, what: str, within_s: float = WITHIN_S, stdin: bytes = b""
) -> str:
    """The same, and its output. Raises HostError "HOST: cannot WHAT: why" when it fails."""
    done = await sh(shell, script, *arguments, within_s=within_s, stdin=stdin)
    if done.code != 0:
        raise HostError(f"{shell.host}: cannot {what}: {_why(done)}", hint=_hint(done))
    return done.stdout


def _why(done: Finished) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if any("No space left" in line or "Disk quota exceeded" in line for line in lines):
        return "the disk is full"
    return lines[-1] if lines else f"it ended with {done.code}"


def _hint(done: Finished) -> str | None:
    return "make room there, then run the same command again" if _why(done) == "the disk is full" else None


async def cache_folder(shell: Shell) -> str:
    """Where evener keeps what can be rebuilt, on a host other than this one."""
    return await must(shell, _CACHE, what="tell its home folder")


async def expanded(shell: Shell, path: str) -> str:
    """A path that a user wrote, "~" being that host's home folder; absolute."""
    if path != "~" and not path.startswith("~/"):
        return path
    home = await must(shell, 'printf %s "$HOME"', what="tell its home folder")
    return str(PurePosixPath(home, path[2:]))


async def entries(shell: Shell, paths: Sequence[str]) -> dict[str, Entry]:
    """What is known of each path, links followed; paths that are not there are left out.

    Raises HostError for a name with a line break: one entry is one line.
    """
    if broken := next((path for path in paths if "\n" in path), None):
        raise HostError(f"{shell.host}: {broken!r} has a line break in its name", hint="rename it")
    return read_entries((await sh(shell, _STAT, *paths)).stdout) if paths else {}


def read_entries(text: str) -> dict[str, Entry]:
    """Lines "device inode bytes modified path", whoever printed them; other lines are no entries."""
    found = re.findall(r"^(\d+) (\d+) (\d+) (\d+) (.+)$", text, re.MULTILINE)
    return {
        path: Entry(path=path, device=int(device), inode=int(inode), bytes=int(size), modified_s=int(modified))
        for device, inode, size, modified, path in found
    }


async def size_bytes(shell: Shell, path: str) -> int | None:
    """None when there is no such file."""
    entry = (await entries(shell, [path])).get(path)
    return entry.bytes if entry else None


async def free_bytes(shell: Shell, folder: str) -> int | None:
    """Room on the disk that `folder` is on, or will be on; None where nobody can tell."""
    return proc.disk_free_bytes((await sh(shell, _ROOM, folder)).stdout)


async def demand_room(shell: Shell, folder: str, *, needed_bytes: int, what: str) -> None:
    """Raises HostError when the disk under `folder` is known to have less than `needed_bytes` free."""
    free = await free_bytes(shell, folder)
    if free is not None and free < needed_bytes:
        raise HostError(
            f"{shell.host}: {folder} has {_size(free)} free, {what} takes {_size(needed_bytes)}",
            hint="make room there, or let the folder be on another disk",
        )


async def sha256(shell: Shell, path: str, *, bytes: int) -> str | None:
    """The file's hash, computed on its host; None where no tool for it is. `bytes` bounds the wait."""
    done = await sh(shell, _SHA256, path, within_s=60 + bytes / SLOWEST_HASH_BYTES_PER_S)
    found = re.search(r"\b[0-9a-f]{64}\b", done.stdout) if done.code == 0 else None
    return found[0] if found else None


async def write(shell: Shell, path: str, content: bytes) -> None:
    """A small file, whole or not at all, in a folder that is made when it is missing."""
    await must(shell, _WRITE, path, stdin=content, what=f"write {path}")


async def make_folder(shell: Shell, path: str) -> None:
    await must(shell, 'mkdir -p -- "$1"', path, what=f"make {path}")


async def remove(shell: Shell, path: str) -> None:
    """A file or a whole folder; nothing to do when it is not there."""
    await must(shell, 'rm -rf -- "$1"', path, what=f"remove {path}", within_s=300)


async def rename(shell: Shell, path: str, to: str) -> None:
    """Give a file or folder its name. Raises HostError when a folder of that name is there already."""
    await must(shell, '[ ! -d "$2" ] && mv -f -- "$1" "$2"', path, to, what=f"rename {path} to {to}")


async def send(
    shell: Shell, source: Path, target: str, *, what: str, report: Report, before: int = 0, of: int | None = None
) -> None:
    """Append to `target`, on the shell's host, what it lacks of `source`, a file here. The folder must exist.

    Goes on where an earlier call stopped; whoever calls compares hashes afterwards. `before` and `of` place this file
    in a larger whole for `report`. Raises HostError: no room, no connection, or somebody else writes to it.
    """
    size = source.stat().st_size
    have = await size_bytes(shell, target) or 0
    if have > size:
        await remove(shell, target)
        have = 0
    report(Progress(what=what, done=before + have, of=of or size, detail=source.name))
    with source.open("rb") as file:
        file.seek(have)
        while True:
            chunk = await asyncio.to_thread(file.read, CHUNK_BYTES)
            said = await must(shell, _APPEND, target, stdin=chunk, within_s=CHUNK_WITHIN_S, what=f"write {target}")
            have += len(chunk)
            if said.strip() != str(have):
                raise HostError(
                    f"{shell.host}: {target} has {said.strip()} bytes and not {have}: somebody else writes to it",
                    hint="wait for the other session, or remove the file there",
                )
            report(Progress(what=what, done=before + have, of=of or size, detail=source.name))
            if have >= size:
                return


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
