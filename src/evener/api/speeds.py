"""Measure the rig's cards, one after another, and keep what was measured. It stops nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

from evener.api import models
from evener.api.rig import Rig
from evener.dialects import llama_flags
from evener.edges import locks, measured
from evener.errors import ConfigurationError, HostBusy, HostError, ModelMissing
from evener.plan import cards as catalogue
from evener.plan.seats import cpu_threads
from evener.plan.speed_devices import catalogue_speed
from evener.plan.speed_measured import device_speed_of
from evener.ports import Report
from evener.records.card import Card, HostSeen, Scan
from evener.records.speed import CardMeasured, DeviceSpeed
from evener.records.weights import Weights
from evener.scan import speeds
from evener.state import state_folder

OWNER = "evener scan --measure"
DEMO = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured, and why the rest was not, a line each."""

    cards: tuple[CardMeasured, ...]
    faults: tuple[str, ...]


def taken(rig: Rig, scan: Scan) -> tuple[str, ...]:
    """Who is at work on the rig's cards, a line each: measured beside them, both would be slower."""
    return speeds.taken(scan, rig.deployments())


async def measure(
    rig: Rig, scan: Scan, names: Sequence[str], *, beside_others: bool = False, report: Report
) -> Measured:
    """Run llama-bench on every card of `scan` with the models of `names`, `demo` where there is none.

    Two models of different size tell a card's fixed costs apart; a model must be on the host of the card. What was
    measured is kept at once, card by card. Raises HostBusy where somebody is at work, unless `beside_others`;
    ModelMissing for a model that is not here; HostError when nothing at all could be measured.
    """
    if not beside_others and (others := taken(rig, scan)):
        raise HostBusy(
            f"cards are in use: {others[0]}", hint="evener scan --measure --yes measures beside it; nothing is stopped"
        )
    wanted = list(dict.fromkeys(names or [DEMO]))
    weights = {Path(w.paths[0]).name: w for w in [await _weights(name) for name in wanted]}
    if len(weights) < len(wanted):
        raise ConfigurationError("two of these models have the same file name", hint="measure with one of them")
    tasks, faults = await _tasks(rig, scan, wanted)
    kept: list[CardMeasured] = []
    with ExitStack() as held:
        for machine, host in _machines(scan, tasks).items():
            _hold(held, machine, host, beside_others=beside_others)
        async with aclosing(speeds.measure(tasks, rig.shells(), report=report)) as answers:
            async for answer in answers:
                one = _kept(answer, scan, weights)
                if one is None:
                    faults.append(f"{answer.task.name}: {answer.fault or 'too fast for so small a model'}")
                else:
                    measured.save_card(one)
                    kept.append(one)
    if not kept:
        why = faults[0] if faults else "no card takes part"
        raise HostError(f"nothing could be measured: {why}", hint="evener scan shows what each host has")
    return Measured(cards=tuple(kept), faults=tuple(faults))


async def _weights(name: str) -> Weights:
    found = await models.weights(name)
    if found.origin != "file":
        raise ModelMissing(f"{name}: only its header is known", hint="evener models fetch brings the model here")
    return found


async def _tasks(rig: Rig, scan: Scan, names: Sequence[str]) -> tuple[list[speeds.Task], list[str]]:
    """A task for each card that can be measured, and a line for each host that cannot."""
    tasks: list[speeds.Task] = []
    faults: list[str] = []
    for seen in scan.hosts:
        if seen.connection == "stated":
            continue
        try:
            tasks += await _tasks_on(rig, scan, seen, names)
        except HostError as error:
            faults.append(error.message)
    return tasks, faults


async def _tasks_on(rig: Rig, scan: Scan, seen: HostSeen, names: Sequence[str]) -> list[speeds.Task]:
    """Raises HostError, in one line, for a host where nothing can be measured."""
    host, shell = rig.record.host(seen.name), rig.shells().get(seen.name)
    assert host is not None, "the scan is of this rig"
    if shell is None:
        raise HostError(f"{seen.name}: somebody else's worker; llama-bench must run on its own host")
    if seen.engine is None:
        raise HostError(f"{seen.name}: {seen.fault or 'no engine there'}")
    paths = []
    for name in names:
        if (path := await models.where(name, host, shell)) is None:
            raise HostError(f"{seen.name} has no copy of {name}; evener models push {name} {seen.name} brings it there")
        paths.append(path)
    return [_task(card, seen, scan, tuple(paths), seen.engine.folder) for card in _cards(seen)]


def _cards(seen: HostSeen) -> Iterator[Card]:
    """Every card that a plan may use; a processor's own graphics only where there is no other."""
    usable = [card for card in seen.cards if card.device and not card.excluded]
    others = any(card.kind != "cpu" and not card.integrated for card in usable)
    return (card for card in usable if not (card.integrated and others))


def _task(card: Card, seen: HostSeen, scan: Scan, paths: tuple[str, ...], engine: str) -> speeds.Task:
    cuda = dict(llama_flags.CUDA_ENVIRONMENT) if card.kind == "cuda" else {}
    return speeds.Task(
        host=seen.name,
        card=card.id,
        device=card.device or "CPU",
        binary=f"{engine}/{llama_flags.BENCH}",
        models=paths,
        threads=cpu_threads(seen, scan) if card.kind == "cpu" else None,
        env=dict(llama_flags.ENGINE_ENVIRONMENT) | cuda,
    )


def _machines(scan: Scan, tasks: Sequence[speeds.Task]) -> dict[str, str]:
    """The machines that are measured, by the keys that deployments hold, each with its first host's name."""
    machines: dict[str, str] = {}
    for task in tasks:
        seen = scan.host(task.host)
        machines.setdefault(f"machine-{(seen and seen.machine_id) or task.host}", task.host)
    return machines


def _hold(held: ExitStack, machine: str, host: str, *, beside_others: bool) -> None:
    """Keep deployments away meanwhile. One that is there already was agreed to."""
    try:
        held.enter_context(locks.hold(state_folder() / "locks", machine, what=host, owner=OWNER))
    except HostBusy:
        if not beside_others:
            raise


def _kept(answer: speeds.Answer, scan: Scan, weights: Mapping[str, Weights]) -> CardMeasured | None:
    """None where the rows say nothing."""
    task, seen = answer.task, scan.host(answer.task.host)
    card = seen.card(task.card) if seen else None
    if seen is None or card is None or not answer.rows:
        return None
    speed = device_speed_of(answer.rows, weights, fixed=_fixed(card))
    if speed is None:
        return None
    return CardMeasured(
        host=task.host,
        card=task.card,
        card_name=card.name,
        machine_id=seen.machine_id,
        threads=task.threads,
        build=answer.rows[-1].build,
        speed=speed,
        rows=answer.rows,
    )


def _fixed(card: Card) -> DeviceSpeed | None:
    known = catalogue.find(card.name, memory_bytes=card.total_bytes)
    return catalogue_speed(known) if known else None
