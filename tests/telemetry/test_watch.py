"""Hosts are watched, and whatever happens to one of them stops nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.errors import HostError
from evener.records.telemetry import Joined, Sample
from evener.telemetry import watch
from evener.telemetry.tell import tell
from evener.telemetry.watch import Seen, Watched, Way, watching
from evener.testing.fake_shell import FakeShell, prints

CAPTURES = Path(__file__).parents[1] / "captures"
T4 = (CAPTURES / "watch" / "nvidia.csv").read_text().splitlines()[2]
GPU = "GPU-22222222-0000-0000-0000-000000000001"
ROUTE = '[{"dst":"10.0.0.2","dev":"enp5s0","prefsrc":"10.0.0.1"}]'


async def until(condition, within_s: float = 10.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.02)


def of(seen: Seen, host: str) -> list[Sample]:
    return [sample for sample in seen.samples if sample.host == host]


async def test_this_machine_says_how_busy_it_is_and_its_watcher_goes_with_the_block() -> None:
    kept: list[Sample] = []
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.2, keep=kept.append) as seen:
        await until(lambda: len(of(seen, "alpha")) >= 4)
        pid = next(pid for pid in _watchers())
    cpu = seen.samples[-1].cards[0]
    assert cpu.utilisation_percent is not None
    assert cpu.memory_used_bytes
    assert seen.samples[-1].nics
    assert kept == seen.samples
    assert seen.machines["alpha"]
    times = [sample.at_s for sample in seen.samples]
    assert times == sorted(times)
    assert not Path(f"/proc/{pid}").exists()


async def test_a_watcher_that_is_killed_leaves_a_gap_and_begins_again() -> None:
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.2) as seen:
        os.kill(next(iter(_watchers())), signal.SIGKILL)
        await until(lambda: any(sample.lost for sample in seen.samples))
        assert seen.lost["alpha"] == "its watcher was ended by signal 9"
        await until(lambda: not seen.lost)
    (gap,) = tell(seen).hosts[0].gaps
    assert gap.why == "its watcher was ended by signal 9"
    assert gap.to_s
    assert gap.to_s - gap.from_s < 5


async def test_somebody_who_takes_a_gigabyte_is_named() -> None:
    take = "import time; held = bytearray(b'x') * 1_100_000_000; print('held', flush=True); time.sleep(60)"
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.1) as seen:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", take, stdout=asyncio.subprocess.PIPE)
        try:
            await until(lambda: tell(seen).joined, within_s=20)
        finally:
            process.kill()
            await process.wait()
        joined = next(one for one in tell(seen).joined if one.pid == process.pid)
        assert joined.card == "cpu"
        assert joined.name.startswith("python")
        assert joined.bytes > 1_000_000_000


async def test_a_host_that_nobody_can_ask_is_unknown_with_the_reason() -> None:
    async with watching([Watched(host="windows-box", shell=None, why="a worker of somebody else")]) as seen:
        told = tell(seen)
    assert [(host.host, host.samples, host.unknown, host.gaps) for host in told.hosts] == [
        ("windows-box", 0, ("a worker of somebody else",), ())
    ]
    assert told.energy is None


async def test_a_host_that_never_answers_delays_nobody_and_is_a_gap() -> None:
    begun = time.monotonic()
    async with watching([Watched(host="beta", shell=FakeShell(host="beta"))]) as seen:
        assert time.monotonic() - begun < watch.READY_WITHIN_S / 2
        assert seen.lost == {"beta": "sh: no such program"}
    (gap,) = tell(seen).hosts[0].gaps
    assert (gap.from_s, gap.to_s, gap.why) == (0.0, None, "sh: no such program")


async def test_a_host_that_is_tried_again_and_again_is_said_to_be_lost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "AGAIN_AFTER_S", (0.01,))
    shell = FakeShell(host="beta")
    async with watching([Watched(host="beta", shell=shell)]) as seen:
        await until(lambda: shell.ran.count(shell.ran[0]) > 2)
    assert len(seen.samples) == 1


async def test_a_silent_host_is_lost_until_it_speaks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SILENT_AFTER", 0.2)
    shell = FakeShell(host="beta", children={"sh": ["clock 5.0", "tick"]})
    async with watching([Watched(host="beta", shell=shell)], every_s=0.1) as seen:
        assert seen.lost == {}
        await until(lambda: seen.lost)
        assert seen.lost == {"beta": "silent for 0.2 s"}
    assert [sample.lost for sample in seen.samples] == [None, "silent for 0.2 s"]


async def test_an_nvidia_host_is_asked_what_it_knows_and_then_runs_one_process() -> None:
    refusal = (
        (CAPTURES / "nvidia_smi" / "refused_field.txt").read_text().replace("device_minor", "enforced.power.limit")
    )

    def smi(argv, stdin):  # type: ignore[no-untyped-def]
        if any("compute-apps" in word for word in argv):
            return prints(f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{GPU}, 10, llama-server, 900\n")(
                argv, stdin
            )
        refused = any("enforced.power.limit" in word for word in argv)
        return prints(refusal if refused else T4, code=2 if refused else 0)(argv, stdin)

    row = ", ".join(cell for at, cell in enumerate(T4.split(", ")) if at != 8)
    shell = FakeShell(
        host="beta",
        programs={"nvidia-smi": smi, "ip": prints(ROUTE)},
        children={"sh": [row, f"{GPU}, 10, llama-server, 900", f"{GPU}, 77, blender, 2000", "nic enp5s0 1 2", "tick"]},
    )
    watched = Watched(host="beta", shell=shell, ways=(Way(link="5gbe", own="10.0.0.1", other="10.0.0.2"),))
    async with watching([watched]) as seen:
        assert len(shell.started) == 1
    fields = next(argv for argv in shell.ran if argv[:2] == ("sh", "-c"))
    assert fields[4:6] == ("1", "enp5s0")
    assert "enforced.power.limit" not in fields[6].split(",")
    gpu, joined, host = seen.samples
    assert (gpu.cards[0].power_w, gpu.cards[0].power_limit_effective_w, gpu.cards[0].clock_mhz) == (70.99, None, 1290.0)
    assert [(one.pid, one.name) for one in joined.joined] == [(77, "blender")]
    assert host.nics[0].link == "5gbe"


async def test_a_driver_that_does_not_answer_is_said_and_the_rest_is_seen() -> None:
    said = (CAPTURES / "nvidia_smi" / "no_driver.txt").read_text()
    shell = FakeShell(host="beta", programs={"nvidia-smi": prints(said, code=9)}, children={"sh": ["load 1.5", "tick"]})
    async with watching([Watched(host="beta", shell=shell)]) as seen:
        pass
    (host,) = tell(seen).hosts
    assert host.unknown[0].startswith("nvidia-smi: NVIDIA-SMI has failed because")
    assert host.load_1m


async def test_a_full_disk_ends_no_measurement_and_is_said() -> None:
    def full(_sample: Sample) -> None:
        raise HostError("cannot write telemetry.jsonl: No space left on device")

    shell = FakeShell(host="beta", children={"sh": ["tick", "tick"]})
    async with watching([Watched(host="beta", shell=shell)], keep=full) as seen:
        await until(lambda: len(seen.samples) == 2)
    assert tell(seen).notes == (
        "telemetry.jsonl is incomplete: from 0 s on: cannot write telemetry.jsonl: No space left on device",
    )


async def test_time_begins_when_the_run_says_so() -> None:
    shell = FakeShell(host="beta", children={"sh": ["tick"]})
    async with watching([Watched(host="beta", shell=shell)], started_ns=watch.now_ns() - 5_000_000_000) as seen:
        pass
    assert 5.0 <= seen.samples[0].at_s < 6.0


def test_time_may_begin_later_with_the_first_request() -> None:
    seen = Seen([Watched(host="beta", shell=None)], every_s=1.0, started_ns=1_000_000_000, keep=lambda _sample: None)
    joined = Joined(at_s=1.5, host="beta", card="cpu", pid=7)
    seen.add(Sample(at_s=1.5, host="beta", joined=(joined,)))
    seen.begin(3_000_000_000)
    assert seen.samples == [Sample(at_s=-0.5, host="beta", joined=(replace(joined, at_s=-0.5),))]
    assert seen.started_ns == 3_000_000_000


async def test_a_mac_is_asked_in_its_own_way() -> None:
    lines = (CAPTURES / "watch" / "mac.txt").read_text().splitlines()
    shell = FakeShell(host="mini", programs={"system_profiler": prints("")}, children={"sh": [*lines, "tick"]})
    async with watching([Watched(host="mini", shell=shell)]) as seen:
        pass
    assert "ioreg" in shell.ran[-1][2]
    assert [card.name for card in seen.samples[0].cards] == ["CPU", "Apple GPU"]


def _watchers() -> list[int]:
    """Watchers that this process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sh", b"-c"] and words[3:4] == [b"watch"] and _leads_here(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _leads_here(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = _parent(pid)
    return False


async def test_a_fault_of_the_watching_itself_ends_no_measurement() -> None:
    class Broken(FakeShell):
        async def which(self, name: str) -> str | None:
            raise ValueError("a line that nobody expected")

    async with watching([Watched(host="beta", shell=Broken(host="beta"))]) as seen:
        assert seen.lost == {"beta": "watching it failed: ValueError('a line that nobody expected')"}
