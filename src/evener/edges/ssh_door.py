"""The connection to a far host that all short work shares: sessions ride on it, and small files are read through it.

It is held by a pipe: it ends when it is closed, or when we end, whichever way. It belongs to no event loop, since a
face may use several, one after the other.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from evener.edges import ssh_command
from evener.edges.heart import Heart, end

DOOR = Path(__file__).with_name("door.sh")

_numbers = count()


class Door:
    """One connection to `target`. Raises HostError when there is no OpenSSH client."""

    def __init__(self, host: str, target: str) -> None:
        self._host = host
        self._name = f"{os.getpid()}-{next(_numbers)}"
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._turn = threading.Lock()
        self._rest = b""
        self._greeted = False
        script = ssh_command.script(DOOR, [str(ssh_command.SILENCE_S)], {})
        try:
            self._process = subprocess.Popen(
                ssh_command.command(["-M", "-S", self._name, "-o", "ControlMaster=yes"], target, len(script)),
                env=ssh_command.environment(), cwd=ssh_command.sockets(), start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise ssh_command.no_ssh(host, error) from error
        self._write(script)
        assert self._process.stdin is not None
        self._heart = Heart(self._process.stdin.fileno())  # a request is written at once: no beat comes into it
        self.close = weakref.finalize(self, _close, self._heart, self._process)

    @property
    def way(self) -> Sequence[str]:
        """The options with which a session rides on it."""
        return ("-S", self._name)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def is_open(self) -> bool:
        """Its socket is there as soon as it has logged in."""
        return (ssh_command.sockets() / self._name).exists()

    async def is_settled(self) -> bool | None:
        return (self.has_ended() or self.is_open()) or None

    def words(self) -> bytes:
        """What ssh has said so far on standard error."""
        self._said.seek(0)
        return self._said.read(1 << 16)

    def read(self, path: str, most_bytes: int, *, within_s: float) -> bytes | None:
        """The first bytes of a small file, None when it cannot be read. Blocking.

        Raises EOFError when the connection has ended, TimeoutError when no answer came; it is then of no more use.
        """
        deadline = time.monotonic() + within_s
        if not self._turn.acquire(timeout=within_s):
            raise TimeoutError
        try:
            if not self._greeted:
                self._until(b"\ndoor open\n", deadline)
                self._greeted = True
            self._write(f"{most_bytes} {path}\n".encode())
            content = self._until(b"= ", deadline)
            code = self._until(b"\n", deadline)
        except TimeoutError:
            self.close()
            raise
        finally:
            self._turn.release()
        return bytes.fromhex(content.decode()) if code == b"0" else None

    def _until(self, sign: bytes, deadline: float) -> bytes:
        """What comes before `sign`."""
        out = self._process.stdout
        assert out is not None
        while sign not in self._rest:
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            more = os.read(out.fileno(), 1 << 16)
            if not more:
                raise EOFError
            self._rest += more
        before, _, self._rest = self._rest.partition(sign)
        return before

    def _write(self, content: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(content)
        except (BrokenPipeError, ValueError):  # ValueError: closed by ourselves meanwhile
            raise EOFError from None


def _close(heart: Heart, process: subprocess.Popen[bytes]) -> None:
    heart.stop()
    end(process)
