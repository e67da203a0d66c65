"""The `Sandbox` port by bubblewrap: namespaces for what a program sees, limits for what it takes, nothing left behind.

rlimits do not count root's processes, so that root gives its rights away first. The memory of all processes together
has no rlimit: it is watched.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from evener.errors import HostError
from evener.ports import BoxEnding, BoxRun
from evener.together import to_the_end

NOBODY = "65534"
PYTHON = "/usr/bin/python3"  # the system's: a virtual environment's lies where nobody may look
MOST_PROCESSES = 48
MOST_BYTES_EACH = 1 << 30
MOST_BYTES_TOGETHER = 1536 << 20
MOST_BYTES_WRITTEN = 64 << 20
MOST_OUTPUT = 256 << 10
LOOK_EVERY_S = 0.05
ENDED_WITHIN_S = 5.0
HINT = "apt-get install bubblewrap util-linux; code is not run without a sandbox"
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*")
# Constant text: what is run comes as positional parameters.
_ENTER = 'cp -R /given/. /work && cd /work && exec "$@"'


class Bubblewrap:
    """Use `open_sandbox()`, which proves that it holds."""

    async def run(self, files: Mapping[str, str], argv: Sequence[str], *, within_s: float, said: str = "") -> BoxRun:
        with tempfile.TemporaryDirectory(prefix="evener-box-") as folder:
            Path(folder).chmod(0o755)  # nobody must be able to read it
            for name, text in files.items():
                _write(Path(folder), name, text)
            return await _watched(_command(folder, argv, within_s), within_s, said)


async def open_sandbox() -> Bubblewrap:
    """A sandbox that has just been seen to hold. Raises HostError with what is missing or does not hold."""
    missing = [name for name in ("bwrap", "prlimit", *(("setpriv",) if os.getuid() == 0 else ())) if not _has(name)]
    if missing or not Path(PYTHON).exists():
        raise HostError(f"no sandbox: {', '.join(missing) or PYTHON} is missing", hint=HINT)
    box = Bubblewrap()
    seen = await box.run({"probe.py": _PROBE}, [PYTHON, "probe.py"], within_s=20.0)
    if seen.ending != "exited" or seen.code != 0:
        why = (seen.stderr or seen.stdout).strip().splitlines()
        raise HostError(f"no sandbox: it does not hold: {why[-1] if why else seen.ending}", hint=HINT)
    return box


_PROBE = """
import os, socket, sys
def fails(what, act):
    try:
        act()
    except (OSError, MemoryError):
        return
    sys.exit(what)
def fork_all():
    for _ in range(400):
        if os.fork() == 0:
            signal.pause()
import signal
fails("it may write outside", lambda: open("/usr/evener-probe", "w"))
fails("it sees the network", lambda: socket.create_connection(("192.0.2.1", 9), timeout=1))
fails("memory has no limit", lambda: bytearray(4 << 30))
fails("processes have no limit", fork_all)
"""


def _command(folder: str, argv: Sequence[str], within_s: float) -> list[str]:
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--"]
    links = [part for name in ("bin", "lib", "lib64", "sbin") for part in _as_on_host(name)]
    return [
        *(drop if os.getuid() == 0 else []),
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--ro-bind", "/usr", "/usr", *links, "--proc", "/proc", "--dev", "/dev"),
        *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind", folder, "/given"),
        *("--size", str(MOST_BYTES_WRITTEN), "--tmpfs", "/work", "--size", str(MOST_BYTES_WRITTEN), "--tmpfs", "/tmp"),
        *("--size", str(MOST_BYTES_WRITTEN), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--chdir", "/work", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/work"),
        *("--setenv", "LANG", "C.UTF-8", "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "--setenv", "PYTHONHASHSEED", "0"),
        *("--remount-ro", "/", "--"),
        *("prlimit", f"--nproc={MOST_PROCESSES}", f"--as={MOST_BYTES_EACH}", f"--fsize={MOST_BYTES_WRITTEN}"),
        *(f"--cpu={int(within_s) + 1}", "--core=0", "--nofile=256", "--"),
        *("sh", "-c", _ENTER, "sh", *argv),
    ]


def _as_on_host(name: str) -> list[str]:
    """/bin is a link into /usr on most systems and a folder on some."""
    place = Path("/", name)
    if place.is_symlink():
        return ["--symlink", str(place.readlink()), str(place)]
    return ["--ro-bind", str(place), str(place)] if place.exists() else []


async def _watched(command: Sequence[str], within_s: float, said: str) -> BoxRun:
    begun = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(f"the sandbox does not start: {error.strerror or error}", hint=HINT) from error
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(said.encode())  # a pipe takes so little at once
    process.stdin.close()
    outputs = (_Output(), _Output())
    readers = [
        asyncio.ensure_future(output.take(stream))
        for output, stream in zip(outputs, (process.stdout, process.stderr), strict=True)
    ]
    try:
        ending = await _ending(process, outputs, begun + within_s)
    finally:
        await to_the_end(_end(process, readers))
    return BoxRun(
        ending=ending,
        code=process.returncode if ending == "exited" else None,
        stdout=outputs[0].text,
        stderr=outputs[1].text,
        seconds=time.monotonic() - begun,
    )


class _Output:
    """What a stream said, up to the limit. The rest is read and dropped: a full pipe would hold up the end."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.is_over = False

    async def take(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(1 << 16):
            self.is_over = self.is_over or len(self._kept) + len(piece) > MOST_OUTPUT
            self._kept += piece[: MOST_OUTPUT - len(self._kept)]

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace")


async def _ending(process: asyncio.subprocess.Process, outputs: Sequence[_Output], deadline: float) -> BoxEnding:
    """Wait for the end or the first limit that is passed."""
    exited = asyncio.ensure_future(process.wait())
    try:
        while True:
            await asyncio.wait([exited], timeout=LOOK_EVERY_S)
            if any(output.is_over for output in outputs):
                return "output"
            if exited.done():
                return "exited"
            if _held(process.pid) > MOST_BYTES_TOGETHER:
                return "memory"
            if time.monotonic() > deadline:
                return "time"
    finally:
        exited.cancel()


async def _end(process: asyncio.subprocess.Process, readers: Sequence[asyncio.Future[None]]) -> None:
    """The first process of the sandbox takes all others with it."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(process.wait()), *readers]
    await asyncio.wait(waits, timeout=ENDED_WITHIN_S)
    for wait in waits:
        wait.cancel()


def _held(pid: int) -> int:
    """Bytes of a process and all its descendants: resident ones, and files without a name that lie in memory."""
    family = list(_family(pid))
    files = {node: size for one in family for node, size in _memory_files(one)}
    return sum(_resident(one) for one in family) + sum(files.values())


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError, ValueError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _family(int(child))


def _memory_files(pid: int) -> Iterator[tuple[int, int]]:
    """(inode, bytes) of what `memfd_create` made: it is held without being resident anywhere."""
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(link.readlink()).startswith("/memfd:"):
                    seen = link.stat()
                    yield seen.st_ino, seen.st_blocks * 512


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _write(folder: Path, name: str, text: str) -> None:
    if not _NAME.fullmatch(name) or ".." in name.split("/"):
        raise HostError(f"{name!r} is no name for a file in the sandbox")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
    path.chmod(0o644)


def _has(name: str) -> bool:
    return shutil.which(name) is not None
