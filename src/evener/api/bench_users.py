"""`evener bench users`: a running server under so many users, into a run folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evener.api import measure
from evener.bench.load import Load
from evener.bench.probe import probe
from evener.bench.users import UsersBench
from evener.edges.run_folder import RunFolder
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.records.run import Stage, Summary

__all__ = ["Load", "Measured", "users"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer, what it holds for, and the run folder (None when nothing was to be saved)."""

    result: UsersResult
    conditions: Conditions
    path: Path | None


async def users(
    named: str | None,
    load: Load,
    *,
    api_key_env: str | None = None,
    save: bool = True,
    report: Report,
    base: Path | None = None,
) -> Measured:
    """A closed loop against `named` (a URL or a deployment), into a new run folder under `base`.

    When the caller is cancelled (Ctrl-C) after the load has begun, what was measured is saved and returned, with
    `result.partial` = "interrupted". Raises what `bench.probe` raises, and HostError when the folder cannot be written.
    """
    target = measure.target(named, api_key_env=api_key_env)
    report(Progress(what="asking the server"))
    server = await probe(target.url, load, api_key=target.api_key)
    report(Progress(what="asking the server", done=1, of=1))
    conditions = measure.as_known(measure.users_conditions(server, load), target)
    folder = measure.new_folder("users", conditions, base=base) if save else None
    measurement = UsersBench(server, load, keep=_keep(folder), report=report)
    try:
        result = await measurement.run()
    except asyncio.CancelledError:
        result = measurement.result(measure.INTERRUPTED)
        measure.not_cancelled()
    if folder is not None:
        folder.fact("users measured", {"validity": result.validity, "partial": result.partial})
        folder.finish(_summary(result))
    return Measured(result=result, conditions=conditions, path=folder.path if folder else None)


def _keep(folder: RunFolder | None) -> Callable[[Request], None]:
    return (lambda _request: None) if folder is None else (lambda request: folder.requests([request]))


def _summary(result: UsersResult) -> Summary:
    stage = Stage(layout=result.url, users=replace(result, label=result.url))
    return Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=result.partial)
