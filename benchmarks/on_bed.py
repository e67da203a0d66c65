"""A rig of three unequal processors on a test bed, for benchmarks: namespaces, real ssh, shaped cables. Needs root.

Two hosts: alpha is this machine, one thread. beta and gamma are two cards of the other: one namespace, one cable, one
address, and for each an sshd and a worker of its own, whose engine processes run a share of the time (`slowed.py`,
which says why no quota does that). Only so a processor's host has two unequal cards; to the planner they are two
hosts. The model is SmolLM2-135M in F32, half a gigabyte: a stage of a token then takes several slices of that time.
All of it goes before the machine's other work (cgroup weight), so that a neighbour disturbs less; he still shares
caches and memory.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.cluster.bed import CPU, Bed, bed, why_not  # noqa: E402
from tests.edges.sshd import Sshd, ssh_on_path  # noqa: E402

from evener.api import engines, links, models, plans, speeds  # noqa: E402 (the tests' bed is not installed)
from evener.api.rig import Rig  # noqa: E402
from evener.dialects import llama_bench, llama_flags  # noqa: E402
from evener.errors import EngineError, EvenerError  # noqa: E402
from evener.plan.chains import chains_of  # noqa: E402
from evener.plan.placing import Chain, Placed, stages  # noqa: E402
from evener.plan.question import Question  # noqa: E402
from evener.plan.runs import Load  # noqa: E402
from evener.plan.seats import Seat  # noqa: E402
from evener.plan.speed import predict  # noqa: E402
from evener.ports import Shell  # noqa: E402
from evener.records.card import Scan  # noqa: E402
from evener.records.plan import Predicted, Workload  # noqa: E402
from evener.records.weights import Weights  # noqa: E402

SHARES = {"beta": 0.5, "gamma": 0.25}  # of the time; alpha runs always
SECOND_SSH = 2222  # the port of gamma's sshd
FIRST_PORT = 24000 + os.getpid() % 300 * 10
PROMPT, OUTPUT = 64, 16
WORKLOAD = Workload(context=512, users=1, prompt_tokens=PROMPT, output_tokens=OUTPUT)
RUN_WITHIN_S = 300.0
WEIGHT = 16384  # of the processors; 1024 is everybody else's
HOST = '[[hosts]]\nname = "{name}"\naddress = "{address}"\nports = "{first}-{last}"\n{way}\n\n'
LINK = '[[links]]\nname = "wire-{name}"\nbetween = ["alpha", "{name}"]\n\n'


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens per second of one run of llama-bench."""

    decode: float
    prompt: float


Split = tuple[tuple[str, int], ...]  # (host, slots) in the order a token passes


