"""Two dry runs become one candidate's figures; a fake shell plays the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from evener.dialects.rpc_answers import PretendDevice
from evener.errors import EngineError
from evener.plan import dry_run
from evener.plan.dry_run import Asking
from evener.plan.ram import within_ram
from evener.ports import Finished
from evener.records.plan import Candidate, Command, DevicePlan, Workload
from tests.rigs import MIB, cpu, scan, seen, weights

WORK = Workload(context=4096, users=2)


@dataclass
class Engine:
    """Plays llama-fit-params: prints by model file. Also the stand-ins that it is shown."""

    prints: dict[str, str]
    code: int = 0
    stderr: str = ""
    argvs: list[Sequence[str]] = field(default_factory=list)
    served: list[Sequence[PretendDevice]] = field(default_factory=list)

    async def run(self, argv: Sequence[str], **_: object) -> Finished:
        self.argvs.append(argv)
        model = argv[argv.index("-m") + 1]
        return Finished(argv=tuple(argv), code=self.code, stdout=self.prints[model], stderr=self.stderr)

    @asynccontextmanager
    async def serving(self, devices: Sequence[PretendDevice]) -> AsyncIterator[str]:
        self.served.append(devices)
        yield "127.0.0.1:12345"

    def asking(self) -> Asking:
        return Asking(shell=self, stand_ins=self, program="llama-fit-params", full="full", short="short")


def device(
    position: int, *, card: str = "card", weights_mib: int = 200, kv_mib: int = 2, free_mib: int = 1000
) -> DevicePlan:
    return DevicePlan(
        host="alpha", card=f"{card}{position}", card_name="RTX 5090", device=f"RPC{position}", position=position,
        layers=2, weights_bytes=weights_mib * MIB, kv_bytes=kv_mib * MIB, compute_bytes=50 * MIB,
        overhead_bytes=10 * MIB, total_bytes=(weights_mib + kv_mib + 60) * MIB, free_bytes=free_mib * MIB,
    )  # fmt: skip


def candidate(*devices: DevicePlan, extra: tuple[str, ...] = ()) -> Candidate:
    server = Command(host="alpha", argv=("llama-server", *extra), env={}, listen="127.0.0.1:8080")
    return Candidate(
        name="cluster", kind="cluster", hosts=("alpha",), fits=True, short_bytes=0, devices=devices, host_bytes={},
        servers=(server,), workers=(),
    )  # fmt: skip


TWO = {
    "full": "RPC0 200 2 40 \nRPC1 201 2 300 \nHost 50 0 8 \n",
    "short": "RPC0 200 2 40 \nRPC1 190 2 61 \nHost 1 0 8 \n",
}


async def confirm(engine, plan, *, work=WORK, model=None, kinds=None):
    return await dry_run.confirm(plan, model or weights(), work, engine.asking(), kinds=kinds or {})


async def test_both_figures_are_kept():
    engine = Engine(TWO)
    first, last = (await confirm(engine, candidate(device(0), device(1)))).devices
    assert (last.dry_run.weights_bytes, last.dry_run.kv_bytes, last.dry_run.compute_bytes) == (
        201 * MIB,
        2 * MIB,
        300 * MIB,
    )
    assert first.compute_bytes == 40 * MIB
    # 61 MiB with as few logits as the server's, less four activations of 512 x 64 x 4 bytes that dry runs alone count
    assert last.compute_bytes == 61 * MIB - 4 * 512 * 64 * 4
    assert last.total_bytes == last.weights_bytes + last.kv_bytes + last.compute_bytes + last.overhead_bytes
    assert not last.compute_estimated


async def test_what_rounds_to_the_engines_mib_stays_to_the_byte():
    confirmed = await confirm(Engine(TWO), candidate(device(0), device(1)))
    assert confirmed.devices[1].weights_bytes == 200 * MIB


async def test_where_the_engine_says_otherwise_it_is_right():
    confirmed = await confirm(Engine(TWO), candidate(device(0, weights_mib=150), device(1)))
    assert confirmed.devices[0].weights_bytes == 200 * MIB


async def test_what_is_reserved_on_a_card_is_not_there_for_the_engine_either():
    tight = [replace(device(i, free_mib=10_000), offered_bytes=250 * MIB) for i in (0, 1)]
    confirmed = await confirm(Engine(TWO), candidate(*tight))
    # 200 + 2 + 61 + 10 MiB, less four activations of 512 x 64 x 4 bytes, where 250 MiB are offered
    assert (confirmed.fits, confirmed.short_bytes) == (False, 23 * MIB - 4 * 512 * 64 * 4)


async def test_without_copies_nothing_is_taken_off():
    engine = Engine(TWO)
    confirmed = await confirm(engine, candidate(device(0), device(1), extra=("-ot", "none=CPU")))
    assert confirmed.devices[1].compute_bytes == 61 * MIB
    assert all("-ot" in argv for argv in engine.argvs)


async def test_cards_are_asked_as_cards_and_cpus_as_cpus():
    engine = Engine(TWO)
    await confirm(engine, candidate(device(0), device(1)), kinds={"card0": "cpu", "card1": "cuda"})
    assert [(d.alignment, d.row_elements) for d in engine.served[0]] == [(32, 1), (128, 512)]


async def test_the_engine_is_asked_for_the_very_layout():
    engine = Engine(TWO)
    await confirm(engine, candidate(device(0), device(1)))
    argv = engine.argvs[0]
    asked = {flag: argv[argv.index(flag) + 1] for flag in ("--rpc", "--device", "-ts", "-c", "-np", "-ctk")}
    assert asked == {
        "--rpc": "127.0.0.1:12345", "--device": "RPC0,RPC1", "-ts": "2,2", "-c": "8192", "-np": "2", "-ctk": "f16",
    }  # fmt: skip


async def test_a_cpu_alone_needs_no_stand_in_and_its_row_is_the_hosts():
    engine = Engine({"full": "Host 250 2 90 \n", "short": "Host 200 2 30 \n"})
    confirmed = await confirm(
        engine, candidate(device(0)), kinds={"card0": "cpu"}, model=weights(host_bytes=50 * MIB, tied_head=False)
    )
    assert engine.served == []
    assert confirmed.devices[0].dry_run.weights_bytes == 200 * MIB
    assert confirmed.devices[0].compute_bytes == 30 * MIB


async def test_what_grows_beyond_a_card_does_not_fit_and_says_by_how_much():
    confirmed = await confirm(Engine(TWO), candidate(device(0, free_mib=230), device(1)))
    assert not confirmed.fits
    assert confirmed.short_bytes == (200 + 2 + 40 + 10 - 230) * MIB
    assert confirmed.why_not == "by the engine's own dry run alpha/RTX 5090 would be 22 MiB over"


async def test_a_pool_keeps_our_figure_for_its_cache():
    engine = Engine({"full": "RPC0 200 900 40 \nHost 50 0 8 \n", "short": "RPC0 200 900 40 \nHost 1 0 8 \n"})
    confirmed = await confirm(engine, candidate(device(0)), work=replace(WORK, unified=True))
    assert confirmed.devices[0].kv_bytes == 2 * MIB
    assert engine.argvs[0][engine.argvs[0].index("-np") + 1] == "1"


async def test_a_failed_dry_run_says_why():
    engine = Engine(TWO, code=134, stderr="x\nerror loading model: unknown model architecture: 'nobody'\n")
    with pytest.raises(EngineError, match="unknown model architecture: 'nobody'"):
        await confirm(engine, candidate(device(0), device(1)))


async def test_drafting_cannot_be_asked_about_and_stays_an_estimate():
    engine, plan = Engine(TWO), candidate(device(0), device(1))
    assert await confirm(engine, plan, work=replace(WORK, drafts=3)) == plan
    assert engine.argvs == []


def test_the_short_vocabulary_makes_512_rows_as_large_as_the_servers_few():
    # 49152 tokens, two users: 512 x 192 = 2 x 49152
    assert dry_run.short_rows(weights(vocabulary=49152), WORK) == 192
    assert dry_run.short_rows(weights(vocabulary=100), WORK) == 1


async def test_caches_are_measured_slot_by_slot_and_keep_their_sum():
    """Three slots: the dry run says 1, 2 and 0 MiB for each alone, and 4 for all: what was cut off is given back."""
    engine = Engine({"short": "RPC0 0 4 9 \nRPC1 0 1 9 \nRPC2 0 2 9 \nRPC3 0 0 9 \nRPC4 0 0 9 \nHost 1 0 8 \n"})
    found = await dry_run.measured_caches(weights(blocks=2), WORK, engine.asking())
    assert found == (MIB + MIB // 2, 2 * MIB + MIB // 2, 0)


def server(host: str, *argv: str) -> Command:
    return Command(host=host, argv=("llama-server", *argv), env={}, listen="127.0.0.1:8080")


async def test_experts_in_ram_are_asked_for_as_such_and_counted_with_the_hosts_ram():
    """Blocks 0 and 1 keep their 30 MiB of experts in RAM; the card copies half of a block's for a prompt."""
    prints = {"full": "RPC0 200 2 40 \nHost 110 0 8 \n", "short": "RPC0 200 2 30 \nHost 61 0 7 \n"}
    engine, model = Engine(prints), weights(host_bytes=50 * MIB, slot_expert_bytes=(30 * MIB,) * 4 + (0,))
    plan = replace(
        candidate(device(0), extra=("-ngl", "999", "-ncmoe", "2")),
        kind="experts-in-ram",
        host_bytes={"alpha": 200 * MIB},
    )
    done = await confirm(engine, plan, model=model)
    assert engine.argvs[0][engine.argvs[0].index("-ncmoe") + 1] == "2"
    assert "-ot" not in engine.argvs[0]
    assert done.devices[0].compute_bytes == (30 + 15) * MIB
    assert done.devices[0].compute_estimated
    ram = done.host_dry_run["alpha"]
    assert (ram.weights_bytes, ram.kv_bytes, ram.compute_bytes) == (110 * MIB, 0, 8 * MIB)
    # 5 activations of 512 x 64 F32, three inner ones of 128 and a mask of 2 x 512 x 4096 were estimated: it is 7 MiB
    assert done.host_bytes["alpha"] == 200 * MIB - (512 * 4 * (5 * 64 + 3 * 128) + 2 * 512 * 4096) + 7 * MIB


