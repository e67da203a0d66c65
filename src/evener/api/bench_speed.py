"""`evener bench speed`: llama-bench's tests through a server, and on request llama-bench itself on the same plan."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evener import __version__
from evener.api import borrowing, measure
from evener.api.bench_eyes import EYES, Eyes, Watching, as_conditions, into
from evener.bench.probe import Server, probe
from evener.bench.sizes import Sizes
from evener.bench.speed import SpeedBench, require_room
from evener.bench.speed_rows import beside, gaps
from evener.codec import to_data
from evener.dialects.llama_bench import sized_argv
from evener.edges.run_folder import RunFolder
from evener.errors import EngineMissing, EvenerError
from evener.launch.bring_up import Ports
from evener.launch.llama_bench import run_llama_bench
from evener.ports import Report
from evener.records.conditions import Conditions
from evener.records.deployment import Deployment
from evener.records.events import Progress
from evener.records.run import Stage, Summary
from evener.records.speed import BenchRow
from evener.records.speed_rows import SpeedResult, SpeedRow
from evener.records.telemetry import Telemetry

__all__ = ["Eyes", "Measured", "Sizes", "require_ours", "speed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The answer, what it holds for, and the run folder (None when nothing was to be saved)."""

    result: SpeedResult
    conditions: Conditions
    path: Path | None
    telemetry: Telemetry | None = None  # of the hosts, while it was measured through the server


def require_ours(named: str | None) -> Deployment:
    """The deployment whose server would be stopped for llama-bench. Raises ConfigurationError where there is none."""
    return borrowing.require_ours(measure.target(named).ours, "--with-llama-bench")


async def speed(
    named: str | None,
    sizes: Sizes,
    *,
    llama_bench: bool = False,
    api_key_env: str | None = None,
    save: bool = True,
    eyes: Eyes = EYES,
    report: Report,
    base: Path | None = None,
) -> Measured:
    """Measure `named` (a URL or a deployment) into a new run folder under `base`.

    With `llama_bench` the deployment's server leaves its machines afterwards, llama-bench runs on the same plan behind
    the same workers, and the server comes back, whatever happens. When the caller is cancelled (Ctrl-C), what was
    measured is saved and returned, with `result.partial` = "interrupted". Raises what `bench.probe` raises,
    ConfigurationError for what cannot be measured there, and HostError when the folder cannot be written.
    """
    target = measure.target(named, api_key_env=api_key_env)
    ours = borrowing.require_ours(target.ours, "--with-llama-bench") if llama_bench else target.ours
    report(Progress(what="asking the server"))
    server = await probe(target.url, sizes.load(), api_key=target.api_key)
    require_room(sizes.tests(), server)
    report(Progress(what="asking the server", done=1, of=1))
    seen = conditions_seen(server, sizes)
    conditions = replace(measure.as_known(seen, target), ambient_c=eyes.ambient_c)
    watching = Watching(target, eyes, report=report)
    await watching.check_client(1)
    folder = measure.new_folder("speed", conditions, base=base) if save else None
    layout = target.ours.candidate.name if target.ours else str(target.url)
    measure.begin_layout(folder, layout)

    def row_done(row: SpeedRow) -> None:
        if folder is not None:
            folder.fact("row", {"speed": to_data(row)})
        measure.so_far(folder, layout, speed=bench.result(measure.CUT_OFF))

    bench = SpeedBench(
        server,
        sizes,
        keep=lambda request: folder.requests([request]) if folder else None,
        report=report,
        on_row=row_done,
    )
    async with watching.watching(into(folder)):
        result = watching.checked(await _or_partial(bench.run(), bench.result))
        told = watching.told()
    if ours is not None:
        result = replace(result, label=ours.candidate.name)
        if llama_bench and result.partial is None:
            result = await _with_llama_bench(result, ours, sizes, folder, report)
    if folder is not None:
        stage = Stage(layout=layout, speed=result, telemetry=told)
        folder.finish(Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=result.partial))
    return Measured(
        result=result,
        conditions=as_conditions(conditions, told),
        path=folder.path if folder else None,
        telemetry=told,
    )


def conditions_seen(server: Server, sizes: Sizes) -> Conditions:
    """What is known about a server from outside. A deployment of ours knows more."""
    seen = measure.users_conditions(server, sizes.load())
    lengths = ("max_tokens", "max_completion_tokens")
    return replace(
        seen,
        users=1,
        sampling={name: value for name, value in seen.sampling.items() if name not in lengths},
        client=f"evener {__version__}, one sequence at a time",
    )


async def _or_partial(work: Awaitable[SpeedResult], so_far: Callable[[str | None], SpeedResult]) -> SpeedResult:
    """The result, or what there is of it when we are cancelled or the deployment is in the way."""
    try:
        return await work
    except asyncio.CancelledError:
        measure.not_cancelled()
        return so_far(measure.INTERRUPTED)


async def _with_llama_bench(
    result: SpeedResult, ours: Deployment, sizes: Sizes, folder: RunFolder | None, report: Report
) -> SpeedResult:
    """The rows with llama-bench's figures beside them; without them, and why, when it could not be run."""
    argv = sized_argv(
        ours.candidate.bench[0].argv,
        prompts=[n for n in sizes.prompts if n],
        outputs=[n for n in sizes.outputs if n],
        pairs=[pair for pair in sizes.pairs if all(pair)],
        depths=sizes.depths,
        repetitions=sizes.repetitions,
    )
    extra = borrowing.extra_flags(ours)
    without = (f"llama-bench ran without the server's own flags: {' '.join(extra)}",) if extra else ()
    asked = replace(result, llama_bench_argv=argv, notes=(*result.notes, *without))

    async def compared() -> SpeedResult:
        rows = beside(result.rows, await _llama_bench(ours, argv, sizes, folder, report))
        return replace(asked, rows=rows, gaps=gaps(rows, through_template=False))

    try:
        return await _or_partial(compared(), lambda why: replace(asked, partial=why))
    except EvenerError as error:
        return replace(asked, partial=f"llama-bench: {error.message}")


async def _llama_bench(
    ours: Deployment, argv: tuple[str, ...], sizes: Sizes, folder: RunFolder | None, report: Report
) -> tuple[BenchRow, ...]:
    world = borrowing.world_beside(ours, folder=folder, report=report)
    head = ours.candidate.bench[0].host
    if await world.shells[head].which(argv[0]) is None:
        raise EngineMissing(f"{head} has no {argv[0]}", hint="evener engine install builds it beside llama-server")
    ports = Ports(
        shells=world.shells,
        rpc=world.rpc,
        http=world.http,
        open_log=world.open_log,
        report=report,
        doors=world.doors,
    )
    async with borrowing.borrowed(ours, report=report):
        within_s = sizes.timeout_s * len(sizes.tests())
        return await run_llama_bench(ours.candidate, argv, ports, within_s=within_s)
