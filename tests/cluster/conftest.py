"""The real command line on hosts that are really apart, over real ssh, with the real engine."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.bed import SLOW, Bed, bed, command, run, why_not
from tests.loopback.conftest import Rig, eventually, heavy_model, is_running

__all__ = ["heavy_model"]

HEAD = """\
[serve]
port = {serve}

[[hosts]]
name = "alpha"
connection = "local"
address = "{near}"
ports = "{first}-{last}"
cards = {{ capacity_mib = {{ cpu = 4096 }} }}
"""
FAR = """
[[hosts]]
name = "{name}"
connection = "ssh"
ssh = "{name}"
address = "{address}"
ports = "{first}-{last}"
engine = "{engine}"
cards = {{ capacity_mib = {{ cpu = 4096 }} }}
"""
LEFT_WITHIN_S = 15

_FIRST = 28000 + os.getpid() % 18 * 200
_ports = iter(range(_FIRST, _FIRST + 400, 5))


class ClusterRig(Rig):
    """The command line on one bed, with a state folder of its own."""

    bed: Bed

    def ours(self) -> list[int]:
        """Processes on the head that this rig's evener started: its supervisors, ssh clients, heartbeats."""
        mark = f"EVENER_STATE={self.state}".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                mine = mark in environ.read_bytes().split(b"\0")
            except OSError:
                continue
            pid = int(environ.parent.name)
            if mine and is_running(pid):
                found.append(pid)
        return found

    def left(self) -> list[str]:
        """Everything that a deployment could leave: processes here and there, listeners, locks."""
        far = [f"{h.name}: {command(pid)}" for h in self.bed.hosts for pid in h.pids()]
        ports = [f"{h.name}: listens at {where}" for h in self.bed.hosts for where in h.listeners()]
        mine = {str(self.serve), *map(str, range(self.first, self.first + 3))}
        here = [w for line in run("ss", "-Hltn").splitlines() if (w := line.split()[3]).rpartition(":")[2] in mine]
        locks = [path.name for path in (self.state / "locks").glob("*.lock") if _is_held(path)]
        near = [f"alpha: {command(pid)}" for pid in (*self.ours(), *self.engine_pids())]
        return [*far, *ports, *here, *locks, *near]

    def assert_nothing_left(self, *, within_s: float = LEFT_WITHIN_S) -> float:
        begun = time.monotonic()
        while left := self.left():
            assert time.monotonic() - begun < within_s, f"after {within_s} s: {left}"
            time.sleep(0.1)
        return time.monotonic() - begun

    def failure(self) -> str:
        """The fault of a deployment that ended by itself."""
        eventually(lambda: self.deployment()["state"] == "failed")
        return str(self.deployment()["fault"])

    def the_run(self) -> Path:
        """The last run's folder, which must be readable."""
        last = self.runs()[-1]
        done = self.run("report", last.name)
        assert done.returncode == 0, done.stderr
        return last


def _is_held(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@pytest.fixture(scope="session", autouse=True)
def _possible() -> None:
    if (why := why_not()) is not None:
        pytest.skip(why)


@pytest.fixture(scope="session")
def two(_possible: None, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """alpha and beta, 4.7 Gbit/s between them. beta does not have alpha's models."""
    with bed(tmp_path_factory.mktemp("two"), hide=[model.parent]) as made:
        yield made


@pytest.fixture(scope="session")
def slow(_possible: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """alpha and beta, 100 Mbit/s between them: here the cable binds, on a small model too."""
    with bed(tmp_path_factory.mktemp("slow"), rate=SLOW) as made:
        yield made


def rig_text(bed: Bed, engine: Path, *, serve: int, first: int) -> str:
    ports = {"first": first, "last": first + 2}
    head = HEAD.format(serve=serve, near=bed.hosts[0].near, **ports)
    return head + "".join(FAR.format(name=h.name, address=h.address, engine=engine, **ports) for h in bed.hosts)


def rig_on(bed: Bed, folder: Path, engine: Path) -> Iterator[ClusterRig]:
    """A rig on `bed`; what a failed test leaves is ended, and cables are in again afterwards."""
    first = next(_ports)
    path = folder / "rig.toml"
    path.write_text(rig_text(bed, engine, serve=first + 4, first=first))
    environment = {
        **os.environ,
        "EVENER_STATE": str(folder / "state"),
        "EVENER_ENGINE": str(engine),
        "PATH": f"{bed.bin}:{os.environ['PATH']}",
    }
    made = ClusterRig(path=path, state=folder / "state", serve=first + 4, first=first, environment=environment)
    made.bed = bed
    yield made
    for host in bed.hosts:
        host.mend()
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    for pid in made.ours():
        os.kill(pid, signal.SIGKILL)
    made.assert_nothing_left()


@pytest.fixture
def rig(two: Bed, tmp_path: Path, engine: Path, model: Path) -> Iterator[ClusterRig]:
    yield from rig_on(two, tmp_path, engine)


@pytest.fixture
def slow_rig(slow: Bed, tmp_path: Path, engine: Path, model: Path) -> Iterator[ClusterRig]:
    yield from rig_on(slow, tmp_path, engine)


def chat(url: str, *, key: str | None = None) -> int:
    """Tokens of a short answer."""
    request = urllib.request.Request(
        url + "/v1/chat/completions",
        data=json.dumps({"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}).encode(),
        headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(json.load(answer)["usage"]["completion_tokens"])
