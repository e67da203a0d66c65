"""What every `evener bench` command does around a measurement: find the server, its key, its conditions, a folder.

Knows deployments and run folders; measures nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evener import __version__, config, state
from evener.api.rig import Rig
from evener.bench.client import BaseUrl, base_url
from evener.bench.load import LIMITS, Load
from evener.bench.probe import Server
from evener.codec import to_data
from evener.edges import deployments
from evener.edges.run_folder import RunFolder, new_run_id, open_run
from evener.errors import ConfigurationError, HostError, RunUnreadable
from evener.records.card import Scan
from evener.records.conditions import Conditions
from evener.records.context_limits import ContextResult
from evener.records.deployment import Deployment
from evener.records.rig import Money, Serve
from evener.records.run import Run, Summary
from evener.records.speed_rows import SpeedResult

KEY_VARIABLE = "EVENER_API_KEY"
INTERRUPTED = "interrupted"
CUT_OFF = "the run did not come to its end"  # a partial result on the disk, should nothing come after it


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be measured. `ours` is None for a server that is not a deployment of this machine's evener."""

    url: BaseUrl
    api_key: str | None = field(default=None, repr=False)
    ours: Deployment | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.ours.name if self.ours else str(self.url)


def target(named: str | None, *, api_key_env: str | None = None) -> Target:
    """The deployment called `named`, the only one for None, else the URL that it is.

    Raises ConfigurationError when there is none or more than one, or when the key is not where it should be.
    """
    ours = _deployment(named)
    url = base_url(ours.url if ours and ours.url else str(named))
    return Target(url=url, api_key=_key_of(ours) if ours and not api_key_env else _key_in(api_key_env), ours=ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Which hosts can be watched while a target is measured."""

    rig: Rig
    hosts: tuple[str, ...]
    scan: Scan | None = None
    deployment: Deployment | None = None


def watched(target: Target) -> Hosts:
    """The hosts of a deployment of ours. Of another server we know none but this machine, which measures."""
    run = _run_of(target)
    if target.ours is not None and run is not None and run.rig is not None:
        names = target.ours.candidate.hosts
        return Hosts(rig=Rig(run.rig), hosts=names, scan=run.scan, deployment=target.ours)
    here = config.this_machine()
    return Hosts(rig=Rig(here), hosts=tuple(host.name for host in here.hosts))


def watched_of(targets: Iterable[Target]) -> tuple[Hosts, ...]:
    """The hosts of all of them, each once: two servers on one deployment, or on hosts that nobody knows."""
    found: dict[object, Hosts] = {}
    for one in targets:
        found.setdefault(one.ours.name if one.ours else None, watched(one))
    return tuple(found.values())


def money_of(target: Target) -> Money | None:
    """What energy costs there, by the rig file of the deployment."""
    run = _run_of(target)
    return run.rig.money if run is not None and run.rig is not None else None


def _run_of(target: Target) -> Run | None:
    try:
        return open_run(Path(target.ours.run or "")).run if target.ours else None
    except RunUnreadable:
        return None


def as_known(seen: Conditions, target: Target) -> Conditions:
    """What the client has seen, laid over what its own run knows of a deployment; of another server, just that."""
    run = _run_of(target)
    if target.ours is None or run is None:
        return seen
    return replace(
        run.conditions,
        layout=target.ours.candidate.name,
        users=seen.users,
        client=seen.client,
        sampling=seen.sampling,
        thinking_asked=seen.thinking_asked or run.conditions.thinking_asked,
        thinking_observed=seen.thinking_observed,
    )


def users_conditions(server: Server, load: Load) -> Conditions:
    """What is known about a server from outside. A deployment of ours knows more: `as_known`."""
    return Conditions(
        quantisation=server.quantisation,
        context=server.context,
        users=load.most_at_once,
        thinking_observed=server.thinking,
        sampling={name: value for name, value in server.fields.items() if isinstance(value, int | float | str)}
        | {name: value for name, value in load.extra.items() if isinstance(value, int | float | str)}
        | {"seed": load.seed}
        | {name: load.output_tokens for name in LIMITS if name in server.fields},
        client=client_of(load),
        evener=__version__,
    )


def client_of(load: Load) -> str:
    """The client as a condition: how it sends is one, too."""
    sends = "closed loop" if load.arrivals == "closed" else f"{load.arrivals} arrivals"
    return f"evener {__version__}, {sends}" + (", warm caches" if load.mode == "warm" else "")


def new_folder(what: str, conditions: Conditions, *, base: Path | None = None) -> RunFolder:
    """A run folder under `base` (the runs folder by default), with its run.json. Raises HostError."""
    now = datetime.now(UTC)
    run = Run(id=new_run_id(what, at=now), what=what, started_at=now, conditions=conditions)
    return RunFolder.create(base or state.runs_folder(), run)


def begin_layout(folder: RunFolder | None, layout: str) -> None:
    """What is measured from now on is of this layout."""
    if folder is not None:
        folder.fact("layout", {"name": layout})


def so_far(folder: RunFolder | None, layout: str, **result: SpeedResult | ContextResult) -> None:
    """What a run that is killed later is read back from. `result` is one, by its name in a stage."""
    if folder is not None:
        folder.fact("measured", {"layout": layout, **{name: to_data(one) for name, one in result.items()}})


def finish(folder: RunFolder | None, summary: Summary) -> str | None:
    """Complete the run; or why that cannot be written: then the folder stays what an interrupted run leaves."""
    try:
        if folder is not None:
            folder.finish(summary)
    except HostError as error:
        return error.message
    return None


def not_cancelled() -> None:
    """Take back the cancellation that has ended a measurement: what it found is still to be written."""
    if (task := asyncio.current_task()) is not None:
        task.uncancel()


def _deployment(named: str | None) -> Deployment | None:
    """The deployment of that name, or the only one when nothing is named; None for a URL."""
    ready = [d for d in deployments.everything() if d.state == "ready" and deployments.is_alive(d)]
    if named is not None:
        return next((d for d in ready if d.name == named), None)
    if len(ready) == 1:
        return ready[0]
    if not ready:
        raise ConfigurationError(
            "nothing to measure: no URL was given, and nothing of ours is serving",
            hint="evener bench users http://127.0.0.1:8080, or first evener up MODEL --detach",
        )
    raise ConfigurationError("several deployments serve", hint=f"name one of: {', '.join(d.name for d in ready)}")


def _key_of(ours: Deployment) -> str | None:
    """The key of our own deployment, from where its rig file says. Raises ConfigurationError when it is not there."""
    return config.api_key(Serve(api_key_env=ours.api_key_env, api_key_file=ours.api_key_file))


def _key_in(variable: str | None) -> str | None:
    """The key, from the environment only. Raises ConfigurationError when a named variable is unset or unusable."""
    key = os.environ.get(variable or KEY_VARIABLE, "").strip()
    if variable and not key:
        raise ConfigurationError(f"${variable} is not set", hint=f"export {variable}=...")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigurationError(f"${variable or KEY_VARIABLE} holds no key that fits into an HTTP header")
    return key or None
