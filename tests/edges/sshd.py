"""A real OpenSSH server for tests: keys, configuration and known hosts of its own, and an `ssh` that uses them."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
SSH = shutil.which("ssh")
SERVER = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PrintMotd no
{more}
"""
CLIENT = """\
Host {name}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking yes
"""


def why_not() -> str | None:
    """Why no sshd can be run here, None when it can."""
    return None if SSHD and SSH else "no OpenSSH server or client on this machine (apt-get install openssh-server)"


@dataclass
class Sshd:
    """One server. `name` is what `ssh` calls it. `within` is a command before sshd, such as `ip netns exec NAME`."""

    folder: Path
    name: str
    address: str = "127.0.0.1"
    port: int = 22
    user: str = field(default_factory=getpass.getuser)
    within: Sequence[str] = ()
    more: str = ""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for key in ("key", "host_key"):
            _keygen(self.folder / key)
        (self.folder / "authorized_keys").write_text((self.folder / "key.pub").read_text())
        (self.folder / "sshd_config").write_text(
            SERVER.format(port=self.port, address=self.address, folder=self.folder, more=self.more)
        )
        (self.folder / "config").write_text(
            CLIENT.format(name=self.name, address=self.address, port=self.port, user=self.user, folder=self.folder)
        )
        self.trust()
        self.start()

    def start(self) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it is root, it wants that folder
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.within, str(SSHD), "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._until_listening()

    @property
    def pid(self) -> int:
        """Of the server itself: what is before it becomes it."""
        return self._process.pid

    def stop(self) -> None:
        """End the server, and not the sessions it has."""
        self._process.terminate()
        self._process.wait()

    def trust(self) -> None:
        """Make the host key known."""
        kind, key, *_ = (self.folder / "host_key.pub").read_text().split()
        where = self.address if self.port == 22 else f"[{self.address}]:{self.port}"
        self.known_hosts.write_text(f"{where} {kind} {key}\n")

    def new_host_key(self) -> None:
        """As after a new installation. The server must be started again."""
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink()
        _keygen(self.folder / "host_key")

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def config(self) -> Path:
        return self.folder / "config"

    def is_listening(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.address, self.port)) == 0

    def _until_listening(self) -> None:
        for _ in range(200):
            if self.is_listening():
                return
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())


def ssh_on_path(folder: Path, configs: Sequence[Path]) -> Path:
    """A folder with an `ssh` that knows these servers and nothing of the user's. Put it before the rest of PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_text("".join(f"Include {config}\n" for config in configs))
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nexec {SSH} -F {folder}/config "$@"\n')
    program.chmod(0o755)
    return folder


def _keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