@dataclass(frozen=True, slots=True, kw_only=True)
class OnBed:
    """A rig on its bed, and the model that it is asked about."""

    rig: Rig
    scan: Scan
    weights: Weights
    model: str
    engine: Path
    ports: Mapping[str, Sequence[int]]

    async def measured(self) -> OnBed:
        """After `scan --measure` with the model itself and `scan --links`."""
        await speeds.measure(self.rig, self.scan, [self.model], beside_others=True, report=lambda _: None)
        await links.measure(self.rig, report=lambda _: None)
        return replace(self, scan=await self.rig.scan())

    async def question(self, workload: Workload = WORKLOAD, *, offers: Mapping[str, int] | None = None) -> Question:
        """`offers` are MiB per host instead of what is really free."""
        tools = await plans.tools_of(self.rig, self.scan, self.model)
        return Question(
            rig=self.rig.record,
            scan=offering(self.scan, offers) if offers else self.scan,
            weights=self.weights,
            workload=workload,
            tools=replace(tools, ports=self.ports),
            measured={(card.host, card.card): card.speed for card in self.scan.speeds},
        )

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[None]:
        """A worker on every host, one thread each, until the block is left."""
        async with AsyncExitStack() as running:
            for host in self.rig.record.hosts:
                argv = llama_flags.worker_argv(
                    f"{self.engine}/{llama_flags.WORKER}",
                    listen=(str(host.address), self.ports[host.name][0]),
                    devices=["CPU"],
                    threads=1,
                )
                shell: Shell = self.rig.shells()[host.name]
                child = await shell.start(argv, env=dict(llama_flags.ENGINE_ENVIRONMENT))
                running.push_async_callback(child.stop)
            await asyncio.sleep(1.0)
            yield

    def argv(self, split: Split | None, *more: str) -> tuple[str, ...]:
        """llama-bench behind the workers; without a split the engine decides. `more` are further flags."""
        names = [name for name, _ in split] if split else [host.name for host in self.rig.record.hosts]
        endpoints = [f"{host.address}:{self.ports[name][0]}" for name in names if (host := self.rig.record.host(name))]
        placed: tuple[str, ...] = ()
        if split:
            devices = "/".join(f"RPC{i}" for i in range(len(names)))
            placed = ("-dev", devices, "-ts", "/".join(str(count) for _, count in split), "-sm", "layer")
        program = (f"{self.engine}/{llama_flags.BENCH}", "-m", self.model, "--rpc", ",".join(endpoints))
        sizes = ("-p", str(PROMPT), "-n", str(OUTPUT))
        return (*program, *placed, "-ngl", "999", "-fa", "on", "-t", "1", *sizes, *more)

    async def run(self, argv: Sequence[str], *, repetitions: int = 1) -> list[Rates]:
        """One load, `repetitions` measurements."""
        shell = self.rig.shells()["alpha"]
        whole = (*argv, "-r", str(repetitions), "-o", "json")
        done = await shell.run(whole, within_s=RUN_WITHIN_S, env=dict(llama_flags.ENGINE_ENVIRONMENT))
        if done.code:
            raise EngineError(f"{' '.join(whole)}: {done.stderr.strip()[-300:]}")
        rows = llama_bench.rows(done.stdout)
        decode = next(row.tokens_per_s for row in rows if row.output_tokens and not row.prompt_tokens)
        prompt = next(row.tokens_per_s for row in rows if row.prompt_tokens and not row.output_tokens)
        return [Rates(decode=d, prompt=p) for d, p in zip(decode, prompt, strict=True)]


def cluster_of(question: Question) -> Chain:
    chain = chains_of(question).cluster
    assert chain is not None, "three hosts answered"
    return chain


def as_placed(question: Question, split: Split) -> Placed:
    """A split as the planner's own record."""
    seats: dict[str, Seat] = {seat.host.name: seat for seat in cluster_of(question).seats}
    load = Load(weights=question.weights, workload=question.workload)
    return Placed(parts=tuple((seats[name], count) for name, count in split), load=load)


def predicted(question: Question, split: Split) -> Predicted:
    """What the planner would say of a split, in the middle of llama-bench's answer."""
    done = as_placed(question, split)
    return predict(
        stages(cluster_of(question), done),
        question.weights,
        question.workload,
        depth=OUTPUT // 2,
        build=done.load.build,
    )


def offering(scan: Scan, mib: Mapping[str, int]) -> Scan:
    """The scan of hosts whose one card is smaller than it is."""
    hosts = []
    for seen in scan.hosts:
        size = mib[seen.name] << 20
        cards = tuple(replace(card, offered_bytes=size, total_bytes=size) for card in seen.cards)
        hosts.append(replace(seen, cards=cards))
    return replace(scan, hosts=tuple(hosts))


@asynccontextmanager
async def on_bed(*, rate: str, keep: Path) -> AsyncIterator[OnBed]:
    """Build it all; `keep` holds the F32 model between runs."""
    folder, _ = await engines.find()
    model = await asyncio.to_thread(_f32, Path(await models.locate("demo")), folder, keep)
    with tempfile.TemporaryDirectory(prefix="evener-bed-") as scratch, _bed(Path(scratch), rate, folder) as path:
        rig = Rig.open(str(path))
        scan = await rig.scan(within_s=30)
        for seen in scan.hosts:
            if seen.engine is None:
                raise EngineError(f"{seen.name}: {seen.fault or 'no engine'}")
        ports = await rig.free_ports()
        weights = await models.weights(str(model))
        yield OnBed(rig=rig, scan=scan, weights=weights, model=str(model), engine=folder, ports=ports)


