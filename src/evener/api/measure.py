"""Measure a running server: ours, or any OpenAI-compatible URL. Wires `bench` with the run folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evener import __version__, state
from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import Server, probe
from evener.bench.users import UsersBench
from evener.edges.run_folder import RunFolder, new_run_id
from evener.errors import ConfigurationError
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.records.run import Run, Stage, Summary

__all__ = ["KEY_VARIABLE", "Load", "Measured", "users"]

KEY_VARIABLE = "EVENER_API_KEY"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer, what it holds for, and the run folder (None when nothing was to be saved)."""

    result: UsersResult
    conditions: Conditions
    path: Path | None


async def users(
    target: str | None,
    load: Load,
    *,
    api_key_env: str | None = None,
    save: bool = True,
    report: Report,
    base: Path | None = None,
) -> Measured:
    """A closed loop against `target` (a URL), into a new run folder under `base` (the runs folder by default).

    When the caller is cancelled (Ctrl-C) after the load has begun, what was measured is saved and returned, with
    `result.partial` = "interrupted". Raises what `bench.probe` raises, and HostError when the folder cannot be written.
    """
    where, key = base_url(_address(target)), _api_key(api_key_env)
    report(Progress(what="asking the server"))
    server = await probe(where, load, api_key=key)
    report(Progress(what="asking the server", done=1, of=1))
    conditions = users_conditions(server, load)
    folder = _folder(base, conditions) if save else None
    measurement = UsersBench(server, load, keep=_keep(folder), report=report)
    try:
        result = await measurement.run()
    except asyncio.CancelledError:
        result = measurement.result(INTERRUPTED)
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
    if folder is not None:
        folder.fact("users measured", {"validity": result.validity, "partial": result.partial})
        folder.finish(_summary(result))
    return Measured(result=result, conditions=conditions, path=folder.path if folder else None)


def users_conditions(server: Server, load: Load) -> Conditions:
    """What is known about a server from outside. A deployment of ours knows more, and lays it over this."""
    return Conditions(
        quantisation=server.quantisation,
        context=server.context,
        users=max(load.users),
        thinking_observed=server.thinking,
        sampling={name: value for name, value in server.fields.items() if isinstance(value, int | float | str)}
        | {name: value for name, value in load.extra.items() if isinstance(value, int | float | str)}
        | {"seed": load.seed, "max_tokens": load.output_tokens},
        client=f"evener {__version__}, closed loop",
        evener=__version__,
    )


def _address(target: str | None) -> str:
    if target is None:
        raise ConfigurationError(
            "nothing to measure: no URL was given", hint="evener bench users http://127.0.0.1:8080"
        )
    return target


def _api_key(variable: str | None) -> str | None:
    """The key, from the environment only. Raises ConfigurationError when a named variable is unset or unusable."""
    key = os.environ.get(variable or KEY_VARIABLE, "").strip()
    if variable and not key:
        raise ConfigurationError(f"${variable} is not set", hint=f"export {variable}=...")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigurationError(f"${variable or KEY_VARIABLE} holds no key that fits into an HTTP header")
    return key or None


def _folder(base: Path | None, conditions: Conditions) -> RunFolder:
    now = datetime.now(UTC)
    run = Run(id=new_run_id("users", at=now), what="users", started_at=now, conditions=conditions)
    return RunFolder.create(base or state.runs_folder(), run)


def _keep(folder: RunFolder | None) -> Callable[[Request], None]:
    return (lambda _request: None) if folder is None else (lambda request: folder.requests([request]))


def _summary(result: UsersResult) -> Summary:
    stage = Stage(layout=result.url, users=replace(result, label=result.url))
    return Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=result.partial)
