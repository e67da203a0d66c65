"""Hand-built runs: a complete demo, one that was cut short, one where everything went wrong, one where nobody knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.records.card import Card, Holder, HostSeen, Scan
from evener.records.conditions import Conditions
from evener.records.events import Fact
from evener.records.load import ClientCost, Counts, Level, Request, Spread, UsersResult
from evener.records.plan import Candidate, Command, DevicePlan, ModelSummary, Plan, Verdict, Workload
from evener.records.rig import Host, Link, Rig
from evener.records.run import Run, Stage, Summary
from evener.records.verification import CardCheck, FreedCheck

MIB = 1 << 20
STARTED = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
ENDED = datetime(2026, 11, 1, 12, 31, 40, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>[red]$x_1$"


def spread(
    p50: float | None, interval: tuple[float, float] | None, n: int, unit: str, p90: float | None = None
) -> Spread:
    return Spread(n=n, mean=p50, p50=p50, p90=p90, interval=interval, unit=unit)


def level(
    users: int,
    *,
    each: float | None,
    interval: tuple[float, float] | None,
    total: float | None,
    n: int = 20,
    ttft: float | None = 120.0,
    errored: dict[str, int] | None = None,
) -> Level:
    errored = errored or {}
    return Level(
        users=users,
        requests=Counts(completed=n, errored=sum(errored.values()), invalid=0, by_class=errored),
        ttft_ms=spread(ttft, (ttft * 0.9, ttft * 1.1) if ttft and interval else None, n, "ms"),
        tpot_ms=spread(1000 / each if each else None, None, n, "ms"),
        itl_ms=spread(1000 / each if each else None, None, n, "ms"),
        per_user_tokens_per_s=spread(each, interval, n, "tok/s"),
        total_tokens_per_s=total,
        prefill_tokens_per_s=None,
        duration_s=12.0,
        degradation=None if each is None or users == 1 else each / 61.0,
    )


def users_result(*levels: Level, validity: str = "valid") -> UsersResult:
    return UsersResult(
        url="http://127.0.0.1:8080",
        model="smollm2",
        prompt_tokens_asked=128,
        output_tokens_asked=32,
        levels=levels,
        client=ClientCost(cpu_s=0.4, added_ttft_ms=0.6, saturated=False),
        validity=validity,
    )


def device(host: str, name: str, position: int, layers: int, weights_mib: int) -> DevicePlan:
    weights, kv, compute = weights_mib * MIB, layers * 3 * MIB, 12 * MIB
    return DevicePlan(
        host=host,
        card="cpu",
        card_name="AMD Ryzen 7 7700",
        device=name,
        position=position,
        layers=layers,
        weights_bytes=weights,
        kv_bytes=kv,
        compute_bytes=compute,
        overhead_bytes=0,
        total_bytes=weights + kv + compute,
        free_bytes=20_000 * MIB,
    )


def worker(host: str, port: int) -> Command:
    return Command(
        host=host,
        argv=("/opt/llama/ggml-rpc-server", "-H", "127.0.0.1", "-p", str(port), "-d", "CPU"),
        env={"GGML_NO_BACKTRACE": "1"},
        listen=f"127.0.0.1:{port}",
    )


def server(*endpoints: str, split: str) -> Command:
    devices = ",".join(f"RPC{i}" for i in range(len(endpoints)))
    return Command(
        host="alpha",
        argv=(
            "/opt/llama/llama-server", "-m", "/models/my model.gguf", "--rpc", ",".join(endpoints), "--device", devices,
            "-ts", split, "-ngl", "999", "-fit", "off", "-np", "4", "-c", "16384",
        ),
        env={"GGML_NO_BACKTRACE": "1", "LLAMA_API_KEY": "sesame"},
        listen="127.0.0.1:8080",
    )  # fmt: skip


ALPHA = Candidate(
    name="alpha",
    kind="host",
    hosts=("alpha",),
    fits=True,
    short_bytes=0,
    devices=(device("alpha", "RPC0", 0, 31, 130),),
    host_bytes={"alpha": 30 * MIB},
    servers=(server("127.0.0.1:50052", split="31"),),
    workers=(worker("alpha", 50052),),
)
CLUSTER = Candidate(
    name="cluster",
    kind="cluster",
    hosts=("alpha", "beta"),
    fits=True,
    short_bytes=0,
    devices=(device("alpha", "RPC0", 0, 16, 60), device("beta", "RPC1", 1, 15, 70)),
    host_bytes={"alpha": 30 * MIB},
    servers=(server("127.0.0.1:50052", "127.0.0.1:50060", split="16,15"),),
    workers=(worker("alpha", 50052), worker("beta", 50060)),
)
MODEL = ModelSummary(
    name="SmolLM2-135M-Instruct",
    architecture="llama",
    quantisation="Q4_1",
    file_bytes=98 * MIB,
    layers=30,
    parameters=134_515_008,
    active_parameters=None,
    context_train=8192,
)
PLAN = Plan(
    model=MODEL,
    workload=Workload(context=4096, users=4),
    verdict=Verdict(
        choice="cluster", kind="cluster", sentence="alpha alone would do: cluster is measured because it was asked for"
    ),
    candidates=(ALPHA, CLUSTER),
)
CONDITIONS = Conditions(
    model_bytes=98 * MIB,
    quantisation="Q4_1",
    context=4096,
    users=4,
    kv_type_k="f16",
    kv_type_v="f16",
    engine_builds={"alpha": "b11434 protocol 7.0.0", "beta": "b11434 protocol 7.0.0"},
    device_order=("alpha/AMD Ryzen 7 7700", "beta/AMD Ryzen 7 7700"),
    layers_per_device=(16, 15),
    link="loopback",
    held_before={"alpha/cpu": 512 * MIB},
)


def cpu(name: str = "AMD Ryzen 7 7700") -> Card:
    return Card(id="cpu", kind="cpu", name=name, total_bytes=24_576 * MIB)


def seen(name: str, *cards: Card, machine: str | None) -> HostSeen:
    return HostSeen(name=name, connection="local", machine_id=machine, cards=cards or (cpu(),))


RIG = Rig(
    hosts=(
        Host(name="alpha", connection="local", address="127.0.0.1"),
        Host(name="beta", connection="local", address="127.0.0.1", ports=(50060, 50067)),
    ),
    links=(Link(name="loopback", between=("alpha", "beta"), gbit_per_s=40, rtt_us=50),),
)
SCAN = Scan(taken_at=STARTED, hosts=(seen("alpha", machine="m1"), seen("beta", machine="m1")), devices=())


def check(planned: DevicePlan, measured_mib: int | None, verdict: str = "as planned", **more: object) -> CardCheck:
    record = CardCheck(
        host=planned.host,
        card=planned.card,
        card_name=planned.card_name,
        device=planned.device,
        layers_planned=planned.layers,
        layers_seen=planned.layers,
        planned_bytes=planned.total_bytes,
        reported_bytes=planned.total_bytes - MIB,
        measured_bytes=None if measured_mib is None else measured_mib * MIB,
        floor_bytes=planned.weights_bytes,
        ceiling_bytes=planned.total_bytes + 16 * MIB,
        verdict=verdict,  # type: ignore[arg-type]
    )
    return replace(record, **more)  # type: ignore[arg-type]


def freed(
    host: str, before: int | None, during: int | None, after: int | None, verdict: str = "freed", **more: object
) -> FreedCheck:
    def mib(n: int | None) -> int | None:
        return None if n is None else n * MIB

    record = FreedCheck(
        host=host,
        card="cpu",
        card_name="AMD Ryzen 7 7700",
        before_bytes=mib(before),
        during_bytes=mib(during),
        after_bytes=mib(after),
        tolerance_bytes=16 * MIB,
        verdict=verdict,  # type: ignore[arg-type]
    )
    return replace(record, **more)  # type: ignore[arg-type]


ALONE_STAGE = Stage(
    layout="alpha",
    load_s=1.9,
    checks=(check(ALPHA.devices[0], 214),),
    users=users_result(
        level(1, each=61.0, interval=(60.0, 62.0), total=58.0),
        level(2, each=41.0, interval=(40.0, 42.0), total=78.0),
        level(4, each=25.0, interval=(24.0, 26.0), total=94.0, ttft=260.0),
    ),
    freed=(freed("alpha", 0, 214, 0),),
)
CLUSTER_STAGE = Stage(
    layout="cluster",
    load_s=2.6,
    checks=(check(CLUSTER.devices[0], 112), check(CLUSTER.devices[1], 121)),
    users=users_result(
        level(1, each=34.0, interval=(33.0, 35.0), total=32.0, ttft=190.0),
        level(2, each=25.0, interval=(24.0, 26.5), total=47.0, ttft=300.0),
        level(4, each=16.0, interval=(15.0, 17.0), total=60.0, ttft=520.0),
    ),
    freed=(freed("alpha", 0, 112, 0), freed("beta", 0, 121, 0)),
)


def run(**more: object) -> Run:
    record = Run(
        id="20261101T123000Z-demo-7f3a",
        what="demo",
        started_at=STARTED,
        conditions=CONDITIONS,
        plan=PLAN,
        rig=RIG,
        scan=SCAN,
    )
    return replace(record, **more)  # type: ignore[arg-type]


def summary(*stages: Stage, partial: str | None = None) -> Summary:
    return Summary(ended_at=ENDED, stages=stages, partial=partial)


FACTS = (
    Fact(sequence=1, at=STARTED, kind="scanned", data={"hosts": ["alpha", "beta"]}),
    Fact(sequence=2, at=STARTED, kind="started", data={"host": "beta", "pid": 4711, "log": None}),
)

DEMO = summary(ALONE_STAGE, CLUSTER_STAGE)
PARTIAL = summary(ALONE_STAGE, partial="interrupted while measuring cluster")
FAILED = summary(
    replace(
        CLUSTER_STAGE,
        load_s=None,
        checks=(
            check(CLUSTER.devices[0], 300, "over"),
            check(CLUSTER.devices[1], None, "missing", layers_seen=0, why="the engine did not list it"),
        ),
        users=users_result(
            level(1, each=34.0, interval=(33.0, 35.0), total=32.0),
            replace(
                level(4, each=16.0, interval=(15.0, 17.0), total=30.0, errored={"timeout": 2, "connection_cut": 1}),
                note="total falls: 30.0 tok/s, 32.0 with 1",
            ),
            validity="the client was saturated",
        ),
        freed=(
            freed("alpha", 0, 112, 9, "freed, drifted"),
            freed(
                "beta", 0, 121, 121, "held",
                holders=(Holder(kind="process", bytes=121 * MIB, pid=4711, user="me", command="ggml-rpc-server"),),
            ),
        ),
    )
)  # fmt: skip
UNKNOWN = summary(
    Stage(
        layout="cluster",
        checks=(
            check(CLUSTER.devices[0], None, "unknown", layers_seen=None, reported_bytes=None, why="no driver to ask"),
            check(CLUSTER.devices[1], None, "unknown", layers_seen=None, reported_bytes=None),
        ),
        users=users_result(level(1, each=None, interval=None, total=None, n=0, ttft=None)),
        freed=(freed("alpha", None, None, None, "unknown"), freed("beta", None, 121, None, "unknown")),
    )
)


def request(n: int, **more: object) -> Request:
    record = Request(id=n, users=1, user=0, sent_s=float(n), ttft_s=0.1, end_s=1.0, tokens=32, cached_tokens=0)
    return replace(record, **more)  # type: ignore[arg-type]


def hostile_run() -> Run:
    """Every name a stranger can choose is markup."""
    devices = tuple(replace(d, card_name=HOSTILE, device=HOSTILE) for d in CLUSTER.devices)
    command = replace(CLUSTER.servers[0], argv=(HOSTILE, f'"{HOSTILE}"'))
    candidate = replace(
        CLUSTER, name=HOSTILE, hosts=("alpha", HOSTILE), devices=(devices[0], replace(devices[1], host=HOSTILE)),
        servers=(command,),
    )  # fmt: skip
    plan = replace(PLAN, model=replace(MODEL, name=HOSTILE), candidates=(ALPHA, candidate))
    rig = replace(
        RIG,
        hosts=(RIG.hosts[0], replace(RIG.hosts[1], name=HOSTILE)),
        links=(replace(RIG.links[0], name=HOSTILE, between=("alpha", HOSTILE)),),
    )
    scan = replace(SCAN, hosts=(SCAN.hosts[0], seen(HOSTILE, cpu(HOSTILE), machine="m1")))
    return run(what=HOSTILE, plan=plan, rig=rig, scan=scan, conditions=replace(CONDITIONS, link=HOSTILE))


def hostile_summary() -> Summary:
    planned = replace(CLUSTER.devices[1], host=HOSTILE, card_name=HOSTILE, device=HOSTILE)
    stage = replace(
        CLUSTER_STAGE,
        layout=HOSTILE,
        checks=(check(planned, 400, "over", why=HOSTILE),),
        freed=(
            freed(
                HOSTILE, 0, 121, 121, "held", card_name=HOSTILE, why=HOSTILE,
                holders=(Holder(kind="process", bytes=None, command=HOSTILE, user=HOSTILE),),
            ),
        ),
    )  # fmt: skip
    return summary(ALONE_STAGE, stage, partial=HOSTILE)
