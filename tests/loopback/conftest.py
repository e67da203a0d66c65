"""Two hosts on loopback addresses, the real engine, the real command line: one state folder and port range per test."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

RIG = """\
[serve]
host = "127.0.0.1"
port = {serve}

[[hosts]]
name = "alpha"
connection = "local"
address = "127.0.0.1"
ports = "{first}-{last}"
cards = {{ capacity_mib = {{ cpu = 4096 }} }}

[[hosts]]
name = "beta"
connection = "local"
address = "127.0.0.2"
ports = "{first}-{last}"
cards = {{ capacity_mib = {{ cpu = 4096 }} }}
"""
WITHIN_S = 30.0


def eventually(condition: Callable[[], object], *, within_s: float = WITHIN_S) -> float:
    """Seconds until `condition` held. Fails the test when it never did."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < within_s, f"not within {within_s} s: {condition}"
        time.sleep(0.05)
    return time.monotonic() - begun


def is_running(pid: int) -> bool:
    """Whether a process of that id exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] != b"Z"


def listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0


@dataclass
class Rig:
    """The command line on one rig, with a state folder of its own."""

    path: Path
    state: Path
    serve: int
    first: int
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *arguments: str, within_s: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "evener", *arguments],
            env=self.environment, capture_output=True, text=True, timeout=within_s, check=False,
        )  # fmt: skip

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "evener", *arguments],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def up(self, model: str = "demo", *more: str) -> dict:
        """A detached cluster; its record."""
        done = self.run("up", model, "--rig", str(self.path), "--layout", "cluster", "--no-baseline", "-d", *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.deployment()

    def deployment(self) -> dict:
        known = json.loads(self.run("status", "--json").stdout)["deployments"]
        assert len(known) == 1, known
        return known[0]

    def state_now(self) -> str:
        """Of the one deployment: from its record, as `status` reads it, and without waiting for a program to start."""
        (path,) = self.state.glob("deployments/*/deployment.json")
        return json.loads(path.read_text())["state"]

    def engine_pids(self) -> list[int]:
        """Processes of the engine that use this rig's ports, their leashes included."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().decode().split("\0")
                except OSError:
                    continue
                ours = {str(self.serve), *map(str, range(self.first, self.first + 3))}
                is_engine = any(w.endswith(("llama-server", "ggml-rpc-server")) for w in words)
                if is_engine and ours & set(words) and is_running(int(entry.name)):
                    found.append(int(entry.name))
        return found

    def assert_nothing_left(self, *, within_s: float = 10) -> float:
        """No process of the engine, no listener, no lock. Returns the seconds it took."""
        took = eventually(lambda: not self.engine_pids(), within_s=within_s)
        eventually(lambda: not self.locks_held(), within_s=within_s)
        for address in ("127.0.0.1", "127.0.0.2"):
            for port in range(self.first, self.first + 3):
                assert not listens(address, port)
        assert not listens("127.0.0.1", self.serve)
        return took

    def locks_held(self) -> list[str]:
        held = []
        for path in (self.state / "locks").glob("*.lock"):
            with path.open("r+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    held.append(path.name)
        return held

    def runs(self) -> list[Path]:
        return sorted((self.state / "runs").iterdir())


_FIRST = 20000 + os.getpid() % 16 * 500  # below the range that the kernel gives to clients; two test runs rarely meet
_ports = iter(range(_FIRST, _FIRST + 500, 6))


@pytest.fixture
def rig(tmp_path: Path, engine: Path, model: Path) -> Iterator[Rig]:
    first = next(_ports)
    path = tmp_path / "rig.toml"
    path.write_text(RIG.format(serve=first + 4, first=first, last=first + 2))
    environment = {**os.environ, "EVENER_STATE": str(tmp_path / "state"), "EVENER_ENGINE": str(engine)}
    made = Rig(path=path, state=tmp_path / "state", serve=first + 4, first=first, environment=environment)
    yield made
    for one in json.loads(made.run("status", "--json").stdout)[
        "deployments"
    ]:  # a test that failed leaves its deployment
        made.run("down", one["name"])
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    eventually(lambda: not made.engine_pids(), within_s=15)


@pytest.fixture(scope="session")
def heavy_model(engine: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model in F32: half a gigabyte takes seconds to load, long enough to interfere."""
    path = tmp_path_factory.mktemp("models") / "heavy.gguf"
    quantize = [engine / "llama-quantize", "--allow-requantize", model, path, "F32"]
    subprocess.run(quantize, check=True, capture_output=True)
    return path
