"""A host behind plain OpenSSH as a `Shell`: the user's config, agent, jumps, known hosts; nothing installed there.

Short commands share one connection, which ends with us. A long-running child has a connection of its own, and a
leash that ends it when that connection ends or goes silent. Whatever the login shell there is, `sh` does the work.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import shlex
import signal
import subprocess
import tempfile
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from evener.edges import ssh_command, ssh_faults
from evener.edges.heart import Heart
from evener.edges.local_shell import GRACE_S, LEASH, LONGEST_LINE_BYTES, end_family, signed
from evener.edges.ssh_command import CONNECT_WITHIN_S, SILENCE_S
from evener.edges.ssh_door import Door
from evener.errors import HostError
from evener.ports import Finished
from evener.together import until

ERRAND = Path(__file__).with_name("errand.sh")
START_WITHIN_S = 30.0  # login scripts may be slow
READ_WITHIN_S = 10.0
AT_ONCE = 6  # sshd allows ten sessions per connection
MARK = "evener-errand"
SMALL_FILES = ("/proc/", "/sys/")
# What login scripts print may end without a line end.
LOOK_FIRST = "echo; command -v {} >/dev/null || {{ echo 'leash missing'; exit; }}\n"
HEAD = 'case $2 in "~/"*) f=$HOME/${2#"~/"} ;; *) f=$2 ;; esac; exec head -c "$1" "$f"'


class SshChild:
    """A process on a far host. Our heartbeat reaches its leash over a connection of its own."""

    def __init__(self, shell: SshShell, process: asyncio.subprocess.Process, heart: Heart, said: IO[bytes]) -> None:
        self._shell = shell
        self._process = process
        self._heart = heart
        self._said = said  # what came on standard error: the leash's last word, and ssh's own
        self._pid = 0

    @property
    def pid(self) -> int:
        return self._pid

    async def begun(self, program: str) -> None:
        """Wait for the leash's first word. Raises HostError when it does not come."""
        try:
            async with asyncio.timeout(START_WITHIN_S):
                async for line in self.lines():
                    word, _, rest = line.partition(" ")
                    if word == "leash" and rest.isdigit():
                        self._pid = int(rest)
                        return
                    if line == "leash missing":
                        raise HostError(f"{self._shell.host}: {program}: no such program")
        except TimeoutError:
            raise HostError(f"{self._shell.host}: {program} did not start within {START_WITHIN_S:g} s") from None
        await self._process.wait()
        raise ssh_faults.fault(self._shell.host, self._shell.target, self._words())

    async def lines(self) -> AsyncIterator[str]:
        out = self._process.stdout
        assert out is not None
        while line := await out.readline():
            yield line.decode(errors="replace").rstrip("\r\n")

    async def wait(self) -> int:
        """Raises HostUnreachable when the connection broke, so that nobody knows how the process ended."""
        await self._process.wait()
        self._heart.stop()
        words = self._words()
        if told := re.search(r"leash ended (\d+)$", words, re.MULTILINE):
            return signed(int(told[1]))
        raise ssh_faults.lost(self._shell.host, self._shell.target, words)

    async def stop(self) -> int:
        """As the port says; -1 (hung up) where the connection broke: there the leash ends the process by itself."""
        self._heart.stop()
        try:
            async with asyncio.timeout(GRACE_S + 3):
                return await self.wait()
        except TimeoutError:  # the leash is stuck, e.g. stopped by a signal
            with suppress(HostError):
                await self._shell.run(["kill", "-KILL", str(self._pid)], within_s=3)
            await self.abandon()
            return -signal.SIGKILL
        except HostError:
            return -signal.SIGHUP

    async def abandon(self) -> None:
        """End our end."""
        self._heart.stop()
        await end_family(self._process)

    def _words(self) -> str:
        self._said.seek(0)
        return self._said.read(1 << 16).decode(errors="replace")