async def test_layers_left_to_the_cpu_are_the_hosts_without_the_embedding():
    prints = {"full": "RPC0 200 2 40 \nHost 250 3 8 \n", "short": "RPC0 200 2 30 \nHost 201 3 7 \n"}
    engine = Engine(prints)
    on_cpu = replace(device(0, weights_mib=190, kv_mib=3), device="CPU", position=-1, compute_bytes=0, overhead_bytes=0)
    plan = replace(
        candidate(on_cpu, device(0), extra=("-ngl", "3")), kind="partial-offload", host_bytes={"alpha": 100 * MIB}
    )
    done = await confirm(engine, plan, model=weights(host_bytes=50 * MIB, tied_bytes=50 * MIB))
    argv = engine.argvs[0]
    assert (argv[argv.index("-ngl") + 1], argv[argv.index("-ts") + 1], "-ot" in argv) == ("3", "2", False)
    assert (done.devices[0].weights_bytes, done.devices[0].compute_bytes) == (200 * MIB, 0)
    assert done.devices[1].compute_bytes == (30 + 50) * MIB  # the largest tensor is copied for a prompt
    assert (done.host_dry_run["alpha"].weights_bytes, done.host_dry_run["alpha"].kv_bytes) == (50 * MIB, 0)


async def test_each_replica_is_asked_for_its_own_users():
    engine = Engine({"full": "RPC0 200 2 40 \nHost 50 0 8 \n", "short": "RPC0 190 2 30 \nHost 1 0 7 \n"})
    mine, other = device(0), replace(device(0, free_mib=230), host="beta")
    plan = replace(
        candidate(mine, other), name="replicas", kind="replicas",
        servers=(server("alpha", "-np", "3"), server("beta", "-np", "1")), host_bytes={"alpha": MIB, "beta": MIB},
    )  # fmt: skip
    done = await confirm(engine, plan, work=replace(WORK, users=4))
    assert sorted(argv[argv.index("-np") + 1] for argv in engine.argvs) == ["1", "1", "3", "3"]
    assert [(d.host, d.compute_bytes) for d in done.devices] == [("alpha", 30 * MIB), ("beta", 30 * MIB)]
    assert {*done.host_dry_run} == {"alpha", "beta"}
    # 200 + 2 + 30 + 10 MiB on a card with 230
    assert (done.fits, done.short_bytes) == (False, 12 * MIB)


def test_ram_that_a_dry_run_finds_too_small_refuses_the_layout() -> None:
    plan = replace(candidate(device(0)), host_bytes={"alpha": 33 << 30})
    there = scan(seen("alpha", cpu()))  # 32 GiB are available
    refused = within_ram(plan, there)
    assert (refused.fits, refused.short_bytes) == (False, 1 << 30)
    said = "by the engine's own dry run alpha needs 33.0 GiB of RAM beside its cards and has 32.0 GiB available"
    assert refused.why_not == said
    roomy = replace(plan, host_bytes={"alpha": 31 << 30})
    assert within_ram(roomy, there) == roomy
