"""Rigs of chance: devices, counts, ports and endpoints of every command line of every layout name the same cards."""

from __future__ import annotations

import random
from functools import cache
from itertools import groupby, pairwise

import pytest

from evener.launch.bring_up import foreign_endpoints
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.layers import assign, counts
from evener.records.plan import Candidate, Command, Plan, Workload
from evener.records.rig import Host, Link, Rig
from evener.records.weights import Projector
from tests.rigs import GIB, MIB, card, cpu, scan, seen, weights

RIGS = 100
EYES = Projector(
    name="eyes", path="/models/mmproj.gguf", weights_bytes=800 * MIB, compute_bytes=120 * MIB, host_bytes=9 * MIB
)
SMALL = weights(name="small", blocks=2, paths=("/models/small.gguf",))
NAMES = ("alpha", "beta", "gamma", "delta")
CARDS = (*("RTX 5090", "RTX 5080", "RTX 5060 Ti 16GB", "RTX 3090") * 4, "Unheard of")


def somebody_elses(chance: random.Random, name: str, number: int) -> tuple[Host, list]:
    """A host of which only its running workers are known, each with one to three devices."""
    ends = tuple(f"10.0.{number}.9:{50052 + i}" for i in range(chance.randint(1, 2)))
    cards = [
        card("?", chance.randint(4, 24) * GIB, kind="unknown", device=f"#{i}", id=f"{end}/{i}", endpoint=end)
        for end in ends
        for i in range(chance.randint(1, 3))
    ]
    return Host(name=name, connection="endpoint", endpoints=ends), cards


def host(chance: random.Random, name: str, number: int) -> tuple[Host, list]:
    if number and chance.random() < 0.2:
        return somebody_elses(chance, name, number)
    connection = "local" if not number else chance.choice(("ssh", "ssh", "stated"))
    far = connection == "ssh"
    own = Host(name=name, connection=connection, ssh=name if far else None, address=f"10.0.0.{number + 1}")
    if chance.random() < 0.15:
        return own, [cpu(chance.randint(4, 24) * GIB)]
    several = range(chance.randint(1, 4))
    return own, [card(chance.choice(CARDS), chance.randint(4, 32) * GIB, device=f"CUDA{i}") for i in several]


