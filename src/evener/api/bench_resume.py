"""The parts of a run of `bench users`: what the first one writes down, and whether another one may go on with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evener import state
from evener.api import measure
from evener.api.measure import Target
from evener.bench.load import Load
from evener.bench.pair import apart
from evener.bench.probe import Server
from evener.bench.users import is_mixed_whole, is_whole
from evener.codec import from_data, to_data
from evener.edges.run_folder import RunData, RunFolder, find_run, list_runs, open_run, with_token_times
from evener.errors import ConfigurationError
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.load import Queue, Request, UsersResult

WHAT, LOAD_FACT = "users", "load"
# Both parts of a run see these, from outside or from the run of the deployment.
MUST_BE_THE_SAME = (
    "model_sha256", "quantisation", "context", "kv_type_k", "kv_type_v", "engine_builds", "device_order",
    "layers_per_device", "layout", "thinking_observed",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one part measures with. `earlier` are the requests of those before it, `queues` belong to their levels."""

    target: Target
    server: Server
    load: Load
    conditions: Conditions
    folder: RunFolder | None
    label: str  # what a report calls it: the layout of a deployment, or the URL
    earlier: tuple[Request, ...] = ()
    queues: Mapping[int, Queue] | None = None

    @property
    def elapsed_s(self) -> float:
        """Where the time of this part begins."""
        return max((r.sent_s + (r.end_s or 0.0) + 1.0 for r in self.earlier), default=0.0)


def first_part(target: Target, server: Server, load: Load, conditions: Conditions, folder: RunFolder | None) -> Part:
    """A new run. Its load and its server are written down, so that it can be gone on with."""
    label = _layout_label(target) or str(server.url)
    if folder is not None:
        folder.fact("layout", {"name": label})
        folder.fact(LOAD_FACT, {"target": target.name, "load": to_data(load), "server": _told(server)})
    return Part(target=target, server=server, load=load, conditions=conditions, folder=folder, label=label)


def _layout_label(target: Target) -> str | None:
    if target.ours is None:
        return None
    from evener.report.rows import label  # here: 20 ms to import, and a URL needs none of it

    return label(target.ours.candidate)


async def next_part(
    run: str,
    named: str | None,
    *,
    api_key_env: str | None,
    force: bool,
    ask: Callable[[Target, Load, Report], Awaitable[Server]],
    report: Report,
) -> Part:
    """Go on with the run called `run`. Raises ConfigurationError when there is nothing to go on with."""
    data = with_token_times(open_run(folder_of(run)))
    wanted = _load_fact(data)
    load = from_data(Load, wanted["load"], source=f"{data.path}: its load")
    earlier = standing(data)
    if data.summary is not None:  # else it may be whole, and wants to be summed up
        _require_left(data, load, earlier)
    target = measure.target(named or str(wanted["target"]), api_key_env=api_key_env)
    server = await ask(target, load, report)
    conditions = measure.as_known(measure.users_conditions(server, load), target)
    differing = tuple(_differing(wanted["server"], _told(server), data.run.conditions, conditions))
    if differing and not force:
        raise ConfigurationError(
            f"{data.path.name} was measured on something else: {', '.join(differing)}",
            hint="start a new run, or --force: then the run says so",
        )
    folder = RunFolder.reopen(data)
    folder.fact("resumed", {"target": target.name, "server": _told(server), "differing": list(differing)})
    return Part(
        target=target,
        server=server,
        load=load,
        conditions=data.run.conditions,
        folder=folder,
        label=next((str(fact.data["name"]) for fact in data.facts if fact.kind == "layout"), str(server.url)),
        earlier=earlier,
        queues=_queues(data),
    )


def folder_of(run: str) -> Path:
    """As `report` finds runs, but that "last" is the last one that could go on: deployments have runs, too."""
    ours = [path for path in list_runs(state.runs_folder()) if f"-{WHAT}-" in path.name]
    return ours[-1] if run == "last" and ours else find_run(state.runs_folder(), run)


def _load_fact(data: RunData) -> dict[str, Any]:
    found = next((fact.data for fact in data.facts if fact.kind == LOAD_FACT), None)
    if data.run.what != WHAT or found is None or not {"load", "target", "server"} <= found.keys():
        raise ConfigurationError(
            f"{data.path.name} cannot be gone on with: it is no run of bench users that says its load",
            hint="evener runs lists them",
        )
    return found


def standing(data: RunData) -> tuple[Request, ...]:
    """All requests, but those that count for nothing as warm-ups: of a level in which the server died.

    Each of them may have ended, in a failure, and yet the level is not whole.
    """
    measured = [request for request in data.requests if not request.warm_up]
    cut_short = data.summary is None or data.summary.partial is not None
    if not (cut_short and measured and measured[-1].failure):
        return data.requests
    fallen = (measured[-1].users, measured[-1].part)
    return tuple(replace(r, warm_up=True) if (r.users, r.part) == fallen else r for r in data.requests)


def _require_left(data: RunData, load: Load, earlier: Sequence[Request]) -> None:
    missing = [users for users in load.levels if not is_whole(earlier, users, load)]
    if not missing and (load.mixed is None or is_mixed_whole(earlier, load)):
        raise ConfigurationError(
            f"{data.path.name} is complete: nothing is left to measure", hint=f"evener report {data.path.name}"
        )


def _differing(before: Mapping[str, Any], now: Mapping[str, Any], known: Conditions, seen: Conditions) -> Iterator[str]:
    for name, was in before.items():
        if now.get(name) != was:
            yield f"{name} was {was}, is {now.get(name)}"
    for name in apart(known, seen)[0]:
        if name in MUST_BE_THE_SAME and name not in before:
            yield name.replace("_", " ")


def _told(server: Server) -> dict[str, Any]:
    """What a server says of itself that must not change within a run."""
    return {
        "url": str(server.url),
        "model": server.model,
        "slots": server.slots,
        "context": server.context,
        "quantisation": server.quantisation,
    }


def _queues(data: RunData) -> dict[int, Queue]:
    """What the server said of its slots at each level, from the last result that was written."""
    for fact in reversed(data.facts):
        if fact.kind == "measured":
            result = from_data(UsersResult, fact.data["users"], source=f"{data.path}: event {fact.sequence}")
            return {level.users: level.queue for level in result.levels if level.queue}
    return {}
