"""A plan that the engine did not follow is a failure, never a silent shrink. On the real engine."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evener.edges.http import AioHttp
from evener.edges.local_shell import LocalShell
from evener.edges.rpc_probe import RpcProbe
from evener.errors import DeviceMissing
from evener.journeys.deploy import Life, World, deployed
from evener.models.parts import open_model
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.records.plan import Workload
from evener.records.rig import Rig, Serve
from evener.scan.take import Door, take
from tests.rigs import rig

pytestmark = pytest.mark.engine


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Loopback:
    """Two hosts on this machine, without a run folder: facts and states are kept in lists."""

    def __init__(self, engine, logs):
        self.rig: Rig = replace(rig("alpha", "beta"), serve=Serve(port=free_port()))
        self.engines = {"alpha": str(engine), "beta": str(engine)}
        self.shells = {name: LocalShell(name) for name in ("alpha", "beta")}
        self.logs, self.facts, self.states = logs, [], []

    async def scan(self):
        doors = {name: Door(shell=shell) for name, shell in self.shells.items()}
        return await take(self.rig, doors, now=datetime.now(UTC))

    def world(self):
        return World(
            shells=self.shells, rpc=RpcProbe(), http=AioHttp(), scan=self.scan,
            open_log=lambda host, name: (self.logs / f"{host}-{name}").open("w"),
            fact=lambda kind, data: self.facts.append((kind, data)), report=lambda _progress: None,
        )  # fmt: skip

    async def cluster(self, model):
        tools = Tools(engines=self.engines, ports={"alpha": [free_port()], "beta": [free_port()]})
        question = Question(
            rig=self.rig, scan=await self.scan(), weights=open_model(model).weights(), workload=Workload(context=512),
            tools=tools,
        )  # fmt: skip
        return make_plan(question, layout="cluster").candidate("cluster")


async def test_layers_that_the_engine_put_elsewhere_end_the_deployment(engine, model, tmp_path):
    loopback = Loopback(engine, tmp_path)
    planned = await loopback.cluster(model)
    first, second = planned.devices
    promised = replace(
        planned, devices=(replace(first, layers=first.layers - 1), replace(second, layers=second.layers + 1))
    )
    life = Life(candidate=promised, on_state=lambda life: loopback.states.append(life.state))
    with pytest.raises(DeviceMissing, match=f"{first.layers} of {first.layers - 1} planned layers are there") as caught:
        async with deployed(life, loopback.world(), model_bytes=model.stat().st_size):
            raise AssertionError("it must not serve")
    assert caught.value.exit_code == 1
    assert loopback.states == ["loading", "verifying", "stopping", "stopped"]
    assert [f.verdict for f in life.freed] == ["freed", "freed"]


async def test_states_and_facts_come_in_order(engine, model, tmp_path):
    loopback = Loopback(engine, tmp_path)
    life = Life(candidate=await loopback.cluster(model), on_state=lambda life: loopback.states.append(life.state))
    async with deployed(life, loopback.world(), model_bytes=model.stat().st_size) as up:
        assert [c.verdict for c in life.checks] == ["as planned", "as planned"]
        assert up.load_s > 0
    assert loopback.states == ["loading", "verifying", "loaded", "stopping", "stopped"]
    assert [kind for kind, _ in loopback.facts if kind != "caution"] == [
        "before",
        "verified",
        "ready",
        "breakdown",
        "freed",
    ]
