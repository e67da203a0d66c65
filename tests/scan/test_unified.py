"""Figures that are half a truth, made whole or capped, and explained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evener.dialects import amd
from evener.dialects.amd import Pools
from evener.dialects.proc import Memory
from evener.records.capability import EngineDevice
from evener.records.card import Card
from evener.records.rig import Host
from evener.scan.unified import believable
from evener.testing.fake_linux import GPU_HEADER, FakeProcess, fake_linux
from evener.testing.fake_shell import FakeShell, prints
from tests import case_one

CAPTURES = Path(__file__).parents[1] / "captures"
GIB, MIB = 1 << 30, 1 << 20
RAM = Memory(total_bytes=128 * GIB, available_bytes=100 * GIB)
APU = Card(id="a", kind="rocm", name="AMD gfx1151", integrated=True, total_bytes=GIB // 2, free_bytes=GIB // 4)
HERE = Host(name="here", connection="local")


def engine_says(total_gib: float, free_gib: float) -> EngineDevice:
    return EngineDevice(name="ROCm0", description="", total_bytes=int(total_gib * GIB), free_bytes=int(free_gib * GIB))


def test_an_apu_with_little_set_aside_has_its_share_of_main_memory() -> None:
    pools = Pools(vram_total=GIB // 2, vram_used=GIB // 4, gtt_total=96 * GIB, gtt_used=6 * GIB)
    seen = believable(APU, memory=RAM, pools=pools)
    assert (seen.total_bytes, seen.used_bytes, seen.free_bytes) == (96 * GIB, 6 * GIB, 90 * GIB)
    assert seen.note == ("shares main memory: up to 96.0 GiB of it (GTT); the 0.5 GiB set aside for it do not add up")


def test_an_apu_with_much_set_aside_has_that_alone() -> None:
    (one,) = amd.parse_rocm((CAPTURES / "amd" / "strix_halo.json").read_text())
    seen = believable(one.card, memory=RAM, pools=one.pools)
    assert (seen.total_bytes, seen.free_bytes) == (51539607552, 51539607552 - 163110912)
    assert seen.note == "shares main memory: 48.0 GiB are set aside for it; 36.0 GiB more (GTT) do not add up"


def test_what_an_apu_may_take_is_not_more_than_main_memory_has_left() -> None:
    pools = Pools(vram_total=GIB // 2, vram_used=0, gtt_total=124 * GIB, gtt_used=0)
    seen = believable(APU, memory=RAM, pools=pools)
    assert seen.free_bytes == 100 * GIB
    assert seen.note is not None
    assert seen.note.endswith("; 124.0 GiB said to be free, of which 100.0 GiB can be had")


def test_where_the_engines_runtime_sees_less_that_is_what_there_is() -> None:
    pools = Pools(vram_total=GIB // 2, vram_used=0, gtt_total=124 * GIB, gtt_used=0)
    seen = believable(APU, memory=RAM, pools=pools, listed=engine_says(62.5, 120))
    assert (seen.total_bytes, seen.free_bytes) == (int(62.5 * GIB), int(62.5 * GIB))
    assert seen.note == "shares main memory: the engine may have 62.5 GiB of it"


async def test_a_grace_blackwell_without_figures_has_main_memory() -> None:
    row = "0, NVIDIA GB10, GPU-x, 0000000F:01:00.0, 1, [N/A], [N/A], [N/A], 1, [N/A], [N/A], 12.1, Disabled"
    shell = fake_linux("here", gpus=f"{GPU_HEADER}\n{row}\n", total_kib=127600748, available_kib=118566368)
    card = (await case_one.one(HERE, shell)).cards[0]
    assert (card.total_bytes, card.free_bytes) == (127600748 << 10, 118566368 << 10)
    assert card.note == "shares main memory: the driver says no figure, so main memory counts"


def test_a_unified_gpu_that_tells_a_part_has_main_memory_too() -> None:
    n1x = Card(id="g", kind="cuda", name="NVIDIA N1X", integrated=True, total_bytes=8128 * MIB, free_bytes=7929 * MIB)
    seen = believable(n1x, memory=RAM)
    assert (seen.total_bytes, seen.free_bytes) == (128 * GIB, 100 * GIB)
    assert seen.note == "shares main memory: the driver says 7.9 GiB, so main memory counts"


def test_a_unified_gpu_that_tells_most_of_main_memory_is_believed() -> None:
    thor = Card(id="g", kind="cuda", name="NVIDIA Thor", integrated=True, total_bytes=122 * GIB, free_bytes=90 * GIB)
    seen = believable(thor, memory=RAM)
    assert (seen.total_bytes, seen.free_bytes, seen.note) == (122 * GIB, 90 * GIB, "shares main memory")


def test_more_free_than_there_is_means_nothing_on_a_card_of_its_own() -> None:
    odd = Card(id="g", kind="cuda", name="X", total_bytes=32 * GIB, free_bytes=54 * GIB)
    seen = believable(odd, memory=RAM)
    assert seen.free_bytes is None
    assert seen.note == "said to be free: 54.0 GiB of 32.0 GiB, which is no measure of this card"


def test_a_card_of_its_own_is_left_as_its_driver_says() -> None:
    plain = Card(id="g", kind="cuda", name="X", total_bytes=32 * GIB, free_bytes=30 * GIB, used_bytes=GIB)
    assert believable(plain, memory=RAM, listed=engine_says(31, 29)) == plain


def test_a_card_whose_tool_tells_no_memory_has_what_the_engine_says() -> None:
    bare = Card(id="g", kind="rocm", name="X")
    seen = believable(bare, memory=RAM, listed=engine_says(16, 15))
    assert (seen.total_bytes, seen.free_bytes, seen.note) == (16 * GIB, 15 * GIB, "memory as the engine says")


def test_a_macs_working_set_is_what_the_engine_says_it_is() -> None:
    mac = Card(
        id="m", kind="metal", name="Apple M1 Max", integrated=True, total_bytes=21 * GIB, free_bytes=20 * GIB, note="n"
    )
    seen = believable(mac, memory=Memory(total_bytes=32 * GIB, available_bytes=20 * GIB), listed=engine_says(25, 25))
    assert (seen.total_bytes, seen.free_bytes) == (25 * GIB, 20 * GIB)
    assert seen.note == "shares main memory: the engine may have 25.0 GiB of it"


# ---- whole hosts


def amd_host(*, kfd: str | None = "", processes: tuple[FakeProcess, ...] = ()) -> FakeShell:
    listing = '[{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "00ff-1", "kfd_id": 45534}]'
    replies = {
        "static": (CAPTURES / "amd" / "mi210_static.json").read_text(),
        "metric": (CAPTURES / "amd" / "two_gpus_metric.json").read_text(),
        "list": listing,
    }
    tool = {"amd-smi": lambda argv, stdin: prints(replies[argv[1]])(argv, stdin)}
    return fake_linux("here", kfd=kfd, processes=processes, programs=tool)


async def test_an_amd_cards_holders_are_named_by_the_kernel() -> None:
    server = FakeProcess(pid=7049, command="/opt/llama/llama-server -m big.gguf")
    kfd = (
        "/sys/class/kfd/kfd/proc/7049/vram_45534:21000000000\n"
        "/sys/class/kfd/kfd/proc/8000/vram_45534:0\n"  # it has only opened the driver
        "/sys/class/kfd/kfd/proc/9000/vram_77:4096\n"  # on a GPU that is not listed
    )
    shell = amd_host(kfd=kfd, processes=(server,))
    card = (await case_one.one(HERE, shell)).cards[0]
    assert (card.name, card.kind, card.device) == ("AMD Instinct MI210", "rocm", "ROCm0")
    assert [(h.kind, h.pid, h.user, h.bytes) for h in card.holders or ()] == [
        ("process", 7049, "anna", 21000000000),
        ("unattributed", None, None, 20450 * MIB - 21000000000),
    ]


async def test_an_amd_card_that_nobody_could_look_into_has_unknown_holders() -> None:
    assert (await case_one.one(HERE, amd_host(kfd=None))).cards[0].holders is None


async def test_an_amd_card_beside_an_nvidia_one_does_not_borrow_its_processes() -> None:
    amd_only = amd_host(kfd=None)
    both = fake_linux("here", gpus=case_one.ALPHA_GPUS, apps=case_one.ALPHA_APPS)
    both.programs = {**both.programs, "amd-smi": amd_only.programs["amd-smi"]}
    cards = {c.kind: c for c in (await case_one.one(HERE, both)).cards}
    assert cards["rocm"].holders is None
    assert cards["cuda"].holders is not None


async def test_the_older_tool_serves_where_the_newer_one_is_missing_or_knows_nothing() -> None:
    old = prints((CAPTURES / "amd" / "rx7900xt.json").read_text())
    for more in ({}, {"amd-smi": prints("[]")}, {"amd-smi": prints("", code=1, stderr="no driver")}):
        seen = await case_one.one(HERE, fake_linux("here", programs={"rocm-smi": old, **more}))
        assert (seen.cards[0].name, seen.fault) == ("Radeon RX 7900 XT", None)


async def test_an_amd_tool_that_fails_is_a_fault() -> None:
    for tool in ("rocm-smi", "amd-smi"):
        seen = await case_one.one(HERE, fake_linux("here", programs={tool: prints("no driver\n", code=2)}))
        assert seen.fault == f"{tool}: no driver"


def mac() -> FakeShell:
    at = CAPTURES / "apple"
    return FakeShell(
        host="here",
        programs={
            "system_profiler": prints((at / "m2_ultra_hardware.json").read_text()),
            "sysctl": prints((at / "sysctl.txt").read_text(), code=1, stderr="sysctl: unknown oid"),
            "vm_stat": prints((at / "vm_stat.txt").read_text()),
            "df": prints("Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/disk3 100 1 99 1% /\n"),
        },
    )


async def test_a_mac_is_one_card_with_a_part_of_its_memory_and_says_that_it_is_assumed() -> None:
    seen = await case_one.one(HERE, mac())
    gpu, cpu = seen.cards
    assert (gpu.name, gpu.kind, gpu.device, gpu.integrated) == ("Apple M2 Ultra (60 GPU cores)", "metal", "MTL0", True)
    assert (gpu.total_bytes, gpu.free_bytes) == (48 * GIB, (4753 + 345335 + 7127) * 16384)
    assert gpu.note == ("shares main memory: the GPU may use 48.0 of 64 GiB (assumed; iogpu.wired_limit_mb sets it)")
    assert gpu.holders is None
    assert (seen.system, seen.cores, seen.disk_free_bytes, seen.fault) == ("macOS 26.5", 24, 99 << 10, None)
    assert cpu.total_bytes == 64 * GIB
    assert seen.machine_id == "00000000-0000-0000-0000-000000000001"


async def test_a_mac_whose_engine_tells_the_working_set_has_that() -> None:
    listed = EngineDevice(name="MTL0", description="Apple M2 Ultra", total_bytes=50 * GIB, free_bytes=50 * GIB)
    engine = replace(case_one.engine("MTL0"), listed=(listed,))
    assert (await case_one.one(HERE, mac(), engine)).cards[0].total_bytes == 50 * GIB


async def test_intels_integrated_graphics_offer_no_more_than_main_memory_has_left() -> None:
    listed = EngineDevice(
        name="SYCL1", description="Intel(R) Graphics", total_bytes=76029 * MIB, free_bytes=70000 * MIB
    )
    engine = replace(case_one.engine("SYCL1"), listed=(listed,))
    seen = await case_one.one(HERE, fake_linux("here", available_kib=20 << 20), engine)
    assert (seen.cards[0].kind, seen.cards[0].offered_bytes, seen.fault) == ("sycl", 20 * GIB, None)
