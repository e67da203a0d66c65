"""`evener bench pair`: two running servers, or two layouts of our own rig, measured in turns, into one run folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path

from evener import config
from evener.api import measure, models, plans
from evener.api.bench_watch import Watch, watching
from evener.api.plans import Planned
from evener.api.rig import Rig
from evener.api.session import Ended, OnMessage, Session, supervise
from evener.bench import pair
from evener.bench.load import Load
from evener.bench.pair import Visit, Visited
from evener.bench.probe import Server, probe
from evener.bench.users import UsersBench
from evener.codec import to_data
from evener.edges.run_folder import RunFolder
from evener.errors import EvenerError, HostError
from evener.journeys.conditions import conditions_of
from evener.journeys.measure import measure_users
from evener.launch.bring_up import Up
from evener.plan.what_if import Asked
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.events import Progress
from evener.records.load import Request, UsersResult
from evener.records.pair import PairResult, Side, SideName
from evener.records.run import Stage, Summary
from evener.report.rows import label

__all__ = ["Asked", "Load", "Paired", "Wanted", "layouts", "servers"]

OnVisit = Callable[[Visit, UsersResult], None]
SIDES: tuple[SideName, SideName] = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The answer, and the run folder (None when nothing was to be saved)."""

    result: PairResult
    path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One side on our own rig: a model, and how it is to be laid out."""

    model: str
    asked: Asked


@dataclass(kw_only=True)
class Turns:
    """The visits to come and those that have been, and what they say so far."""

    load: Load
    pairs: int
    margin: float
    sides: dict[SideName, Side]
    visited: list[Visited] = field(default_factory=list)
    watch: Watch | None = None
    warm: list[str] = field(default_factory=list)  # visits that began on cards that had not cooled down

    def batches(self) -> Iterator[Sequence[Visit]]:
        """All visits in their order; then a pair for each that could not be used, up to half as many again."""
        most = self.pairs + self.pairs // 2
        order = pair.visits(most, seed=self.load.seed)
        yield order[: 2 * self.pairs]
        for extra in range(self.pairs, most):
            if len(self.result().differences[0].pairs) < self.pairs:
                yield order[2 * extra : 2 * extra + 2]

    def by_side(self) -> Iterator[tuple[SideName, Sequence[Visit]]]:
        """The same, those together that follow each other on one side."""
        for batch in self.batches():
            for side, group in groupby(batch, key=lambda visit: visit.side):
                yield side, tuple(group)

    def load_of(self, visit: Visit) -> Load:
        return replace(self.load, seed=visit.seed)

    def add(self, visit: Visit, users: UsersResult) -> None:
        side = self.sides[visit.side]
        self.sides[visit.side] = replace(side, url=users.url, model=users.model)
        self.visited.append(Visited(visit=visit, users=replace(users, label=side.label)))

    def result(self, partial: str | None = None) -> PairResult:
        a, b = (self.sides[name] for name in SIDES)
        found = pair.result(a, b, self.visited, load=self.load, pairs=self.pairs, margin=self.margin, partial=partial)
        return replace(found, notes=(*found.notes, *self.warm))

    async def cool_down(self, visit: Visit, report: Report) -> None:
        """Wait until the cards are as cool as before the first visit: who comes second must not pay for the first."""
        if self.watch is not None:
            still = [card for cooled in await self.watch.cooled(report) for card in cooled.still_warm]
            if still:
                self.warm.append(f"pair {visit.pair + 1}, {visit.side}: began on warm cards: {', '.join(still)}")


async def servers(
    named: tuple[str, str],
    load: Load,
    *,
    pairs: int,
    margin: float,
    api_key_env: str | None = None,
    save: bool = True,
    watch: bool = True,
    report: Report,
    on_visit: OnVisit,
) -> Paired:
    """Two servers that run already, each a URL or a deployment. Nothing is loaded or stopped.

    When the caller is cancelled, a server goes away or the disk is full, the pairs so far are the answer, marked
    partial. Raises what `bench.probe` raises, and HostError when the folder cannot be made.
    """
    probed: dict[SideName, Server] = {}
    sides: dict[SideName, Side] = {}
    targets = [measure.target(n, api_key_env=api_key_env) for n in named]
    for name, target in zip(SIDES, targets, strict=True):
        report(Progress(what=f"asking {name}: {target.name}"))
        probed[name] = await probe(target.url, load, api_key=target.api_key)
        conditions = measure.as_known(measure.users_conditions(probed[name], load), target)
        sides[name] = Side(name=name, label=target.name, url=str(target.url), conditions=conditions)
    turns = Turns(load=load, pairs=pairs, margin=margin, sides=sides)
    folder = measure.new_folder("pair", sides["A"].conditions) if save else None
    async with watching(measure.watched_of(targets) if watch else (), folder) as turns.watch:
        cut_short = await _take_turns(turns, probed, folder, report=report, on_visit=on_visit)
        result = turns.result(cut_short)
        # Before the hosts are let go: a second Ctrl-C may end that.
        fault = measure.finish(folder, Summary(ended_at=datetime.now(UTC), partial=cut_short, pair=result))
        return Paired(result=replace(result, partial=cut_short or fault), path=folder.path if folder else None)


async def _take_turns(
    turns: Turns, probed: dict[SideName, Server], folder: RunFolder | None, *, report: Report, on_visit: OnVisit
) -> str | None:
    """Every visit; why it ended early, None when it did not."""
    try:
        for visit in chain.from_iterable(turns.batches()):
            told = _of_visit(report, visit, turns.pairs)
            await turns.cool_down(visit, told)
            keep = _keep(folder, visit.side)
            users = await UsersBench(probed[visit.side], turns.load_of(visit), keep=keep, report=told).run()
            if users.partial:
                return f"{visit.side}: {users.partial}"
            turns.add(visit, users)
            if folder is not None:
                folder.fact("visited", _fact(visit, users))
                folder.fact("paired", {"pair": to_data(turns.result(measure.CUT_OFF))})
            on_visit(visit, users)
    except asyncio.CancelledError:
        measure.not_cancelled()
        return measure.INTERRUPTED
    except HostError as error:  # the disk is full: what is known is still the answer
        return error.message
    return None


async def layouts(
    rig: Rig,
    wanted: tuple[Wanted, Wanted],
    load: Load,
    *,
    pairs: int,
    margin: float,
    watch: bool = True,
    on_message: OnMessage,
) -> Paired:
    """Two layouts of our own rig, brought up in turns; loading is part of no figure.

    Visits that follow each other on one side share a load. When it ends early - Ctrl-C, a part that dies - the pairs
    so far are the answer, marked partial; before the first pair the error is raised. Raises what planning and a
    launch raise.
    """
    planned = await _planned(rig, wanted)
    labels = _labels(planned, wanted)
    named = {s: replace(planned[s].chosen(), name=f"{s}: {labels[s]}") for s in SIDES}
    links = {s: one.asked.link for s, one in zip(SIDES, wanted, strict=True)}
    sides = {s: Side(name=s, label=labels[s], conditions=await _conditions(planned[s], links[s], load)) for s in SIDES}
    turns = Turns(load=load, pairs=pairs, margin=margin, sides=sides)
    sessions: list[Session] = []

    async def live(session: Session) -> None:
        sessions.append(session)
        session.pair = turns.result()
        used = tuple(dict.fromkeys(host for candidate in named.values() for host in candidate.hosts))
        hosts = measure.Hosts(rig=rig, hosts=used, scan=planned["A"].scan)
        async with watching([hosts] if watch else (), session.folder) as turns.watch:
            for side, group in turns.by_side():
                session.planned, session.model = planned[side], wanted[SIDES.index(side)].model
                await session.layout(named[side], partial(_visit, session, turns, group))
                session.stages[:] = _one_per_layout(session.stages)

    both = replace(planned["A"], plan=replace(planned["A"].plan, candidates=tuple(named.values())))
    try:
        ended = await supervise(
            both, list(named.values()), live, what="pair", model=wanted[0].model, name="pair", on_message=on_message
        )
    except EvenerError as error:
        if not any(d.pairs for d in turns.result().differences):
            raise
        return Paired(result=turns.result(error.message), path=sessions[0].folder.path)
    return Paired(result=turns.result(), path=ended.run)


async def _planned(rig: Rig, wanted: tuple[Wanted, Wanted]) -> dict[SideName, Planned]:
    planned: dict[SideName, Planned] = {}
    for side, one in zip(SIDES, wanted, strict=True):
        if side == "B" and one == wanted[0]:
            planned["B"] = planned["A"]
            continue
        workload, _ = one.asked.workload()
        planned[side] = await plans.plan(
            rig, one.model, workload, layout=one.asked.layout, change=one.asked.changed, one_server=True
        )
        planned[side].require_file()
        planned[side].chosen()
    return planned


def _labels(planned: dict[SideName, Planned], wanted: tuple[Wanted, Wanted]) -> dict[SideName, str]:
    """Each side by what it does not share with the other: the model, the hosts, the cable; all where nothing does."""
    parts = [
        (planned[side].weights.name, label(planned[side].chosen()), f"over {one.asked.link}" if one.asked.link else "")
        for side, one in zip(SIDES, wanted, strict=True)
    ]
    telling = [mine != other for mine, other in zip(*parts, strict=True)]
    chosen = [[word for word, tells in zip(part, telling, strict=True) if tells] or [part[1]] for part in parts]
    return {side: ", ".join(filter(None, words)) for side, words in zip(SIDES, chosen, strict=True)}


async def _conditions(planned: Planned, link: str | None, load: Load) -> Conditions:
    """As of any deployment; of several cables only the one that was asked for."""
    paths = planned.weights.paths
    here = all(Path(path).is_file() for path in paths)
    sha256 = await models.sha256(paths, report=lambda _progress: None) if here else None
    workload, candidate = planned.plan.workload, planned.chosen()
    rig = planned.rig.record
    rig = replace(rig, links=tuple(one for one in rig.links if link in (None, one.name)))
    known = conditions_of(rig, planned.scan, planned.weights, workload, candidate, sha256=sha256)
    return replace(known, client=measure.client_of(load), sampling={"seed": load.seed, "temperature": 0})


async def _visit(session: Session, turns: Turns, visits: Sequence[Visit], up: Up) -> None:
    if turns.watch is not None:
        turns.watch.knows(up.processes)
    for visit in visits:
        await turns.cool_down(visit, _of_visit(session.report, visit, turns.pairs))
        keep = _keep(session.folder, visit.side)
        key = config.api_key(session.planned.rig.record.serve)
        told = _of_visit(session.report, visit, turns.pairs)
        users = await measure_users(up.url, turns.load_of(visit), keep=keep, report=told, api_key=key)
        turns.add(visit, users)
        session.pair = turns.result()
        session.fact("visited", _fact(visit, users))
        session.fact("paired", {"pair": to_data(turns.result(measure.CUT_OFF))})


def _one_per_layout(stages: Sequence[Stage]) -> Iterator[Stage]:
    """The latest load of each layout, unless an earlier one was not clean: that one must not be hidden."""
    by_layout: dict[str, Stage] = {}
    for stage in stages:
        known = by_layout.get(stage.layout)
        if known is None or Ended(stages=(known,), run=Path()).is_clean:
            by_layout[stage.layout] = stage
    yield from by_layout.values()


def _keep(folder: RunFolder | None, side: SideName) -> Callable[[Request], None]:
    return lambda request: folder.requests([replace(request, layout=side)]) if folder else None


def _fact(visit: Visit, users: UsersResult) -> dict[str, object]:
    return {"pair": visit.pair + 1, "side": visit.side, "seed": visit.seed, "users": to_data(users)}


def _of_visit(report: Report, visit: Visit, pairs: int) -> Report:
    where = f"pair {visit.pair + 1} of {pairs}, {visit.side}"
    return lambda progress: report(replace(progress, what=f"{where}: {progress.what}"))
