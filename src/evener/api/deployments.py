"""Deployments: bring one up and keep it, find one, follow its messages, take it down."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from evener.api.plans import Planned
from evener.api.session import Ended, OnMessage, Session, open_to_the_network, slug, supervise
from evener.bench.load import Load
from evener.dialects.llama_flags import refuse_conflicts
from evener.edges import deployments
from evener.edges.control import Message, ask
from evener.edges.run_folder import open_run
from evener.edges.writing import writing
from evener.errors import FlagConflict, HostError, NameUnknown, RunUnreadable
from evener.launch.bring_up import Up
from evener.records.deployment import Deployment
from evener.records.plan import Candidate
from evener.together import until

DOOR = deployments.DOOR

__all__ = [
    "DOOR",
    "checked",
    "door_supervisor",
    "down",
    "follow",
    "is_alive",
    "log_lines",
    "pick",
    "running",
    "slug",
    "supervisor",
    "supervisor_log",
    "up",
]

DOWN_WITHIN_S = 120.0
BASELINE = Load(users=(1,), prompts=6)  # enough for an interval of the median


async def up(
    planned: Planned,
    *,
    model: str,
    name: str | None = None,
    extra: tuple[str, ...] = (),
    baseline: bool = True,
    on_message: OnMessage,
) -> Ended:
    """Bring the chosen candidate up and keep it until somebody asks it to end, or a part of it dies.

    A cluster that one machine could replace is compared with that machine first, unless `baseline` is False.
    Being cancelled, or `evener down`, is the normal end. Raises what a launch raises; nothing is left running.
    """
    planned.require_file()
    candidate = planned.chosen()
    alone = planned.alone() if candidate.kind == "cluster" and baseline else None
    exposed = open_to_the_network(planned, [alone]) if alone else None
    if exposed:
        alone = None  # a comparison is no reason to open the model to the network

    async def live(session: Session) -> None:
        if exposed:
            session.fact("caution", {"text": f"not compared with one machine: {exposed} would serve without a key"})
        if alone is not None:
            await session.layout(alone, lambda up: session.measured(up, load=BASELINE, layout=alone.name))
        await session.layout(candidate, lambda up: _serve(session, up, candidate, compare=alone is not None))
        while True:  # somebody has borrowed the machines
            await session.lent()
            await session.layout(candidate, session.serve)

    return await supervise(
        planned,
        [*([alone] if alone else []), candidate],
        live,
        what="up",
        model=model,
        name=name,
        extra=extra,
        on_message=on_message,
    )


async def _serve(session: Session, up: Up, candidate: Candidate, *, compare: bool) -> None:
    if compare:
        await session.measured(up, load=BASELINE, layout=candidate.name)
        session.compared()
    await session.serve(up)


async def down(deployment: Deployment, *, on_message: OnMessage) -> bool | None:
    """Ask the supervisor to end, and follow it to the end. Whether every card was clean; None when it was gone.

    A supervisor whose socket is gone is asked by SIGTERM. Raises HostError when it does not end in time.
    """
    name, clean = deployment.name, None
    try:
        async with asyncio.timeout(DOWN_WITHIN_S):
            async for message in follow(name, "down"):
                on_message(message)
                if "ended" in message:
                    clean = bool(message["ended"]["clean"])
            if (pid := deployments.supervisor(name)) is not None:
                os.kill(pid, signal.SIGTERM)
            await until(lambda: _is_gone(name), within_s=DOWN_WITHIN_S)
    except TimeoutError:
        pid = deployments.supervisor(name)
        raise HostError(
            f"{name}: its supervisor (pid {pid}) did not end within {DOWN_WITHIN_S:.0f} s",
            hint=f"kill -9 {pid} ends it, and everything it has started with it",
        ) from None
    deployments.forget(name)
    return _was_clean(deployment) if clean is None else clean


async def _is_gone(name: str) -> bool | None:
    return True if deployments.supervisor(name) is None else None


def _was_clean(deployment: Deployment) -> bool | None:
    """What the run's summary says, when the supervisor could not say it any more; None without a summary."""
    try:
        summary = open_run(Path(deployment.run or "")).summary
    except RunUnreadable:
        return None
    if summary is None:
        return None
    return all(check.verdict != "held" for stage in summary.stages for check in stage.freed)


def checked(extra: Sequence[str]) -> tuple[str, ...]:
    """Engine flags after `--`. Raises FlagConflict for one that the plan decides, or for what is no flag."""
    if extra and not extra[0].startswith("-"):
        raise FlagConflict(
            f"{extra[0]}: not a flag of the engine", hint="one model, then options; engine flags after --"
        )
    refuse_conflicts(extra)
    return tuple(extra)


def running() -> tuple[Deployment, ...]:
    """Every deployment on record, those included that failed or lost their supervisor."""
    return deployments.everything()


def is_alive(deployment: Deployment) -> bool:
    return deployments.is_alive(deployment)


def pick(name: str | None) -> Deployment:
    """The deployment called `name`, or the only one. Raises NameUnknown."""
    return deployments.pick(name)


async def follow(name: str, what: str = "follow") -> AsyncIterator[Message]:
    """A supervisor's messages until it has ended; none when it does not listen. `what` is also "down" or "status"."""
    socket = deployments.folder(name) / deployments.SOCKET
    if socket.exists():
        async for message in ask(socket, what):
            yield message


def supervisor(name: str) -> int | None:
    """The pid of the supervisor that runs this deployment now, None when there is none."""
    return deployments.supervisor(name)


def door_supervisor() -> int | None:
    """The pid of the process that holds the door of `evener serve` open, None when there is none."""
    return deployments.door_supervisor()


def supervisor_log(name: str) -> Path:
    """Where the supervisor that we start now puts its own words; its folder exists when this returns."""
    path = deployments.folder(name) / f"supervisor.{os.getpid()}.log"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def log_lines(deployment: Deployment, *, host: str | None, lines: int, follow: bool) -> Iterator[tuple[str, str]]:
    """(host/log, line): the last lines of each log, then new ones as they are written when `follow`.

    Logs that appear later are followed too. Raises NameUnknown for a host without logs.
    """
    base = Path(deployment.run or "") / "logs"
    with ExitStack() as stack:
        tails: dict[Path, _Tail] = {}
        while True:
            alive = follow and is_alive(deployment)
            for path in sorted(base.glob(f"{host or '*'}/*.log")):
                if path not in tails:
                    tails[path] = _Tail(stack.enter_context(path.open(errors="replace")), most=lines)
                for line in tails[path].more():
                    yield f"{path.parent.name}/{path.stem}", line
            if not tails and not alive:
                whose = f" of {host}" if host else ""
                raise NameUnknown(f"{deployment.name} has no logs{whose}", hint=f"looked in {base}")
            if not alive:
                return
            time.sleep(0.2)


class _Tail:
    """One log as it grows: at first its last `most` lines, then what is new; never half a line."""

    def __init__(self, file: TextIO, *, most: int) -> None:
        self._file = file
        self._most: int | None = most
        self._half = ""

    def more(self) -> list[str]:
        *whole, self._half = (self._half + self._file.read()).split("\n")
        if self._most is not None:
            whole, self._most = whole[len(whole) - min(self._most, len(whole)) :], None
        return whole
