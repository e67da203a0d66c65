"""llama-bench in the place of a head: the candidate's own placement, behind the candidate's own workers."""

from __future__ import annotations

from evener.dialects import llama_bench
from evener.errors import EngineError
from evener.launch.bring_up import Ports, workers_up
from evener.launch.health import how
from evener.ports import Finished
from evener.records.events import Progress
from evener.records.plan import Candidate
from evener.records.speed import BenchRow


async def run_llama_bench(
    candidate: Candidate, argv: tuple[str, ...], ports: Ports, *, within_s: float
) -> tuple[BenchRow, ...]:
    """The rows of `argv`, on the head of `candidate`. Its workers live as long as it does.

    Raises what `workers_up` raises, and EngineError when llama-bench fails or says what nobody understands.
    """
    command = candidate.bench[0]
    async with workers_up(candidate, ports):
        ports.report(Progress(what=f"llama-bench on {command.host}"))
        done = await ports.shells[command.host].run(argv, within_s=within_s, env=command.env)
    if done.code != 0:
        raise EngineError(f"{command.host}: llama-bench {how(done.code)}: {_last_words(done)}")
    return llama_bench.rows(done.stdout, source=f"{command.host}: llama-bench")


def _last_words(done: Finished) -> str:
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return said[-1] if said else "it said nothing"
