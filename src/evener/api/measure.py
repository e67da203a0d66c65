"""Measure a running server: ours, or any OpenAI-compatible URL. Wires `bench` with the run folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evener import __version__, config, state
from evener.bench.client import base_url
from evener.bench.load import LIMITS, Load
from evener.bench.probe import Server, probe
from evener.bench.users import UsersBench
from evener.edges import deployments
from evener.edges.run_folder import RunFolder, new_run_id, open_run
from evener.errors import ConfigurationError, RunUnreadable
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.records.rig import Serve
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
    ours = _deployment(target)
    where = base_url(ours.url if ours and ours.url else str(target))
    key = _key_of(ours) if ours and not api_key_env else _api_key(api_key_env)
    report(Progress(what="asking the server"))
    server = await probe(where, load, api_key=key)
    report(Progress(what="asking the server", done=1, of=1))
    conditions = users_conditions(server, load)
    if ours is not None:
        conditions = _as_deployed(conditions, ours)
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
        | {"seed": load.seed}
        | {name: load.output_tokens for name in LIMITS if name in server.fields},
        client=f"evener {__version__}, closed loop",
        evener=__version__,
    )


def _deployment(target: str | None) -> Deployment | None:
    """The deployment that `target` names, or the only one when nothing is named; None for a URL."""
    ready = [d for d in deployments.everything() if d.state == "ready" and deployments.is_alive(d)]
    if target is not None:
        return next((d for d in ready if d.name == target), None)
    if len(ready) == 1:
        return ready[0]
    if not ready:
        raise ConfigurationError(
            "nothing to measure: no URL was given, and nothing of ours is serving",
            hint="evener bench users http://127.0.0.1:8080, or first evener up MODEL --detach",
        )
    raise ConfigurationError("several deployments serve", hint=f"name one of: {', '.join(d.name for d in ready)}")


def _as_deployed(seen: Conditions, ours: Deployment) -> Conditions:
    """What its own run knows of a deployment, under what the client has seen of it."""
    try:
        known = open_run(Path(ours.run or "")).run.conditions
    except RunUnreadable:
        return seen
    return replace(
        known,
        layout=ours.candidate.name,
        users=seen.users,
        client=seen.client,
        sampling=seen.sampling,
        thinking_observed=seen.thinking_observed,
    )


def _key_of(ours: Deployment) -> str | None:
    """The key of our own deployment, from where its rig file says. Raises ConfigurationError when it is not there."""
    return config.api_key(Serve(api_key_env=ours.api_key_env, api_key_file=ours.api_key_file))


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
