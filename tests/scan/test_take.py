"""A scan of several hosts, and of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evener.codec import from_json, to_json
from evener.edges.local_shell import LocalShell
from evener.errors import HostError
from evener.ports import Finished
from evener.records.card import Scan
from evener.records.rig import CardRules, Host, Rig, StatedCard
from evener.scan.take import Door, take
from evener.testing.fake_linux import fake_linux, smi
from evener.testing.fake_shell import prints
from tests import case_one

CAPTURES = Path(__file__).parents[1] / "captures" / "nvidia_smi"
HERE = Host(name="here", connection="local")


async def test_this_machine_is_seen_as_it_is() -> None:
    scan = await take(Rig(hosts=(HERE,)), {"here": Door(shell=LocalShell("here"))}, now=case_one.NOON)
    (seen,) = scan.hosts
    cpu = seen.card("cpu")
    meminfo = Path("/proc/meminfo").read_text()
    assert cpu is not None
    assert cpu.total_bytes is not None
    assert cpu.total_bytes <= int(meminfo.split()[1]) * 1024
    assert 0 < (cpu.free_bytes or 0) <= cpu.total_bytes
    assert seen.machine_id is not None
    assert seen.machine_id.startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    assert (seen.threads or 0) >= 1
    assert (seen.disk_free_bytes or 0) > 0
    assert scan.devices[-1].host == "here"


async def test_a_scan_survives_the_way_to_json_and_back() -> None:
    scan = await case_one.scan()
    assert from_json(Scan, to_json(scan), source="scan") == scan


async def test_two_names_of_one_machine_share_their_machine_id() -> None:
    beta = Host(name="beta", connection="local", address="127.0.0.2")
    doors = {"alpha": Door(shell=fake_linux("alpha", boot_id="b")), "beta": Door(shell=fake_linux("beta", boot_id="b"))}
    scan = await case_one.scan(case_one.rig(beta=beta), doors)
    assert scan.hosts[0].machine_id == scan.hosts[1].machine_id == "b@box"


async def test_a_gpu_that_two_hosts_of_one_machine_would_offer_belongs_to_the_first() -> None:
    doors = {name: Door(shell=fake_linux(name, gpus=case_one.ALPHA_GPUS, boot_id="b")) for name in ("alpha", "beta")}
    scan = await case_one.scan(through=doors)
    assert [(d.name, d.host, d.card_id) for d in scan.devices] == [
        ("RPC0", "beta", "cpu"),
        ("CUDA0", "alpha", "GPU-a0"),
        ("CUDA1", "alpha", "GPU-a1"),
    ]


async def test_hosts_of_one_machine_can_share_its_gpus_by_rule() -> None:
    doors = {name: Door(shell=fake_linux(name, gpus=case_one.ALPHA_GPUS, boot_id="b")) for name in ("alpha", "beta")}
    rig = case_one.rig()
    first = replace(rig.hosts[0], cards=CardRules(include=("GPU-a0",)))
    scan = await case_one.scan(replace(rig, hosts=(first, rig.hosts[1])), doors)
    assert [(d.host, d.card_id, d.worker_device) for d in scan.devices] == [
        ("beta", "GPU-a1", "CUDA1"),
        ("alpha", "GPU-a0", None),
    ]


async def test_hosts_that_cannot_be_asked_are_shown_with_the_reason() -> None:
    rig = Rig(
        hosts=(
            HERE,
            Host(name="far", connection="ssh", ssh="far", address="10.0.0.2"),
            Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052",)),
            Host(name="next", connection="stated", stated=(StatedCard(model="RTX 5080"),)),
        )
    )
    scan = await take(rig, {"here": Door(shell=fake_linux("here"))}, now=case_one.NOON)
    assert [host.fault for host in scan.hosts] == [
        None,
        "nobody has a door to this host",
        "10.0.0.3:50052: not asked",
        "stated, not scanned",
    ]
    assert [(c.name, c.total_bytes) for c in scan.hosts[3].cards] == [("RTX 5080", None)]


async def test_no_nvidia_smi_is_no_fault() -> None:
    seen = await case_one.one(HERE, fake_linux("here"))
    assert (seen.fault, [card.kind for card in seen.cards]) == (None, ["cpu"])


async def test_a_driver_that_does_not_answer_is_a_fault_and_the_rest_is_seen() -> None:
    broken = prints((CAPTURES / "no_driver.txt").read_text(), code=9)
    seen = await case_one.one(HERE, fake_linux("here", programs={"nvidia-smi": broken}))
    assert seen.fault is not None
    assert seen.fault.startswith("nvidia-smi: NVIDIA-SMI has failed because")
    assert seen.memory_total_bytes is not None


async def test_a_driver_that_is_too_slow_is_a_fault_and_the_rest_is_seen() -> None:
    def slow(argv: Sequence[str], _stdin: bytes) -> Finished:
        raise HostError(f"here: {argv[0]} did not end within 1.5 s")

    seen = await case_one.one(HERE, fake_linux("here", programs={"nvidia-smi": slow}))
    assert seen.fault == "here: nvidia-smi did not end within 1.5 s"
    assert seen.cards[-1].kind == "cpu"


async def test_an_old_driver_is_asked_again_with_fewer_fields() -> None:
    answer = smi(case_one.ALPHA_GPUS, case_one.ALPHA_APPS)

    def old(argv: Sequence[str], stdin: bytes) -> Finished:
        for field in ("compute_cap", "display_active"):
            if f"{field}" in argv[1]:
                refusal = (CAPTURES / "refused_field.txt").read_text().replace("device_minor", field)
                return prints(refusal, code=2)(argv, stdin)
        return answer(argv, stdin)

    shell = fake_linux("here", programs={"nvidia-smi": old})
    seen = await case_one.one(HERE, shell)
    assert (seen.fault, len(seen.cards)) == (None, 3)
    asked = [argv[1] for argv in shell.ran if "--query-gpu" in argv[1]]
    assert len(asked) == 3
    assert "memory.total" in asked[-1]


async def test_what_the_engine_does_not_see_is_told() -> None:
    seen = await case_one.one(HERE, case_one.alpha_shell(), case_one.engine("CUDA0"))
    assert seen.fault == "the engine does not see NVIDIA GeForce RTX 5060 Ti: was it built for it?"


async def test_a_host_that_says_nothing_at_all_is_still_a_row() -> None:
    from evener.testing.fake_shell import FakeShell

    seen = await case_one.one(HERE, FakeShell(host="here"))
    assert (seen.machine_id, seen.memory_total_bytes, seen.cores, seen.disk_free_bytes) == (None, None, None, None)
    assert seen.cards[0].offered_bytes is None
