"""The ssh command lines we use, and how a script travels to a far `sh`: unchanged by login shells, unseen by `ps`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from evener.edges.environment import ALLOWED, ALWAYS
from evener.errors import HostError
from evener.state import state_folder

CONNECT_WITHIN_S = 6
SILENCE_S = 8  # how long a worker hears nothing before it ends; the head notices a little earlier

# Ours, whatever the user's config says: no questions, no forwarding, no command of its own, and a dead line is
# noticed. Everything else is the user's.
OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": CONNECT_WITHIN_S,
    "ServerAliveInterval": 2,
    "ServerAliveCountMax": 2,  # it gives up one interval after the last: 6 s
    "ClearAllForwardings": "yes",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "ControlPersist": "no",
    "LogLevel": "INFO",  # at lower levels it does not say why it ends
}
# A connection that is not interactive gets a bare PATH; tools of the drivers and engines are in these places.
TOOL_PLACES = (
    "/usr/local/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/cuda/bin", "/opt/cuda/bin",
    "/opt/rocm/bin", "/opt/homebrew/bin", "/usr/lib/wsl/lib",
)  # fmt: skip
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def command(way: Sequence[str], target: str, size: int) -> list[str]:
    """ssh to `target`, where `size` bytes of script are read from standard input and evaluated. `way`: more options."""
    options = [word for key, value in OPTIONS.items() for word in ("-o", f"{key}={value}")]
    return ["ssh", "-T", "-a", "-x", *way, *options, "--", target, _loader(size)]


def script(file: Path, arguments: Sequence[str], env: Mapping[str, str]) -> bytes:
    """One of our scripts with its arguments and environment, as text for the far end to evaluate."""
    if strange := [name for name in env if not NAME.fullmatch(name)]:
        raise ValueError(f"not a name for a variable: {strange[0]!r}")
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    return f"{exports}set -- {shlex.join(arguments)}\n{file.read_text()}".encode(errors="surrogateescape")


def environment() -> dict[str, str]:
    """ssh is the user's own tool, and gets the user's environment; but nobody is here to answer a question."""
    return {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}


def sockets() -> Path:
    """Where connections have their sockets; ssh runs in this folder, since a socket's path must be short."""
    folder = state_folder() / "ssh"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def no_ssh(host: str, error: OSError) -> HostError:
    return HostError(f"{host}: ssh: {error.strerror or error}", hint="evener needs the OpenSSH client")


def _loader(size: int) -> str:
    """What the login shell there is asked to run: `sh` in a clean environment, which reads `size` bytes of script.

    Only words, and text in single quotes without backslash, exclamation mark or line end: sh, fish and csh agree on
    it. The script itself comes over standard input, so that no `ps` shows it: it may hold a key.
    `dd bs=1`, because whatever reads more than it needs takes it from the command.
    """
    kept = " ".join(f'${{{name}+"{name}=${name}"}}' for name in ALLOWED if name != "PATH")
    path = f'"PATH=${{PATH:-/usr/bin:/bin}}:{":".join(TOOL_PLACES)}"'
    always = " ".join(f"{name}={value}" for name, value in ALWAYS.items())
    clean = f'exec env -i {kept} {path} {always} sh -c "$0"'
    return f"exec sh -c '{clean}' 'eval \"$(dd bs=1 count={size} 2>/dev/null)\"'"