class SshShell:
    """A door to the host that `ssh target` reaches; `host` is its name in the rig.

    Raises HostLogin and HostUnreachable from every method when ssh cannot get there.
    """

    def __init__(self, host: str, target: str) -> None:
        self._host = host
        self.target = target
        self._door: Door | None = None
        self._gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

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
        code, out, err = await self._errand(argv, within_s=within_s, env=env or {}, stdin=stdin)
        return Finished(
            argv=tuple(argv), code=code, stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace")
        )

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> SshChild:
        leash = ssh_command.script(LEASH, [str(GRACE_S), str(SILENCE_S), *argv], env)
        script = LOOK_FIRST.format(shlex.quote(argv[0])).encode() + leash
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its child
        beats_in, beats_out = os.pipe()
        try:
            process = await self._ssh(["-S", "none"], len(script), stdin=beats_in, stderr=said)
            await asyncio.to_thread(_write_all, beats_out, script)
            heart = Heart(beats_out)
        finally:
            os.close(beats_in)
            os.close(beats_out)
        child = SshChild(self, process, heart, said)
        try:
            await child.begun(argv[0])
        except BaseException:
            await child.abandon()
            raise
        return child

    async def read(self, path: str, *, most_bytes: int = 1 << 20) -> bytes | None:
        if path.startswith(SMALL_FILES) and not path.endswith(" ") and "\n" not in path:
            return await self._small_file(path, most_bytes)
        argv = ["sh", "-c", HEAD, "read", str(most_bytes), path]
        code, content, _ = await self._errand(argv, within_s=READ_WITHIN_S)
        return content if code == 0 else None

    async def which(self, name: str) -> str | None:
        argv = ["sh", "-c", 'command -v "$1"', "which", name]
        code, out, _ = await self._errand(argv, within_s=READ_WITHIN_S)
        path = out.decode(errors="replace").strip()
        return path if code == 0 and path.startswith("/") else None

    def close(self) -> None:
        """End the shared connection, which also ends when we do."""
        if self._door:
            self._door.close()
            self._door = None

    async def _small_file(self, path: str, most_bytes: int) -> bytes | None:
        door = await self._opened()
        try:
            return await asyncio.to_thread(door.read, path, most_bytes, within_s=READ_WITHIN_S)
        except EOFError:
            raise self._lost(door.words()) from None
        except TimeoutError:
            raise HostError(f"{self._host}: {path} could not be read within {READ_WITHIN_S:g} s") from None

    async def _errand(
        self, argv: Sequence[str], *, within_s: float, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> tuple[int, bytes, bytes]:
        """(exit code, output, errors) of one command over the shared connection."""
        script = ssh_command.script(ERRAND, [MARK, str(math.ceil(within_s) + 1), str(len(stdin)), *argv], env or {})
        async with self._gate():
            door = await self._opened()
            process = await self._ssh(door.way, len(script), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            both = None
            try:
                async with asyncio.timeout(within_s):
                    both = await _carried(process, script + stdin)
            except TimeoutError:
                raise HostError(f"{self._host}: {argv[0]} did not end within {within_s:g} s") from None
            finally:
                if both is None:
                    await end_family(process)
            await process.wait()
        out, err = both
        output, told = _between_marks(out)
        if told is None:
            raise self._lost(err + b"\n" + door.words())
        if told == "none":
            raise HostError(f"{self._host}: {argv[0]}: no such program")
        return signed(int(told)), output, _after_mark(err)

    async def _ssh(
        self, way: Sequence[str], size: int, *, stdin: int, stderr: int | IO[bytes]
    ) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *ssh_command.command([*way, "-o", "ControlMaster=no"], self.target, size),
                env=ssh_command.environment(),
                cwd=ssh_command.sockets(),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                limit=LONGEST_LINE_BYTES,
            )
        except OSError as error:
            raise ssh_command.no_ssh(self._host, error) from error

    def _gate(self) -> asyncio.Semaphore:
        return self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))

    async def _opened(self) -> Door:
        """The shared connection, made when there is none, or none any more."""
        if self._door is None or self._door.has_ended():
            self._door = Door(self._host, self.target)
        door = self._door
        await until(door.is_settled, within_s=2 * CONNECT_WITHIN_S, every_s=0.02)
        if door.has_ended():
            raise ssh_faults.fault(self._host, self.target, door.words().decode(errors="replace"))
        if not door.is_open():
            self.close()
            raise HostError(
                f"{self._host}: ssh {self.target} has not logged in after {2 * CONNECT_WITHIN_S} s",
                hint=f"what does ssh -v {self.target} wait for?",
            )
        return door

    def _lost(self, said: bytes) -> HostError:
        return ssh_faults.lost(self._host, self.target, said.decode(errors="replace"))


async def _carried(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[bytes, bytes]:
    """Everything that came back. Our end of standard input stays open until then: it is the owner's sign of life."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err, _ = await asyncio.gather(process.stdout.read(), process.stderr.read(), _feed(process.stdin, stdin))
    return out, err


async def _feed(pipe: asyncio.StreamWriter, content: bytes) -> None:
    with suppress(ConnectionError):  # the command did not want it, or has ended
        pipe.write(content)
        await pipe.drain()


def _write_all(out: int, content: bytes) -> None:
    with suppress(BrokenPipeError):  # ssh has ended and says why
        while content:
            content = content[os.write(out, content) :]


def _between_marks(out: bytes) -> tuple[bytes, str | None]:
    """(the command's own output, its code as told at the end); None when the end never came."""
    _, _, rest = out.partition(f"\n{MARK}\n".encode())
    output, told, code = rest.rpartition(f"\n{MARK} ".encode())
    return (output, code.decode().strip()) if told else (rest, None)


def _after_mark(err: bytes) -> bytes:
    _, begun, rest = err.partition(f"\n{MARK}\n".encode())
    return rest if begun else err
