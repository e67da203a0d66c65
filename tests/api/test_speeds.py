"""What was measured of cards, and when it no longer holds; hosts where nothing can be measured say why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evener.api import speeds
from evener.api.rig import Rig, measured_speeds
from evener.edges import measured
from evener.errors import HostBusy, HostError
from evener.records.card import EngineSeen, Holder, Scan
from evener.records.plan import Value
from evener.records.rig import Host
from evener.records.rig import Rig as Record
from evener.records.speed import CardMeasured, DeviceSpeed
from evener.testing.gguf_files import gguf_bytes
from tests import rigs

CPU = CardMeasured(
    host="alpha",
    card="cpu",
    card_name="EPYC",
    machine_id="m1",
    threads=8,
    build=11434,
    speed=DeviceSpeed(source="measured: llama-bench", n=10, flop_per_s=Value(value=2.0, low=1.0, high=3.0)),
    rows=(),
)
ENGINE = EngineSeen(folder="/opt/llama", build=11434, commit=None, protocol=None)
HEADER = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 256,
    "llama.attention.head_count": 4, "llama.vocab_size": 100,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_bytes(HEADER, [("token_embd.weight", "Q8_0", (256, 100))]) + bytes(27200))
    return str(path)


def alpha(*, machine: str = "m1", cores: int = 8) -> Scan:
    return rigs.scan(rigs.seen("alpha", rigs.cpu(), machine=machine, cores=cores))


def test_a_measurement_holds_in_its_machine_with_as_many_threads() -> None:
    measured.save_card(CPU)
    assert measured_speeds(alpha()) == (CPU,)
    assert measured_speeds(alpha(machine="m2")) == ()
    assert measured_speeds(alpha(cores=16)) == ()


def test_a_gpu_has_no_threads_that_could_change() -> None:
    gpu = rigs.card("RTX 5090", rigs.GIB)
    measured.save_card(known := replace(CPU, card=gpu.id, threads=None))
    assert measured_speeds(rigs.scan(rigs.seen("alpha", gpu, machine="m1"))) == (known,)


async def failed(record: Record, scan: Scan, tiny: str) -> str:
    with pytest.raises(HostError) as caught:
        await speeds.measure(Rig(record), scan, [tiny], report=lambda _: None)
    return caught.value.message


async def test_a_worker_of_somebody_else_is_not_measured_over_the_network(tiny: str) -> None:
    record = Record(hosts=(Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052",)),))
    scan = rigs.scan(replace(rigs.seen("windows", rigs.card("RTX 5080", rigs.GIB)), connection="endpoint"))
    assert await failed(record, scan, tiny) == (
        "nothing could be measured: windows: somebody else's worker; llama-bench must run on its own host"
    )


async def test_a_host_without_engine_says_why(tiny: str) -> None:
    scan = rigs.scan(replace(rigs.seen("alpha", rigs.cpu()), fault="the engine did not answer within 10 s"))
    assert await failed(rigs.rig("alpha"), scan, tiny) == (
        "nothing could be measured: alpha: the engine did not answer within 10 s"
    )


async def test_an_engine_whose_bench_is_gone_is_a_fault_of_that_card(tiny: str) -> None:
    scan = rigs.scan(replace(rigs.seen("alpha", rigs.cpu()), engine=replace(ENGINE, folder="/nowhere")))
    said = await failed(rigs.rig("alpha"), scan, tiny)
    assert said.startswith("nothing could be measured: alpha/CPU: ")
    assert "/nowhere/llama-bench" in said


async def test_a_card_in_use_is_not_measured_unasked(tiny: str) -> None:
    busy = Holder(kind="process", bytes=rigs.GIB, pid=7, command="python3 train.py")
    scan = rigs.scan(rigs.seen("alpha", rigs.card("RTX 5090", rigs.GIB, holders=(busy,))))
    with pytest.raises(HostBusy, match=r"cards are in use: alpha/CUDA0: python3 train\.py \(pid 7\)"):
        await speeds.measure(Rig(rigs.rig("alpha")), scan, [tiny], report=lambda _: None)
