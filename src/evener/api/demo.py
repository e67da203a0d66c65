"""The demonstration: two loopback hosts on this machine, a small real model, one host against two, a report."""

from __future__ import annotations

from functools import partial

from evener.api import engines, models, plans, what_if
from evener.api.plans import Planned
from evener.api.rig import Rig, heard_on
from evener.api.session import Ended, OnMessage, Session, supervise
from evener.bench.load import Load
from evener.dialects import proc_net
from evener.edges.local_shell import LocalShell
from evener.errors import EngineMissing, ModelMissing, PortTaken
from evener.plan.what_if import Asked
from evener.ports import Report
from evener.records import rig as records
from evener.records.plan import Workload
from evener.records.whatif import PlanAnswer

MODEL = "demo"
CAPACITY_BYTES = 2 << 30  # what each host may use of this machine's memory
EXAMPLE_RIG, EXAMPLE_MODEL = "examples/96gb.toml", "qwen3.6-35b-a3b:Q8_0"
WORKER_PORTS = (50152, 50159)
SERVER_PORTS = range(8180, 8200)
WORKLOAD = Workload(context=2048, users=4)
LOAD = Load(users=(1, 2, 4), prompts=16, prompt_tokens=64)  # 16: an interval narrow enough for a verdict


async def example_plan() -> PlanAnswer:
    """Two PCs with five consumer cards that nobody need own."""
    return await what_if.plan(Rig.open(EXAMPLE_RIG), EXAMPLE_MODEL, Asked(), changes={})


async def prepare(report: Report) -> None:
    """Make sure of an engine and the model; minutes the first time, nothing later."""
    try:
        await engines.find()
    except EngineMissing:
        await engines.install(report=report, backend="cpu")  # the demo asks for no GPU, whatever this host has
    try:
        await models.locate(MODEL)
    except ModelMissing:
        await models.fetch(MODEL, report=report)


async def demo_rig() -> Rig:
    """Two hosts, alpha and beta, on two loopback addresses of this machine; no root, no GPU."""
    return Rig(
        records.Rig(
            hosts=tuple(_host(name, address) for name, address in (("alpha", "127.0.0.1"), ("beta", "127.0.0.2"))),
            links=(records.Link(name="loopback", between=("alpha", "beta")),),
            serve=records.Serve(host="127.0.0.1", port=await _free_server_port()),
            path="the demo's own rig",
        )
    )


def _host(name: str, address: str) -> records.Host:
    rules = records.CardRules(include=("cpu",), capacity_bytes=(("cpu", CAPACITY_BYTES),))
    return records.Host(name=name, connection="local", address=address, ports=WORKER_PORTS, cards=rules)


async def _free_server_port() -> int:
    heard = await heard_on(LocalShell("alpha"))
    for port in SERVER_PORTS:
        if not proc_net.is_taken(heard, "127.0.0.1", port):
            return port
    raise PortTaken(f"127.0.0.1: ports {SERVER_PORTS[0]} to {SERVER_PORTS[-1]} are all taken", hint="free one of them")


async def plan(rig: Rig) -> Planned:
    """The cluster, asked for though one host would do: that is the point of the comparison."""
    return await plans.plan(rig, MODEL, WORKLOAD, layout="cluster", one_server=True)


async def run(planned: Planned, *, load: Load = LOAD, on_message: OnMessage) -> Ended:
    """One host, then both, each from load to freed memory, measured with the same users."""
    alone, cluster = planned.alone(), planned.chosen()
    layouts = [alone, cluster] if alone else [cluster]

    async def live(session: Session) -> None:
        for candidate in layouts:
            await session.layout(candidate, partial(session.measured, load=load, layout=candidate.name))

    return await supervise(planned, layouts, live, what="demo", model=MODEL, name="demo", on_message=on_message)