@contextmanager
def _bed(scratch: Path, rate: str, engine: Path) -> Iterator[Path]:
    """The bed with its rig file; this process' own state folder and ssh."""
    if why := why_not():
        raise SystemExit(f"no test bed: {why}")
    with (
        _first(CPU / f"ev{os.getpid()}head"),
        bed(scratch / "hosts", hosts=1, rate=rate, cpus=[2.0]) as made,
        _second_card(made) as second,
        _slowed([group / "cgroup.procs" for group in (CPU / made["beta"].namespace, second)]),
    ):
        for group in (CPU / made["beta"].namespace, second):
            (group / "cpu.shares").write_text(str(WEIGHT))
        os.environ["EVENER_STATE"] = str(scratch / "state")
        os.environ["PATH"] = f"{made.bin}:{os.environ['PATH']}"
        beta, local = made["beta"], 'connection = "local"'
        text = HOST.format(name="alpha", address=beta.near, way=local, first=FIRST_PORT, last=FIRST_PORT + 4)
        for first, name in zip((FIRST_PORT, FIRST_PORT + 5), SHARES, strict=True):
            way = f'connection = "ssh"\nssh = "{name}"\nengine = "{engine}"'
            text += HOST.format(name=name, address=beta.address, way=way, first=first, last=first + 4)
        path = scratch / "rig.toml"
        path.write_text(text + "".join(LINK.format(name=name) for name in SHARES))
        yield path


@contextmanager
def _second_card(made: Bed) -> Iterator[Path]:
    """The group of gamma's processes: what its own sshd on beta starts."""
    beta = made["beta"]
    group = CPU / f"{beta.namespace}second"
    group.mkdir()
    within = ["sh", "-c", f'echo $$ >{group}/tasks; exec "$@"', "sh", "ip", "netns", "exec", beta.namespace]
    path = f"SetEnv PATH={beta.home}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    try:
        server = Sshd(
            folder=made.folder / "gamma", name="gamma", address=beta.address, port=SECOND_SSH, within=within, more=path
        )
        ssh_on_path(made.bin, [beta.server.config, server.config])
        yield group
    finally:
        while pids := (group / "cgroup.procs").read_text().split():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
        group.rmdir()


@contextmanager
def _first(group: Path) -> Iterator[None]:
    """This process and what it starts, in a group that goes first."""
    group.mkdir()
    try:
        (group / "cpu.shares").write_text(str(WEIGHT))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (CPU / "cgroup.procs").write_text(pid)
        group.rmdir()


@contextmanager
def _slowed(groups: Sequence[Path]) -> Iterator[None]:
    """Each group of processes gets its share of the time."""
    script = str(Path(__file__).parent / "slowed.py")
    running = [
        subprocess.Popen([sys.executable, script, str(group), str(share)])
        for group, share in zip(groups, SHARES.values(), strict=True)
    ]
    try:
        yield
    finally:
        for one in running:
            one.terminate()
            one.wait()


def _f32(model: Path, engine: Path, keep: Path) -> Path:
    keep.mkdir(parents=True, exist_ok=True)
    heavy = keep / "SmolLM2-135M-Instruct.F32.gguf"
    if not heavy.is_file():
        fresh = heavy.with_suffix(".new")
        quantize = [str(engine / "llama-quantize"), "--allow-requantize", str(model), str(fresh), "F32"]
        subprocess.run(quantize, check=True, capture_output=True)
        fresh.replace(heavy)
    return heavy


def load_average() -> str:
    one, five, _ = os.getloadavg()
    return f"load average {one:.1f} (1 min), {five:.1f} (5 min) on {os.cpu_count()} cores"


def main(work: Coroutine[None, None, int]) -> int:
    """Run a benchmark; an error is one line, and the bed goes whatever ends it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return asyncio.run(work)
    except EvenerError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 3
