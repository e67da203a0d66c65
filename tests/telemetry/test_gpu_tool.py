"""The watcher with a tool that behaves as nvidia-smi does: it repeats itself, dies, and must not outlive anybody.

The tool is a stand-in: no card was at hand. Its rows are those of the captures; that nobody reads them does not end it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from evener.edges.local_shell import GRACE_S, LocalShell
from evener.telemetry.watch import Watched, watching

T4 = (Path(__file__).parents[1] / "captures" / "watch" / "nvidia.csv").read_text().splitlines()[2]
GPU = "GPU-22222222-0000-0000-0000-000000000001"
TOOL = f"""#!/bin/sh
echo "$$ $*" >>"$(dirname "$0")/started"
case "$*" in
  *query-gpu*-lms*) while :; do (echo "{T4}"); sleep 0.1; done ;;
  *query-gpu*) echo "{T4}" ;;
  *-l\\ 5*) while :; do (echo "{GPU}, 10, old, 100"; echo "{GPU}, 11, blender, 2000"); sleep 0.1; done ;;
  *) echo "gpu_uuid, pid, process_name, used_gpu_memory [MiB]"; echo "{GPU}, 10, old, 100" ;;
esac
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the PATH with that tool; its file `started` says who was."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(TOOL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program.parent


def running(tool: Path) -> list[int]:
    """Tools that repeat themselves and live."""
    started = [line.split() for line in (tool / "started").read_text().splitlines()]
    return [int(words[0]) for words in started if "-l" in words or "-lms" in words if _lives(int(words[0]))]


async def until(condition, within_s: float = 10.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.02)


async def test_the_card_is_seen_the_newcomer_named_and_both_tools_end_with_the_block(tool: Path) -> None:
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.2) as seen:
        await until(lambda: any(sample.joined for sample in seen.samples))
        assert len(running(tool)) == 2
    cards = {card.name for sample in seen.samples for card in sample.cards}
    assert cards == {"CPU", "Tesla T4"}
    assert {(one.pid, one.name) for sample in seen.samples for one in sample.joined} == {(11, "blender")}
    await until(lambda: not running(tool), within_s=2)


async def test_tools_end_with_the_block_on_a_host_without_setpriv_too(
    tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sh", "sleep", "grep", "dirname", "ip"):
        (tool / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tool))
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.2):
        assert len(running(tool)) == 2
        left = time.monotonic()
    assert time.monotonic() - left < GRACE_S
    await until(lambda: not running(tool), within_s=2)


async def test_a_watcher_that_is_killed_leaves_no_tool_behind(tool: Path) -> None:
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.2) as seen:
        before = running(tool)
        os.kill(_parent(before[0]), signal.SIGKILL)
        await until(lambda: not any(_lives(pid) for pid in before))
        await until(lambda: seen.lost == {} and len(running(tool)) == 2)


async def test_a_tool_that_dies_is_said_and_started_again(tool: Path) -> None:
    async with watching([Watched(host="alpha", shell=LocalShell("alpha"))], every_s=0.1) as seen:
        before = running(tool)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: any(sample.lost for sample in seen.samples))
        at = len(seen.samples)
        await until(lambda: any(card.name == "Tesla T4" for s in seen.samples[at:] for card in s.cards))
    assert {sample.lost for sample in seen.samples} == {None, "nvidia-smi has ended: its cards are not seen"}
    assert seen.lost == {}


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
