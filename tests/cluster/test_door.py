"""The door on two real hosts, people at it, and something dies: nobody hangs, everybody is told, it comes back."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cluster.bed import Bed, bed, command
from tests.cluster.conftest import ClusterRig, rig_on
from tests.cluster.crowd import Crowd
from tests.loopback.conftest import eventually, is_running

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

PEOPLE = 6
BACK_WITHIN_S = 60.0


@pytest.fixture(scope="module")
def apart(_possible: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """alpha and beta, each a machine of its own with the model on its disk."""
    with bed(tmp_path_factory.mktemp("apart"), own_names=True) as made:
        yield made


@pytest.fixture
def rig_apart(apart: Bed, tmp_path: Path, engine: Path, model: Path) -> Iterator[ClusterRig]:
    yield from rig_on(apart, tmp_path, engine)


@contextmanager
def door(rig: ClusterRig, *more: str) -> Iterator[int]:
    """The pid of a door whose deployments are ready; it is closed in good order, and nothing is left of it."""
    process = rig.start("serve", "demo", "--rig", str(rig.path), "--users", "4", "--context", "1024", *more)
    eventually(lambda: is_ready(rig) or process.poll() is not None, within_s=60)
    assert process.poll() is None, process.communicate()
    engines = [pid for pid in below(process.pid) if "llama-server" in command(pid)]
    yield process.pid
    assert process.poll() is None, "the door itself never restarts"
    assert rig.run("down", "door").returncode == 0
    assert process.wait(timeout=30) == 0
    rig.assert_nothing_left()
    assert not any(map(is_running, engines))


def status(rig: ClusterRig) -> dict:
    return json.loads(rig.run("status", "--json").stdout)["door"] or {"behind": []}


def is_ready(rig: ClusterRig) -> bool:
    behind = status(rig)["behind"]
    return bool(behind) and all(one["state"] == "ready" for one in behind)


def crowd(rig: ClusterRig) -> Crowd:
    return Crowd(url=f"http://127.0.0.1:{rig.serve}", people=PEOPLE, within_s=BACK_WITHIN_S)


def below(pid: int) -> list[int]:
    """Every process that it started, and those that these did."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, new = [], {pid}
    while new := {child for child, parent in parents.items() if parent in new}:
        found += new
    return found


def pid_with(pids: list[int], program: str) -> int:
    """The engine's own process among these, not its leash."""
    return next(pid for pid in pids if command(pid).split(" ")[0].endswith(program))


async def through_it(rig: ClusterRig, strike) -> tuple[Crowd, float]:
    """Strike in the middle of people's answers; (everything that was asked, seconds until somebody was answered)."""
    made = crowd(rig)
    async with made.asking():
        await made.until_right(since_s=time.monotonic(), within_s=30)
        struck_s = time.monotonic()
        await asyncio.to_thread(strike)
        await asyncio.sleep(1.0)
        back_s = await made.until_right(since_s=struck_s + 1.0, within_s=BACK_WITHIN_S)
        await asyncio.sleep(2.0)
    return made, back_s


def assert_all_told(made: Crowd) -> None:
    endings = made.endings()
    assert set(endings) <= {"right", "said so"}, endings
    assert endings["right"] > PEOPLE
    assert made.asked[-1].ending == "right"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_worker_that_is_killed_or_stopped_comes_back(rig: ClusterRig, number: signal.Signals) -> None:
    with door(rig, "--layout", "cluster"):
        worker = pid_with(rig.bed["beta"].pids(), "ggml-rpc-server")
        made, _ = await through_it(rig, lambda: os.kill(worker, number))
        assert_all_told(made)
        assert status(rig)["behind"][0]["restarts"] == 1


async def test_a_killed_head_comes_back_and_what_died_is_kept(rig: ClusterRig) -> None:
    with door(rig, "--layout", "cluster") as pid:
        head = pid_with(below(pid), "llama-server")
        made, _ = await through_it(rig, lambda: os.kill(head, signal.SIGKILL))
        assert_all_told(made)
        (bundle,) = (rig.runs()[-1] / "deaths").iterdir()
        told = json.loads((bundle / "death.json").read_text())
        assert "the head on alpha" in told["why"]
        assert any(path.suffix == ".log" for path in bundle.iterdir())


@pytest.mark.timeout(300)
async def test_without_its_cable_the_model_goes_on_where_it_can_and_says_so(rig: ClusterRig) -> None:
    with door(rig, "--layout", "cluster"):
        made = crowd(rig)
        async with made.asking():
            await made.until_right(since_s=time.monotonic(), within_s=30)
            cut_s = time.monotonic()
            await asyncio.to_thread(rig.bed["beta"].cut)
            await asyncio.sleep(5.0)
            await made.until_right(since_s=cut_s + 5.0, within_s=120)
        endings = made.endings()
        assert set(endings) <= {"right", "said so", "hung"}, endings
        (behind,) = status(rig)["behind"]
        assert behind["layout"] == "alpha"
        assert "beta died 3 times in a row" in behind["why"]
        rig.bed["beta"].mend()


async def test_of_two_replicas_one_dies_and_the_other_answers_meanwhile(rig_apart: ClusterRig) -> None:
    rig = rig_apart
    with door(rig, "--layout", "replicas") as pid:
        behind = status(rig)["behind"]
        assert sorted(tuple(one["hosts"]) for one in behind) == [("alpha",), ("beta",)]
        far = pid_with(rig.bed["beta"].pids(), "llama-server")
        made, _ = await through_it(rig, lambda: os.kill(far, signal.SIGKILL))
        assert_all_told(made)
        assert {one.deployment for one in made.asked if one.ending == "right"} == {one["name"] for one in behind}
        near = pid_with(below(pid), "llama-server")
        made, _ = await through_it(rig, lambda: os.kill(near, signal.SIGSTOP))
        assert_all_told(made)
        eventually(lambda: is_ready(rig), within_s=60)
        assert [one["restarts"] for one in status(rig)["behind"]] == [1, 1]


async def test_switched_it_drains_and_keeps_whoever_waits(rig: ClusterRig) -> None:
    with door(rig, "--layout", "cluster"):
        made = crowd(rig)
        async with made.asking():
            await made.until_right(since_s=time.monotonic(), within_s=30)
            done = await asyncio.to_thread(rig.run, "switch")
            assert done.returncode == 0, done.stderr
            await made.until_right(since_s=time.monotonic(), within_s=30)
        assert set(made.endings()) == {"right"}
        assert status(rig)["behind"][0]["restarts"] == 0


async def test_paused_it_leaves_the_cards_and_comes_back(rig: ClusterRig) -> None:
    with door(rig, "--layout", "cluster"):
        assert rig.run("pause").returncode == 0
        assert not any("rpc-server" in command(pid) for pid in rig.bed["beta"].pids())
        assert status(rig)["behind"][0]["state"] == "paused"
        refused = Crowd(url=f"http://127.0.0.1:{rig.serve}", people=1, within_s=5)
        async with refused.asking():
            await asyncio.sleep(0.5)
        assert {(one.ending, one.status) for one in refused.asked} == {("said so", 503)}
        assert rig.run("continue").returncode == 0
        assert status(rig)["behind"][0]["state"] == "ready"


def test_nothing_survives_a_door_killed_with_nine(rig: ClusterRig) -> None:
    process = rig.start("serve", "demo", "--rig", str(rig.path), "--context", "1024", "--layout", "cluster")
    eventually(lambda: is_ready(rig), within_s=60)
    os.kill(process.pid, signal.SIGKILL)
    rig.assert_nothing_left()
    assert status(rig) == {"behind": []}
