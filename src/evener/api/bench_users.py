"""`evener bench users`: a running server under so many people, watched, into a run folder that can be gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from evener.api import measure, telemetry
from evener.api.bench_eyes import Eyes, Watching, as_conditions
from evener.api.bench_resume import Part, first_part, next_part
from evener.api.measure import Target
from evener.bench.load import Load
from evener.bench.probe import Server, probe
from evener.bench.summarise import users_result
from evener.bench.users import UsersBench
from evener.codec import to_data
from evener.edges.run_folder import RunFolder
from evener.errors import ConfigurationError, HostError
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.records.run import Stage, Summary
from evener.records.telemetry import Drift, Sample, Telemetry
from evener.together import background

__all__ = ["Ears", "Eyes", "Load", "Measured", "Options", "resumed", "users"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """Who hears what while it goes on: `report` progress, `request` each one that has ended, `level` what there is
    after each level."""

    report: Report
    request: Callable[[Request], None] = lambda _request: None
    level: Callable[[UsersResult], None] = lambda _result: None


ENDLESS = 1_000_000  # requests, where time says when it is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a load is measured, beside what it is. `duration_s`: go on for so long at one user count."""

    api_key_env: str | None = None
    save: bool = True
    base: Path | None = None  # where run folders go, None for the usual place
    duration_s: float | None = None
    eyes: Eyes = field(default_factory=Eyes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer, what it holds for, and the run folder (None when nothing was to be saved)."""

    result: UsersResult
    conditions: Conditions
    path: Path | None
    telemetry: Telemetry | None = None
    drift: Drift | None = None


async def users(named: str | None, load: Load, options: Options, ears: Ears) -> Measured:
    """Measure `named` (a URL or a deployment) into a new run folder.

    When the caller is cancelled (Ctrl-C), the server dies or the disk is full, what was measured is saved as far as it
    can be and returned, with `result.partial` saying why. Raises what `bench.probe` raises, and HostError when the
    folder cannot be made.
    """
    _require_one_level(load, options)
    target = measure.target(named, api_key_env=options.api_key_env)
    if options.duration_s is not None:
        load = replace(load, prompts=ENDLESS)
    server = await _asked(target, load, ears.report)
    conditions = replace(
        measure.as_known(measure.users_conditions(server, load), target), ambient_c=options.eyes.ambient_c
    )
    folder = measure.new_folder("users", conditions, base=options.base) if options.save else None
    part = first_part(target, server, load, conditions, folder)
    return await _Errand(part, options, ears).run()


async def resumed(run: str, named: str | None, options: Options, ears: Ears, *, force: bool) -> Measured:
    """Go on with a partial run, in its folder: whole levels stand, half and missing ones are measured.

    The load is the run's own, its seed too. Raises ConfigurationError for a run with nothing left to measure, or,
    without `force`, for a server that is not what it was.
    """
    part = await next_part(run, named, api_key_env=options.api_key_env, force=force, ask=_asked, report=ears.report)
    return await _Errand(part, options, ears).run()


def _require_one_level(load: Load, options: Options) -> None:
    if options.duration_s is not None and (len(load.levels) != 1 or load.mixed is not None):
        raise ConfigurationError("--duration is for one user count", hint="e.g. --concurrency 8 --duration 30m")
    if options.duration_s is not None and load.prompts is not None:
        raise ConfigurationError("--duration and --num-prompts both say when it is over", hint="leave one of them out")


async def _asked(target: Target, load: Load, report: Report) -> Server:
    report(Progress(what="asking the server"))
    server = await probe(target.url, load, api_key=target.api_key)
    report(Progress(what="asking the server", done=1, of=1))
    return server


@dataclass(kw_only=True)
class _Kept:
    """What has been measured in this part, kept on the disk while that has room. `fault` says since when it has not."""

    folder: RunFolder | None
    requests: list[Request] = field(default_factory=list)
    fault: str | None = None
    full: asyncio.Event = field(default_factory=asyncio.Event)

    def keep(self, request: Request) -> None:
        self.requests.append(request)
        if self.folder is not None and self.fault is None:
            try:
                self.folder.requests([request])
            except HostError as error:
                self.fail(error)

    def fact(self, kind: str, data: dict[str, object]) -> None:
        if self.folder is not None and self.fault is None:
            try:
                self.folder.fact(kind, data)
            except HostError as error:
                self.fail(error)

    def fail(self, error: HostError) -> None:
        self.fault = error.message
        self.full.set()


class _Errand:
    """One part of one run, from the check of the client to the summary."""

    def __init__(self, part: Part, options: Options, ears: Ears) -> None:
        self._part, self._options, self._ears = part, options, ears
        self._kept = _Kept(folder=part.folder)
        self._watching = Watching(part.target, options.eyes, report=ears.report)
        self._measured_at: int | None = None  # the user count of the last measured request
        self._whole: UsersResult | None = None  # of a load that came to its end
        self._bench = UsersBench(
            part.server, part.load, keep=self._keep, report=self._report, earlier=part.earlier, queues=part.queues
        )

    async def run(self) -> Measured:
        await self._watching.check_client(max(self._part.load.levels, default=1))
        # The run's time begins with its first request, and goes on behind that of earlier parts.
        async with self._watching.watching(self._sample, elapsed_s=self._part.elapsed_s):
            cut_short = await self._load()
            # All is on the disk before the hosts are let go: a second Ctrl-C may end that.
            named = replace(self._result(cut_short), label=self._part.label)
            return self._finished(self._watching.checked(named))

    def _finished(self, result: UsersResult) -> Measured:
        part = self._part
        told = self._watching.told(tokens=_tokens(self._kept.requests))
        drift = self._drift(self._watching.seen) if self._watching.seen else None
        self._kept.fact("measured", {"layout": part.label, "users": to_data(result)})
        stage = Stage(layout=part.label, users=result, telemetry=told, drift=drift)
        summary = Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=result.partial)
        fault = self._kept.fault or measure.finish(part.folder, summary)
        return Measured(
            result=replace(result, partial=result.partial or fault),
            conditions=as_conditions(part.conditions, told),
            path=part.folder.path if part.folder else None,
            telemetry=told,
            drift=drift,
        )

    async def _load(self) -> str | None:
        """The load; why it ended early, None when it did not."""
        try:
            async with background(self._measured()) as running, background(self._kept.full.wait()) as full:
                waits: list[asyncio.Future[object]] = [running, full]
                ended, _ = await asyncio.wait(
                    waits, timeout=self._options.duration_s, return_when=asyncio.FIRST_COMPLETED
                )
                if running in ended:
                    running.result()
        except asyncio.CancelledError:
            measure.not_cancelled()
            return measure.INTERRUPTED
        return self._kept.fault

    async def _measured(self) -> None:
        self._whole = await self._bench.run()

    def _result(self, cut_short: str | None) -> UsersResult:
        result = self._bench.result(cut_short) if cut_short or self._whole is None else self._whole
        if self._options.duration_s is None:
            return result
        # Time has said when it is over: what came until then is what was asked for.
        asked = replace(self._part.load, prompts=max(1, sum(not r.warm_up for r in self._kept.requests)))
        queues = {level.users: level.queue for level in result.levels if level.queue}
        return users_result(
            self._kept.requests,
            load=asked,
            server=self._part.server,
            client=result.client,
            partial=result.partial,
            queues=queues,
        )

    def _report(self, progress: Progress) -> None:
        if (until_s := self._options.duration_s) is not None:
            what, answered = f"{progress.what} for {until_s:g} s", f"{progress.done or 0:g} answered"
            progress = Progress(what=what, detail=answered)
        self._ears.report(progress)

    def _keep(self, request: Request) -> None:
        if not request.warm_up and request.users != self._measured_at:
            if self._measured_at is not None:
                self._level_ended(begun=request.users)
            self._measured_at = request.users
        self._kept.keep(request)
        self._ears.request(request)

    def _level_ended(self, *, begun: int) -> None:
        """What a run that is killed later is read back from. The level that has just begun says nothing yet."""
        so_far = self._bench.result(measure.CUT_OFF)
        levels = tuple(level for level in so_far.levels if level.users != begun)
        so_far = replace(so_far, label=self._part.label, levels=levels)
        self._kept.fact("measured", {"layout": self._part.label, "users": to_data(so_far)})
        self._ears.level(so_far)

    def _sample(self, sample: Sample) -> None:
        if self._kept.folder is not None and self._kept.fault is None:
            self._kept.folder.telemetry([sample])

    def _drift(self, seen: telemetry.Seen) -> Drift | None:
        if self._options.duration_s is None:
            return None
        spell = telemetry.steady(self._kept.requests) or (self._watching.from_s, seen.now_s())
        events = telemetry.token_events(self._kept.requests)
        return telemetry.drift(events, seen.samples, from_s=spell[0], to_s=spell[1])


def _tokens(requests: Iterable[Request]) -> float:
    return sum(credit for request in requests for _, credit in request.token_times)
