"""Looking at real processes, and the example programs of the shell contract as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evener.together import until

PROGRAMS = {
    "says": "echo hello; echo oops >&2; exit 3",
    "echoes": "cat",
    "sticks": "sleep 300",
    "talks": "echo one; echo two; exec sleep 300",
}


def write_programs(folder: Path) -> None:
    """The contract's programs, and its file."""
    for name, script in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    (folder / "file").write_bytes(b"content")


def state(pid: int) -> str:
    """One letter, as in `ps`; "Z" also for a process that is gone altogether."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def alive(pid: int) -> bool:
    return state(pid) != "Z"


async def holds(condition: Callable[[], bool], *, within_s: float) -> bool:
    async def ask() -> bool | None:
        return condition() or None

    return bool(await until(ask, within_s=within_s, every_s=0.02))


async def gone_within(pid: int, seconds: float) -> bool:
    return await holds(lambda: not alive(pid), within_s=seconds)


def leash_of(pid: int) -> int:
    """The process that started it."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def group(leader: int) -> list[int]:
    """Living processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
