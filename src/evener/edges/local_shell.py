"""This machine behind the `Shell` port: commands with deadlines, long-running children on a leash."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from evener.edges.environment import child_environment
from evener.errors import HostError
from evener.ports import Finished

LEASH = Path(__file__).with_name("leash.sh")
GRACE_S = 5
LONGEST_LINE_BYTES = 32 << 20  # the engine logs whole prompts in one line


class LocalChild:
    """A process on this machine, held by a pipe: when our end closes, leash.sh ends it."""

    def __init__(self, process: asyncio.subprocess.Process, pid: int) -> None:
        self._process = process
        self._pid = pid

    @property
    def pid(self) -> int:
        return self._pid

    async def lines(self) -> AsyncIterator[str]:
        out = self._process.stdout
        assert out is not None
        while line := await out.readline():
            yield line.decode(errors="replace").rstrip("\r\n")

    async def wait(self) -> int:
        return signed(await self._process.wait())

    async def stop(self) -> int:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(GRACE_S + 3):
                return await self.wait()
        except TimeoutError:  # leash.sh itself is stuck, e.g. stopped by a signal
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            return await self.wait()


class LocalShell:
    """The machine evener runs on. Several hosts of a rig may be this machine."""

    def __init__(self, host: str) -> None:
        self._host = host

    @property
    def host(self) -> str:
        return self._host

    async def run(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        process = await self._spawn(argv, env or {}, stderr=asyncio.subprocess.PIPE)
        out = None
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate(stdin)
        except TimeoutError:
            raise HostError(f"{self._host}: {argv[0]} did not end within {within_s:g} s") from None
        finally:
            if out is None:
                await end_family(process)
        code = process.returncode
        assert code is not None
        return Finished(
            argv=tuple(argv),
            code=code,
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
        )

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> LocalChild:
        if shutil.which(argv[0]) is None:
            raise HostError(f"{self._host}: {argv[0]}: no such program")
        leashed = ("/bin/sh", str(LEASH), str(GRACE_S), "0", *argv)
        process = await self._spawn(leashed, env, stderr=asyncio.subprocess.STDOUT)
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode(errors="replace").split()
        if len(first) != 2 or first[0] != "leash":
            process.kill()
            await process.wait()
            raise HostError(f"{self._host}: could not start {argv[0]}: {' '.join(first) or 'no answer'}")
        return LocalChild(process, int(first[1]))

    async def read(self, path: str, *, most_bytes: int = 1 << 20) -> bytes | None:
        try:
            return await asyncio.to_thread(_head_of_file, path, most_bytes)
        except OSError:
            return None

    async def which(self, name: str) -> str | None:
        return shutil.which(name)

    async def _spawn(self, argv: Sequence[str], env: Mapping[str, str], *, stderr: int) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                env=child_environment(env),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                limit=LONGEST_LINE_BYTES,
            )
        except OSError as error:
            raise HostError(f"{self._host}: {argv[0]}: {error.strerror or error}") from error


async def end_family(process: asyncio.subprocess.Process) -> None:
    """Kill a process and what it started, also when it has ended itself and left others behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):  # somebody who left the group may hold the pipes open
        async with asyncio.timeout(1):
            await process.communicate()
    await process.wait()


def signed(code: int) -> int:
    """sh reports a signal as 128 + number; subprocess as a negative number. One convention: negative."""
    return 128 - code if 128 < code < 128 + signal.NSIG else code


def _head_of_file(path: str, most_bytes: int) -> bytes:
    with Path(path).expanduser().open("rb") as file:
        return file.read(most_bytes)
