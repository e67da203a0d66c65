"""The whole preflight on hosts that exist in memory, and its order."""

from __future__ import annotations

from dataclasses import replace

from evener.errors import EndpointRefused, EndpointTimedOut, HostUnreachable
from evener.journeys.doctor import Looked, World, ask, examine
from evener.testing.fake_linux import fake_linux
from evener.testing.fake_shell import prints
from tests import case_one
from tests.journeys.doctor.looks import bad
from tests.rigs import weights

GPU_HEALTH = (
    "uuid, pci.bus_id, pstate, persistence_mode, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
    "pcie.link.width.max, clocks_event_reasons.active\n"
    "GPU-b1, 00000000:03:00.0, P0, Disabled, 4, 4, 4, 16, 0x0000000000000024\n"
)


class Knocked:
    """Closed ports that refuse, or say nothing."""

    def __init__(self, error):
        self.error, self.asked = error, []

    async def hello(self, endpoint, *, within_s=3.0):
        self.asked.append(endpoint)
        raise self.error(endpoint, "what it says")


def world(shells, rpc, *, out_of_reach=None, progress=lambda _: None):
    async def scan():
        return Looked(scan=await case_one.scan(), out_of_reach=out_of_reach or {})

    return World(shells=shells, rpc=lambda _protocol: rpc, scan=scan, now=lambda: case_one.NOON, report=progress)


def shells(health="", gpu_health=None):
    clock = int(case_one.NOON.timestamp())
    return {
        "alpha": fake_linux("alpha", health=f"clock {clock}\nprogram ss\nprogram setpriv"),
        "beta": fake_linux("beta", gpus=case_one.BETA_GPUS, gpu_health=gpu_health, health=f"clock {clock}\n{health}"),
    }


async def test_everything_a_far_host_says_becomes_findings_the_worst_first():
    through = shells("variable GGML_CUDA_DISABLE_GRAPHS\nvariable EDITOR\nidle_action suspend", GPU_HEALTH)
    done = await examine(case_one.rig(), world(through, Knocked(EndpointTimedOut)))
    told = [(f.level, f.check) for f in bad(done.findings) if f.where.startswith("beta")]
    assert told == [
        ("stops", "firewall"),
        ("costs", "throttle"),
        ("costs", "pcie"),
        ("costs", "suspend"),
        ("note", "persistence"),
        ("note", "settings"),
    ]
    assert [f.what for f in done.findings if f.check == "settings"] == ["set there: GGML_CUDA_DISABLE_GRAPHS"]
    assert not done.ok
    assert done.model is None


async def test_open_ports_are_fine_and_only_the_far_hosts_are_tried():
    rpc = Knocked(EndpointRefused)
    done = await examine(case_one.rig(), world(shells(), rpc), weights=weights())
    assert rpc.asked == [f"10.0.0.2:{port}" for port in (50052, 50053, 50054, 50055)]
    assert done.ok
    assert done.model == "tiny"
    costs = [f.where for f in done.findings if f.level == "costs"]
    gpu, other = "alpha/NVIDIA GeForce RTX 5090", "alpha/NVIDIA GeForce RTX 5060 Ti"
    assert costs == [gpu, other, other, "alpha/Example CPU 8-Core", other]  # the last for its power limit


async def test_ports_behind_a_tunnel_are_not_tried():
    rpc = Knocked(EndpointTimedOut)
    rig = case_one.rig()
    done = await examine(replace(rig, links=(replace(rig.links[0], tunnel=True),)), world(shells(), rpc))
    assert rpc.asked == []
    assert done.ok


async def test_a_host_out_of_reach_is_a_finding_and_is_asked_nothing_more():
    through = shells()
    gone = {"beta": HostUnreachable("beta: no answer from 10.0.0.2 port 22", hint="is it on?")}
    done = await examine(case_one.rig(), world(through, Knocked(EndpointRefused), out_of_reach=gone))
    assert [(f.level, f.what, f.remedy) for f in done.findings if f.where.startswith("beta")] == [
        ("stops", "no answer from 10.0.0.2 port 22", "is it on?")
    ]
    assert through["beta"].ran == []


async def test_it_says_whom_it_asks():
    said = []
    await examine(case_one.rig(), world(shells(), Knocked(EndpointRefused), progress=lambda p: said.append(p.what)))
    assert said == ["looking at the rig", "asking alpha", "asking beta"]


async def test_a_host_that_says_half_of_it_is_unknown():
    shell = fake_linux("beta", programs={"sh": prints("clock 12\n")})
    answers = await ask.health(shell, case_one.NOON.timestamp)
    assert (answers.health, answers.fault) == (None, "its answers broke off")


def test_a_clock_is_off_by_no_less_than_the_whole_seconds_allow():
    assert ask.off_by_s(100, 99.2, 100.4) == 0
    assert ask.off_by_s(105, 99.2, 100.4) == 105 - 100.4
    assert ask.off_by_s(90, 99.2, 100.4) == 91 - 99.2
    assert ask.off_by_s(None, 99.2, 100.4) is None
