"""Measure cards with llama-bench, one after another. Knows how to ask; what the rows mean is for the planner to say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from evener.dialects import llama_bench
from evener.errors import EngineError, HostError
from evener.ports import Finished, Report, Shell
from evener.records.card import Card, Scan
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.speed import BenchRow
from evener.scan.ask import ENGINE_NAMES

WITHIN_S = 180.0  # a model that takes longer is too large for this purpose
REPETITIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One card to measure: `models` are paths on its host, `device` is the engine's name there."""

    host: str
    card: str
    device: str
    binary: str
    models: tuple[str, ...]
    threads: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.host}/{self.device}"

    @property
    def tokens(self) -> tuple[int, int]:
        """(prompt, output): a processor's rate shows in fewer than a graphics card's, and takes longer."""
        return (128, 32) if self.device == "CPU" else (512, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one card said: rows, or why there are none."""

    task: Task
    rows: tuple[BenchRow, ...] = ()
    fault: str | None = None


async def measure(
    tasks: Sequence[Task], shells: Mapping[str, Shell], *, report: Report
) -> AsyncGenerator[Answer, None]:
    """Each task's answer as it comes. Together they would measure each other, so they go one by one.

    A card that cannot be measured has a fault, and the next one follows.
    """
    runs = sum(len(task.models) for task in tasks)
    done = 0
    for task in tasks:
        rows: list[BenchRow] = []
        fault = None
        for model in task.models:
            report(Progress(what="measuring cards", done=done, of=runs, detail=task.name))
            try:
                rows += await _rows(task, model, shells[task.host])
            except (EngineError, HostError) as error:
                fault = error.message
                break
            done += 1
        yield Answer(task=task, rows=() if fault else tuple(rows), fault=fault)
    report(Progress(what="measuring cards", done=runs, of=runs))


async def _rows(task: Task, model: str, shell: Shell) -> tuple[BenchRow, ...]:
    prompt, output = task.tokens
    argv = llama_bench.measure_argv(
        task.binary,
        model,
        device=task.device,
        threads=task.threads,
        prompt=prompt,
        output=output,
        repetitions=REPETITIONS,
    )
    done = await shell.run(argv, within_s=WITHIN_S, env=task.env)
    if done.code != 0:
        raise EngineError(f"{task.name}: llama-bench: {_last_words(done)}")
    return llama_bench.rows(done.stdout, source=f"{task.name}: llama-bench")


def _last_words(done: Finished) -> str:
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return said[-1] if said else f"exit code {done.code}"


def taken(scan: Scan, deployments: Sequence[Deployment]) -> tuple[str, ...]:
    """Who is at work on the cards that would be measured, a line each. Nobody is stopped: both would be slower."""
    lines = [
        f"{host}: deployment {deployment.name} runs there"
        for deployment in deployments
        for host in deployment.candidate.hosts
        if scan.host(host)
    ]
    for seen in scan.hosts:
        for card in seen.cards:
            lines += [f"{seen.name}/{card.device or card.id}: {who}" for who in _at_work(card)]
    return tuple(lines)


def _at_work(card: Card) -> list[str]:
    """Whoever computes there, as far as it is known; in main memory that is engines, not every large program."""
    if card.excluded:
        return []
    return [
        f"{holder.command or 'somebody'} (pid {holder.pid})"
        for holder in card.holders or ()
        if holder.kind != "unattributed" and (card.kind != "cpu" or _is_engine(holder.command))
    ]


def _is_engine(command: str | None) -> bool:
    program = (command or "").partition(" ")[0].rsplit("/", 1)[-1]
    return program.startswith(ENGINE_NAMES)
