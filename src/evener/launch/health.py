"""Whether what runs still runs: dead, stopped or silent, and who is to blame. Never a second RPC connection.

A worker serves one client, and a queued visitor can kill it: so its health is its pid, and the head's counters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from evener.errors import ChildDied, HostError
from evener.launch.children import Running, first_end
from evener.ports import Http, Shell

EVERY_S = 1.0
FROZEN_AFTER = 3  # looks in a row that find a process stopped
BLAME_WITHIN_S = 1.5  # how long after the head's death a worker's is still its cause
SIGNALS = {-4: "SIGILL", -6: "SIGABRT", -9: "SIGKILL", -11: "SIGSEGV", -13: "SIGPIPE", -15: "SIGTERM"}


def how(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        return f"was ended by {SIGNALS.get(code, f'signal {-code}')}"
    return f"ended with exit code {code}"


def state_of(stat: bytes | None) -> str | None:
    """The state letter of /proc/PID/stat, None when there is none. The name before it may hold anything."""
    if not stat:
        return None
    after_name = stat.rpartition(b")")[2].split()
    return after_name[0].decode() if after_name else None


async def fault(children: Sequence[Running], shells: Mapping[str, Shell]) -> ChildDied:
    """Wait for the first thing that goes wrong, and name it. Returns, rather than raises: the caller decides."""
    watches = [asyncio.ensure_future(_death(list(children))), asyncio.ensure_future(_freeze(children, shells))]
    try:
        done, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).result()
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def _death(children: list[Running]) -> ChildDied:
    dead = await first_end(children)
    if dead.role == "head" and (worker := await _worker_to_blame(children)):
        dead = worker
    try:
        code = await dead.child.wait()
    except HostError as error:  # nobody knows how it ended
        return ChildDied(f"the {dead.label} is lost: {error.message}", hint=error.hint, host=dead.command.host)
    await asyncio.sleep(0.1)  # the last lines are still in the pipe
    because = dead.said() if dead.role == "tunnel" else dead.failure()
    return ChildDied(
        f"the {dead.label} {how(code)}" + (f": {because}" if because else ""),
        hint=f"its log: {dead.log.name}",
        host=dead.command.host,
    )


async def _worker_to_blame(children: list[Running]) -> Running | None:
    workers = [c for c in children if c.role != "head"]
    if not workers:
        return None
    try:
        async with asyncio.timeout(BLAME_WITHIN_S):
            return await first_end(workers)
    except TimeoutError:
        return None


async def _freeze(children: Sequence[Running], shells: Mapping[str, Shell]) -> ChildDied:
    """A stopped process stalls everything while /health stays 200."""
    looks = dict.fromkeys(range(len(children)), 0)
    while True:
        for index, running in enumerate(children):
            stat = await _stat(running, shells)
            looks[index] = looks[index] + 1 if state_of(stat) == "T" else 0
            if looks[index] >= FROZEN_AFTER:
                return ChildDied(
                    f"the {running.label} is stopped (state T) and would stall everything",
                    hint=f"somebody sent it SIGSTOP; pid {running.child.pid}",
                    host=running.command.host,
                )
        await asyncio.sleep(EVERY_S)


async def _stat(running: Running, shells: Mapping[str, Shell]) -> bytes | None:
    try:
        return await shells[running.command.host].read(f"/proc/{running.child.pid}/stat")
    except HostError:  # a broken connection is noticed by the child's own
        return None


async def is_serving(http: Http, url: str, *, within_s: float = 2.0) -> bool:
    """Whether the head answers 200 on /health. It says nothing about its workers."""
    answer = await http.get(f"{url}/health", within_s=within_s)
    return answer is not None and answer.status == 200
