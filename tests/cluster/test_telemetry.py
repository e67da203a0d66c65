"""Hosts that are really apart, watched over real ssh while they work; one is killed, one lost, one found again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest

from evener.edges.local_shell import LocalShell
from evener.edges.ssh_shell import SshShell
from evener.records.telemetry import Telemetry
from evener.telemetry.tell import tell
from evener.telemetry.watch import Seen, Watched, Way, watching
from tests.cluster.bed import Bed, FarHost, bed, command

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def three(_possible: None, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """alpha, and beta and gamma behind a cable each."""
    with bed(tmp_path_factory.mktemp("three"), hosts=2) as made:
        yield made


@pytest.fixture
async def hosts(three: Bed, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Watched]]:
    monkeypatch.setenv("PATH", f"{three.bin}:{os.environ['PATH']}")
    shells = {host.name: SshShell(host.name, host.name) for host in three.hosts}
    near = [Way(link=f"to-{host.name}", own=host.near, other=host.address) for host in three.hosts]
    yield [
        Watched(host="alpha", shell=LocalShell("alpha"), ways=tuple(near)),
        *(
            Watched(host=host.name, shell=shells[host.name], ways=(Way(link="up", own=host.address, other=host.near),))
            for host in three.hosts
        ),
    ]
    for host in three.hosts:
        host.mend()
    for shell in shells.values():
        shell.close()
    await until(lambda: not any(host.pids() for host in three.hosts))


async def until(condition, within_s: float = 15.0) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.05)


def watchers(host: FarHost) -> list[int]:
    return [pid for pid in host.pids() if "every=$1" in command(pid) and command(pid).startswith("sh -c")]


def told_of(told: Telemetry, host: str):  # type: ignore[no-untyped-def]
    return next(one for one in told.hosts if one.host == host)


async def test_far_hosts_say_what_they_do_and_what_their_cable_carries(three: Bed, hosts: list[Watched]) -> None:
    beta = three["beta"]
    async with watching(hosts, every_s=0.5) as seen:
        await asyncio.to_thread(_carry, beta, 20_000_000)
        await asyncio.sleep(1.5)
    told = tell(seen)
    assert [host.host for host in told.hosts if host.gaps] == []
    for host in told.hosts:
        assert host.samples >= 4
        (cpu,) = host.cards
        assert cpu.utilisation_percent
        assert cpu.memory_peak_bytes
        assert host.unknown[-1].startswith("CPU does not say:")
        assert host.late_ms
        assert host.late_ms[1] < 500
    wire = next(nic for nic in told_of(told, "beta").nics if nic.link == "up")
    assert wire.name == "wire"
    assert 20_000_000 < wire.tx_bytes < 25_000_000
    cable = next(nic for nic in told_of(told, "alpha").nics if nic.link == "to-beta")
    assert (cable.name, 20_000_000 < cable.rx_bytes < 25_000_000) == (beta.cable, True)
    assert len({host.machine for host in told.hosts}) == 1  # one kernel
    assert watchers(beta) == []


async def test_watching_goes_on_when_a_watcher_is_killed_and_a_cable_is_cut(three: Bed, hosts: list[Watched]) -> None:
    beta, gamma = three["beta"], three["gamma"]
    async with watching(hosts, every_s=0.5) as seen:
        (pid,) = watchers(beta)
        os.kill(pid, signal.SIGKILL)
        gamma.cut()
        await until(lambda: {"beta", "gamma"} <= _have_been_lost(seen))
        gamma.mend()
        await until(lambda: not seen.lost, within_s=30)
        await asyncio.sleep(0.6)
    told = tell(seen)
    assert told_of(told, "alpha").gaps == ()
    (killed,) = told_of(told, "beta").gaps
    assert killed.why == "its watcher was ended by signal 9"
    (cut,) = told_of(told, "gamma").gaps
    assert cut.why == "silent for 5 s"
    assert cut.to_s
    assert cut.to_s - cut.from_s >= 5


async def test_a_host_that_does_not_come_back_is_a_gap_without_an_end(three: Bed, hosts: list[Watched]) -> None:
    gamma = three["gamma"]
    async with watching(hosts, every_s=0.5) as seen:
        gamma.server.stop()
        for pid in gamma.pids():
            os.kill(pid, signal.SIGKILL)
        await until(lambda: "gamma" in seen.lost)
        before = len(seen.samples)
        await asyncio.sleep(1.2)
        assert len(seen.samples) > before
    gamma.server.start()
    (gap,) = told_of(tell(seen), "gamma").gaps
    assert gap.to_s is None


def _have_been_lost(seen: Seen) -> set[str]:
    return {sample.host for sample in seen.samples if sample.lost}


def _carry(host: FarHost, size: int) -> None:
    """`size` bytes from `host` to here, over its cable."""
    argv = ["ssh", host.name, f"head -c {size} /dev/zero"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True, timeout=30)
    assert len(done.stdout) == size
