"""What our load client adds on this machine: measured against a bundled server in a process of its own, and kept."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from evener import __version__
from evener.bench.self_test import ITL_MS, TTFT_MS, check_client, with_check
from evener.dialects.proc import cpu
from evener.edges import measured
from evener.edges.local_shell import LocalShell
from evener.errors import CannotRun
from evener.ports import Child, Report
from evener.records.client import ClientCheck, ClientMachine
from evener.together import to_the_end

__all__ = ["self_test", "this_machine", "with_check"]

STARTS_WITHIN_S = 20.0


async def self_test(users: int, *, fresh: bool = False, report: Report) -> ClientCheck:
    """What the client adds with `users` streams at once: as kept for this machine, else measured (some 4 s) and kept.

    A check with a `fault` is measured once more before it is believed, and never kept: the machine may have been busy.
    Raises CannotRun when the bundled server cannot be run.
    """
    machine = this_machine()
    known = None if fresh else measured.client(users, machine)
    if known is not None:
        return known
    async with _bundled_server() as url:
        check = await check_client(url, users, machine=machine, report=report)
        if check.fault:
            check = await check_client(url, users, machine=machine, report=report)
    if check.fault is None:
        measured.save_client(check)
    return check


def this_machine() -> ClientMachine:
    """What decides how late a client is: the machine, its processor, the threads we may use, Python and ourselves."""
    return ClientMachine(
        machine=hashlib.sha256(_machine_id().encode()).hexdigest()[:16],
        cpu=cpu(_text("/proc/cpuinfo")).model or platform.processor() or None,
        threads=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        python=platform.python_version(),
        evener=__version__,
    )


def _machine_id() -> str:
    return _text("/etc/machine-id").strip() or _text("/var/lib/dbus/machine-id").strip() or platform.node()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@asynccontextmanager
async def _bundled_server() -> AsyncIterator[str]:
    """A fake engine in a process of its own, so that its work is not counted as the client's."""
    argv = (sys.executable, "-m", "evener.testing.fake_engine", "--ttft-ms", f"{TTFT_MS:g}", "--itl-ms", f"{ITL_MS:g}")
    child = await LocalShell("this machine").start(argv, env={})
    try:
        yield await _address(child)
    finally:
        await to_the_end(child.stop())


async def _address(child: Child) -> str:
    try:
        async with asyncio.timeout(STARTS_WITHIN_S):
            said = await anext(child.lines(), "")
    except TimeoutError:
        said = f"no word within {STARTS_WITHIN_S:g} s"
    if not said.startswith("http://"):
        raise CannotRun(f"the client's own test server did not start: {said or 'it ended'}")
    return said