@cache
def asked(seed: int) -> Question:
    chance = random.Random(seed)
    made = [host(chance, name, number) for number, name in enumerate(NAMES[: chance.randint(1, 4)])]
    hosts = tuple(one for one, _ in made)
    tunnel = chance.random() < 0.3
    links = tuple(
        Link(name=f"to-{far.name}", between=("alpha", far.name), preset="25gbe", tunnel=tunnel and far.ssh is not None)
        for far in hosts[1:]
        if chance.random() < 0.8
    )
    blocks, block_bytes = chance.randint(4, 40), chance.randint(100, 1500) * MIB
    routed = chance.random() < 0.4
    model = weights(
        blocks=blocks, block_bytes=block_bytes, largest_tensor_bytes=100 * MIB,
        experts=8 if routed else 0, experts_used=2 if routed else 0, embedding=chance.choice((64, 4096)),
        slot_expert_bytes=(block_bytes * 3 // 4,) * blocks + (0,) if routed else (),
        slot_parameters=(block_bytes,) * (blocks + 1),
        projector=EYES if chance.random() < 0.2 else None, draft=SMALL if chance.random() < 0.2 else None,
    )  # fmt: skip
    aim = chance.choice(("latency", "crowd", "prompt", "prompt", "context"))
    ports = {one.name: [50060, 50062, 50064, 50066] for one in hosts if chance.random() < 0.5}
    near = {one.name: 51000 + number for number, one in enumerate(hosts)}
    return Question(
        rig=Rig(hosts=hosts, links=links),
        scan=scan(*(seen(one.name, *cards) for one, cards in made)),
        weights=model,
        workload=Workload(context=1024, users=chance.randint(1, 6), objective=aim, prompt_tokens=6000),
        tools=Tools(engines={}, ports=ports, near_ports=near),
    )


def flag(argv, name: str, default: str = "") -> str:
    return next((value for one, value in pairwise(argv) if one == name), default)


def devices_of_workers(question: Question, made: Candidate, endpoints: list[str]) -> list[tuple[str, str]]:
    """(host, device in its own host's words) of RPC0, RPC1, ..., as the engine numbers them through --rpc."""
    workers = {worker.reached_at: worker for worker in made.workers}
    found: list[tuple[str, str]] = []
    for end in endpoints:
        if (worker := workers.get(end)) is not None:
            found += [(worker.host, name) for name in flag(worker.argv, "-d").split(",")]
        else:
            there = [(h.name, c) for h in question.scan.hosts for c in h.cards if c.endpoint == end]
            found += [(name, c.device) for name, c in sorted(there, key=lambda pair: pair[1].device)]
    return found


def require_agreement(question: Question, made: Candidate, server: Command, slots: int) -> None:
    mine = [d for d in made.devices if d.position >= 0 and (made.kind != "replicas" or d.host == server.host)]
    names = [d.device for d in mine]
    endpoints = [end for end in flag(server.argv, "--rpc").split(",") if end]
    assert [d.position for d in mine] == list(range(len(mine)))
    if flag(server.argv, "--device") == "none":
        assert names == ["CPU"], "a processor alone is the engine without devices"
    else:
        assert flag(server.argv, "--device").split(",") == names
        split = [int(count) for count in flag(server.argv, "-ts").split(",")]
        assert split == [d.layers for d in mine]
        assert len(split) <= 15
        offloaded = min(slots, int(flag(server.argv, "-ngl")))
        assert sum(split) == offloaded, "only then does every count come out as it is written"
        assert list(counts(assign(offloaded, [float(n) for n in split]), len(split))) == split
    assert sum(d.layers for d in made.devices if d.host == server.host or made.kind != "replicas") == slots
    remote = devices_of_workers(question, made, endpoints)
    for device in mine:
        seen_there = question.scan.host(device.host)
        assert seen_there is not None
        real = seen_there.card(device.card)
        assert real is not None
        if device.device.startswith("RPC"):
            assert remote[int(device.device.removeprefix("RPC"))] == (device.host, real.device or "CPU")
        else:
            assert (device.host, device.device) == (server.host, real.device or "CPU")
    for flag_of, held in (("-devd", "draft_bytes"), ("--mmproj-device", "projector_bytes")):
        beside = [d.device for d in mine if getattr(d, held)]
        assert flag(server.argv, flag_of, "none") == (beside or ["none"])[0]
        assert not any(name.startswith("RPC") for name in beside), "on another host it would cross the cable"
    assert sorted(endpoints) == sorted({*(w.reached_at for w in made.workers), *foreign_endpoints(made)})


def require_ports(made: Candidate, question: Question) -> None:
    listening = [c.listen for c in (*made.workers, *made.tunnels, *made.servers)]
    far = [(c.host, c.listen) for c in (*made.workers, *made.tunnels, *made.servers)]
    assert len(set(far)) == len(far), listening
    assert not any(end.startswith(("0.0.0.0", ":", "*")) for end in listening)
    for worker in made.workers:
        assert f"{flag(worker.argv, '-H')}:{flag(worker.argv, '-p')}" == worker.listen
        there = question.rig.host(worker.host)
        assert there is not None
        taken = question.tools.ports.get(worker.host) or range(there.ports[0], there.ports[1] + 1)
        assert int(worker.listen.rpartition(":")[2]) in taken
    assert {t.listen for t in made.tunnels} <= {w.reached_at for w in made.workers}


def require_the_same_bench(made: Candidate) -> None:
    for server, bench in zip(made.servers, made.bench, strict=True):
        for one, other in (("--device", "-dev"), ("-ts", "-ts")):
            assert flag(bench.argv, other) == flag(server.argv, one).replace(",", "/")
        for same in ("--rpc", "-ngl", "-ot", "-ncmoe"):
            assert flag(bench.argv, same) == flag(server.argv, same)


@cache
def planned(seed: int) -> Plan:
    return make_plan(asked(seed), advice=False)


@pytest.mark.parametrize("seed", range(RIGS))
def test_devices_counts_ports_and_endpoints_name_the_same_cards(seed: int) -> None:
    question = asked(seed)
    for made in planned(seed).candidates:
        if not made.fits:
            assert not made.servers, "what does not fit has no command line"
            assert made.why_not
            continue
        for server in made.servers:
            require_agreement(question, made, server, question.weights.layers + 1)
        require_ports(made, question)
        require_the_same_bench(made)
        together = [d.device for d in made.devices if d.position >= 0]
        assert made.kind == "replicas" or len({*together}) == len(together)
        remote = [d.host for d in made.devices if d.device.startswith("RPC")]
        assert made.name.endswith("-per-card") or len(list(groupby(remote))) == len({*remote}), "hosts stay together"


def test_such_rigs_have_every_kind_of_layout() -> None:
    fitting = [c for seed in range(RIGS) for c in planned(seed).candidates if c.fits]
    assert {c.kind for c in fitting} == {"card", "host", "cluster", "replicas", "experts-in-ram", "partial-offload"}
    assert any(c.name.startswith("cluster-on-") for c in fitting)
    assert any(c.name.endswith("-per-card") for c in fitting)
    assert any(c.tunnels for c in fitting)
    assert any(foreign_endpoints(c) for c in fitting)
    assert any(d.draft_bytes for c in fitting for d in c.devices)
    assert any(d.projector_bytes for c in fitting for d in c.devices)
