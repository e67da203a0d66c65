"""Deployments: bring one up and keep it, find one, follow its messages, take it down."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from evener.api.plans import Planned
from evener.api.session import Ended, OnMessage, Session, slug, supervise
from evener.bench.load import Load
from evener.dialects.llama_flags import refuse_conflicts
from evener.edges import deployments
from evener.edges.control import Message, ask
from evener.errors import NameUnknown
from evener.launch.bring_up import Up
from evener.records.deployment import Deployment
from evener.records.plan import Candidate

__all__ = ["checked", "down", "follow", "is_alive", "log_lines", "pick", "running", "slug", "supervisor_log", "up"]

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
    candidate = planned.chosen()
    alone = planned.alone() if candidate.kind == "cluster" and baseline else None

    async def live(session: Session) -> None:
        if alone is not None:
            await session.layout(alone, lambda up: session.measured(up, load=BASELINE, layout=alone.name))
        await session.layout(candidate, lambda up: _serve(session, up, candidate, compare=alone is not None))

    return await supervise(
        planned, [candidate], live, what="up", model=model, name=name, extra=extra, on_message=on_message
    )


async def _serve(session: Session, up: Up, candidate: Candidate, *, compare: bool) -> None:
    if compare:
        await session.measured(up, load=BASELINE, layout=candidate.name)
        session.compared()
    session.fact("serving", {"url": up.url})
    await asyncio.Event().wait()


async def down(deployment: Deployment, *, on_message: OnMessage) -> bool | None:
    """Ask the supervisor to end, and follow it to the end. Whether every card was clean; None when it was gone."""
    clean: bool | None = None
    async for message in follow(deployment.name, "down"):
        on_message(message)
        if "ended" in message:
            clean = bool(message["ended"]["clean"])
        elif message.get("fact", {}).get("kind") == "freed" and clean is None:
            clean = all(check["verdict"] != "held" for check in message["fact"]["data"]["checks"])
    deployments.forget(deployment.name)
    return clean


def checked(extra: Sequence[str]) -> tuple[str, ...]:
    """Engine flags after `--`. Raises FlagConflict for one that the plan decides."""
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


def supervisor_log(name: str) -> Path:
    """Where a detached supervisor's own words go; its folder exists when this returns."""
    path = deployments.folder(name) / deployments.SUPERVISOR_LOG
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def log_lines(deployment: Deployment, *, host: str | None, lines: int, follow: bool) -> Iterator[tuple[str, str]]:
    """(host/log, line): the last lines of each log, then new ones as they are written when `follow`.

    Raises NameUnknown for a host without logs.
    """
    base = Path(deployment.run or "") / "logs"
    paths = sorted(base.glob(f"{host or '*'}/*.log"))
    if not paths:
        raise NameUnknown(f"{deployment.name} has no logs{f' of {host}' if host else ''}", hint=f"looked in {base}")
    with ExitStack() as stack:
        files = [(f"{p.parent.name}/{p.stem}", stack.enter_context(p.open(errors="replace"))) for p in paths]
        for source, file in files:
            for line in deque(file, maxlen=lines):
                yield source, line.rstrip("\n")
        while follow and is_alive(deployment):
            for source, file in files:
                for line in file:
                    yield source, line.rstrip("\n")
            time.sleep(0.2)
