"""A host that exists in memory: answers commands from a script, keeps files in a dict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evener.errors import HostError
from evener.ports import Finished

Reply = Callable[[Sequence[str], bytes], Finished]


def prints(stdout: str, *, code: int = 0, stderr: str = "") -> Reply:
    """A reply that prints `stdout` and exits with `code`."""
    return lambda argv, _stdin: Finished(argv=tuple(argv), code=code, stdout=stdout, stderr=stderr)


def hangs(_argv: Sequence[str], _stdin: bytes) -> Finished:
    """A reply that never comes: the deadline passes, without the wait."""
    raise TimeoutError


@dataclass
class FakeChild:
    """A process that prints `output` and runs until it is stopped or `end()` is called."""

    pid: int
    output: Sequence[str] = ()
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _code: int = 0

    async def lines(self) -> AsyncIterator[str]:
        for line in self.output:
            yield line
        await self._ended.wait()

    async def wait(self) -> int:
        await self._ended.wait()
        return self._code

    async def stop(self) -> int:
        self.end(-15)
        return await self.wait()

    def end(self, code: int) -> None:
        if not self._ended.is_set():
            self._code = code
            self._ended.set()


@dataclass
class FakeShell:
    """`programs` maps a program's name (its last path component) to its reply; `children` likewise for `start`.

    A program that is in neither is "no such program", as on a real host. `ran` records every argv.
    """

    host: str = "fake"
    programs: Mapping[str, Reply] = field(default_factory=dict)
    children: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    ran: list[tuple[str, ...]] = field(default_factory=list)
    started: list[FakeChild] = field(default_factory=list)

    async def run(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        self.ran.append(tuple(argv))
        reply = self.programs.get(_base(argv[0]))
        if reply is None:
            raise HostError(f"{self.host}: {argv[0]}: No such file or directory")
        try:
            return reply(argv, stdin)
        except TimeoutError:
            raise HostError(f"{self.host}: {argv[0]} did not end within {within_s:g} s") from None

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> FakeChild:
        self.ran.append(tuple(argv))
        if _base(argv[0]) not in self.children:
            raise HostError(f"{self.host}: {argv[0]}: no such program")
        child = FakeChild(pid=1000 + len(self.started), output=self.children[_base(argv[0])])
        self.started.append(child)
        return child

    async def read(self, path: str, *, most_bytes: int = 1 << 20) -> bytes | None:
        content = self.files.get(path)
        return None if content is None else content[:most_bytes]

    async def which(self, name: str) -> str | None:
        return f"/fake/bin/{name}" if name in self.programs or name in self.children else None


def _base(program: str) -> str:
    return program.rsplit("/", 1)[-1]
