"""The demonstration: a small campaign on this machine. Two loopback hosts, a real model in two quantisations."""

from __future__ import annotations

from pathlib import Path

from evener import config
from evener.api import campaign_plan, engines, models, quantising, what_if
from evener.api.campaign_plan import Prepared
from evener.api.rig import Rig, heard_on
from evener.dialects import proc_net
from evener.edges.local_shell import LocalShell
from evener.errors import EngineMissing, ModelMissing, PortTaken
from evener.plan.what_if import Asked
from evener.ports import Report
from evener.records import rig as records
from evener.records.whatif import PlanAnswer

MODEL, SECOND = "demo", "Q8_0"
LENT_BYTES = 2 << 30  # what each host may take of this machine's memory
EXAMPLE_RIG, EXAMPLE_MODEL = "examples/96gb.toml", "qwen3.6-35b-a3b:Q8_0"
CAMPAIGN = "examples/demo-campaign.toml"
WORKER_PORTS = (50152, 50159)
SERVER_PORTS = range(8180, 8200)


async def example_plan() -> PlanAnswer:
    """Two PCs with five consumer cards that nobody need own."""
    return await what_if.plan(Rig.open(EXAMPLE_RIG), EXAMPLE_MODEL, Asked(), changes={})


async def prepare(report: Report) -> None:
    """Make sure of an engine and of the model in both quantisations; minutes the first time, nothing later."""
    try:
        await engines.find()
    except EngineMissing:
        await engines.install(report=report, backend="cpu")  # the demo asks for no GPU, whatever this host has
    try:
        await models.locate(MODEL)
    except ModelMissing:
        await models.fetch(MODEL, report=report)
    await quantising.quantise(MODEL, SECOND, report=report)


async def demo_rig() -> Rig:
    """Two hosts, alpha and beta, on two loopback addresses of this machine; no root, no GPU.

    Each lends `LENT_BYTES` beyond what is in use now, however much that is.
    """
    here = (await Rig(config.this_machine()).scan()).hosts[0]
    used = (here.memory_total_bytes or 0) - (here.memory_available_bytes or 0)
    hosts = (("alpha", "127.0.0.1"), ("beta", "127.0.0.2"))
    return Rig(
        records.Rig(
            hosts=tuple(_host(name, address, used + LENT_BYTES) for name, address in hosts),
            links=(records.Link(name="loopback", between=("alpha", "beta")),),
            serve=records.Serve(host="127.0.0.1", port=await _free_server_port()),
            path="the demo's own rig",
        )
    )


def _host(name: str, address: str, capacity_bytes: int) -> records.Host:
    rules = records.CardRules(include=("cpu",), capacity_bytes=(("cpu", capacity_bytes),))
    return records.Host(name=name, connection="local", address=address, ports=WORKER_PORTS, cards=rules)


async def _free_server_port() -> int:
    heard = await heard_on(LocalShell("alpha"))
    for port in SERVER_PORTS:
        if not proc_net.is_taken(heard, "127.0.0.1", port):
            return port
    raise PortTaken(f"127.0.0.1: ports {SERVER_PORTS[0]} to {SERVER_PORTS[-1]} are all taken", hint="free one of them")


async def planned(rig: Rig, *, report: Report) -> Prepared:
    """Every step of the demo's campaign, on its own rig."""
    return await campaign_plan.prepare(campaign_plan.read(Path(CAMPAIGN)), report=report, rig=rig)
