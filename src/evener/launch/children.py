"""One engine process: started on its leash, its log kept and read, stopped when the block is left."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

from evener.dialects import llama_log
from evener.ports import Child, Shell
from evener.records.deployment import Process, Role
from evener.records.plan import Command
from evener.together import to_the_end

OpenLog = Callable[[str, str], TextIO]  # (host, role and port) -> the file its log goes to
LAST_LINES = 200
LAST_WORDS_WITHIN_S = 1.0


@dataclass
class Running:
    """A child with what it has said so far. `facts` are the lines that are worth keeping, until `settled`."""

    role: Role
    command: Command
    child: Child
    log: TextIO
    last: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    facts: list[str] = field(default_factory=list)
    settled: bool = False  # after the load no more facts are gathered
    unwritten: str | None = None  # why the log on disk is not complete

    @property
    def process(self) -> Process:
        return Process(
            role=self.role,
            host=self.command.host,
            pid=self.child.pid,
            listen=self.command.listen,
            argv=self.command.argv,
            log=self.log.name,
        )

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.role} on {self.command.host} ({self.command.listen})"

    def failure(self) -> str | None:
        return llama_log.failure_of(self.last)

    def said(self) -> str:
        """What best explains its end: a telling line, else the last one."""
        return self.failure() or next((line for line in reversed(self.last) if line.strip()), "it said nothing")


@asynccontextmanager
async def started(
    role: Role, command: Command, shell: Shell, open_log: OpenLog, *, secrets: Mapping[str, str]
) -> AsyncIterator[Running]:
    """Start `command` and keep its log; on leaving, let the leash go and wait until the process has ended."""
    with _kept(open_log(command.host, f"{role}-{command.listen.rpartition(':')[2]}")) as log:
        child = await shell.start(command.argv, env={**command.env, **secrets})
        running = Running(role=role, command=command, child=child, log=log)
        keeping = asyncio.ensure_future(_keep_log(running))
        try:
            yield running
        finally:
            await to_the_end(_stop(child, keeping))


@contextmanager
def _kept(log: TextIO) -> Iterator[TextIO]:
    """A log that is closed whatever happens; what a full disk did not take of it is lost."""
    try:
        yield log
    finally:
        with suppress(OSError):
            log.close()


async def _stop(child: Child, keeping: asyncio.Future[None]) -> None:
    """End the process, then read what it said last: its pipe is closed, so that is a moment."""
    await child.stop()
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_WITHIN_S):
            await keeping


async def _keep_log(running: Running) -> None:
    """Read on whatever happens: an engine whose pipe nobody empties stops in the middle of a token."""
    async for raw in running.child.lines():
        line = llama_log.read_line(raw)
        if llama_log.worth_keeping(line):
            _keep(running, line.text)


def _keep(running: Running, text: str) -> None:
    running.last.append(text)
    if not running.settled:
        running.facts.append(text)
    try:
        running.log.write(text + "\n")
        running.log.flush()
    except OSError as error:  # a full disk must not stop the engine; the last lines are still in memory
        running.unwritten = error.strerror or str(error)


async def first_end(children: list[Running]) -> Running:
    """Wait until one of them has ended. Its log is complete a moment later, when its pipe is drained."""
    waits = {asyncio.ensure_future(r.child.wait()): r for r in children}
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)  # one may have lost its host: who asks it is told
    return min((waits[d] for d in done), key=lambda r: r.role == "head")  # a worker's death explains the head's
