"""Hosts that are really apart, on one machine: a network namespace each, a veth pair as the cable, an sshd of its own.

The head is the root namespace: its end of each cable is there, so the cable can be cut like one. Needs root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.edges import sshd
from tests.edges.sshd import Sshd

ETC = Path("/etc/netns")
CPU = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 5000  # at the default 100 ms a burst of 10 ms is hardly slowed by a quota; the least quota is 1000
NAMES = ("beta", "gamma", "delta")
FAST = "4700mbit"
SLOW = "100mbit"

_numbers = count()


def why_not() -> str | None:
    """Why no such hosts can be made here, None when they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"no {program} on this machine (apt-get install iproute2)"
    if (why := sshd.why_not()) is not None:
        return why
    probe = f"ev{os.getpid()}probe"
    tried = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return f"no network namespaces here: {tried.stderr.strip()}" if tried.returncode else None


@dataclass
class FarHost:
    """One host: `name` for ssh and the rig, its own namespace and sshd, and the cable to the head."""

    name: str
    namespace: str
    address: str  # its end of the cable
    near: str  # the head's end
    cable: str
    home: Path  # of its root: nothing of this machine's user is there
    server: Sshd

    def cut(self) -> None:
        """Pull the plug at the far end: the head's interface stays up and loses its carrier."""
        run("ip", "-n", self.namespace, "link", "set", "wire", "down")

    def mend(self) -> None:
        """Put it in again, and wait until that has got about: both ends remember for a while that nobody was there."""
        run("ip", "-n", self.namespace, "link", "set", "wire", "up")
        run("ip", "neigh", "flush", "dev", self.cable)
        run("ip", "-n", self.namespace, "neigh", "flush", "dev", "wire")
        _until(self.server.is_listening)

    def shape(self, rate: str) -> None:
        """Let the cable carry so much, in both directions."""
        burst = "2mb" if rate == FAST else "64kb"
        how = ["root", "tbf", "rate", rate, "burst", burst, "latency", "20ms"]
        run("tc", "qdisc", "replace", "dev", self.cable, *how)
        run("tc", "-n", self.namespace, "qdisc", "replace", "dev", "wire", *how)

    def pids(self) -> list[int]:
        """Living processes in the namespace, but for the listening sshd."""
        said = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True)
        return [pid for pid in map(int, said.stdout.split()) if pid != self.server.pid and not _is_zombie(pid)]

    def listeners(self) -> list[str]:
        """Every local "address:port" on which somebody listens there, but for sshd."""
        said = run("ip", "netns", "exec", self.namespace, "ss", "-Hltn")
        return [w for line in said.splitlines() if not (w := line.split()[3]).endswith(":22")]

    def sessions(self) -> list[int]:
        """The processes of sshd that carry a connection."""
        return [pid for pid in self.pids() if command(pid).startswith("sshd")]


@dataclass
class Bed:
    """A head and its far hosts. `bin` holds an `ssh` that knows them."""

    folder: Path
    hosts: list[FarHost] = field(default_factory=list)

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def __getitem__(self, name: str) -> FarHost:
        return next(h for h in self.hosts if h.name == name)


@contextmanager
def bed(
    folder: Path,
    *,
    hosts: int = 1,
    rate: str = FAST,
    cpus: Sequence[float | None] = (),
    login: str = "/bin/bash",
    hide: Sequence[Path] = (),
    own_names: bool = False,
) -> Iterator[Bed]:
    """Build `hosts` far hosts; `cpus` is how much of a processor each may use, None for all there is.

    `login` is the login shell of its root. `hide` are folders of this machine that are empty there. With `own_names`
    each calls itself by its name, and so passes for a machine of its own.
    """
    made = Bed(folder)
    groups: list[Path] = []
    namespaces: list[str] = []
    try:
        for index in range(hosts):
            number = next(_numbers)
            namespace = f"ev{os.getpid()}n{number}"
            run("ip", "netns", "add", namespace)
            namespaces.append(namespace)
            share = cpus[index] if index < len(cpus) else None
            group = CPU / namespace if share else None
            if group and share:
                group.mkdir()
                groups.append(group)
                _limit(group, share)
            home = folder / NAMES[index] / "home"
            _account(namespace, home, login)
            called = _called(NAMES[index]) if own_names else []
            within = [*_into(group), "ip", "netns", "exec", namespace, *called, *_without(hide)]
            host = _host(folder, NAMES[index], namespace, number, within, home)
            host.shape(rate)
            made.hosts.append(host)
        sshd.ssh_on_path(made.bin, [h.server.config for h in made.hosts])
        yield made
    finally:
        for namespace in namespaces:
            _remove(namespace)
        for group in groups:
            _until(lambda group=group: not (group / "tasks").read_text())
            group.rmdir()


def _host(folder: Path, name: str, namespace: str, number: int, within: Sequence[str], home: Path) -> FarHost:
    net = f"10.{100 + os.getpid() // 256 % 100}.{os.getpid() % 256}"
    near, far = f"{net}.{4 * number + 1}", f"{net}.{4 * number + 2}"
    cable = f"ev{os.getpid()}w{number}"
    run("ip", "link", "add", cable, "type", "veth", "peer", "name", "wire", "netns", namespace)
    run("ip", "addr", "add", f"{near}/30", "dev", cable)
    run("ip", "link", "set", cable, "up")
    run("ip", "-n", namespace, "addr", "add", f"{far}/30", "dev", "wire")
    for device in ("wire", "lo"):
        run("ip", "-n", namespace, "link", "set", device, "up")
    path = f"SetEnv PATH={home}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    server = Sshd(folder=folder / name, name=name, address=far, within=within, more=path)
    return FarHost(name=name, namespace=namespace, address=far, near=near, cable=cable, home=home, server=server)


def _into(group: Path | None) -> list[str]:
    """Into its group first: `ip netns exec` mounts another /sys."""
    return ["sh", "-c", f'echo $$ >{group}/tasks; exec "$@"', "sh"] if group else []


def _called(name: str) -> list[str]:
    return ["unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh"]


def _without(hide: Sequence[Path]) -> list[str]:
    """`ip netns exec` gives what it starts a table of mounts of its own."""
    mounts = "; ".join(f"mount -t tmpfs none {shlex.quote(str(path))}" for path in hide)
    return ["sh", "-c", f'{mounts}; exec "$@"', "sh"] if hide else []


def _account(namespace: str, home: Path, login: str) -> None:
    """Another home and login shell for root: `ip netns exec` puts these files in the place of those in /etc."""
    (home / "bin").mkdir(parents=True)
    folder = ETC / namespace
    folder.mkdir(parents=True)
    others = [line for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith("root:")]
    (folder / "passwd").write_text("\n".join([f"root:x:0:0:root:{home}:{login}", *others]) + "\n")


def _limit(group: Path, share: float) -> None:
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * share)))


def _remove(namespace: str) -> None:
    said = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    for pid in map(int, said.stdout.split()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run("ip", "netns", "del", namespace)
    shutil.rmtree(ETC / namespace, ignore_errors=True)


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout


def command(pid: int) -> str:
    """A process's command line; empty when it has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _until(condition, within_s: float = 10) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
