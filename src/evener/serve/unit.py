"""The systemd user unit that opens the door at boot. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAME = "evener-door.service"
WAIT_FOR_HOSTS_S = 600

_TEXT = """[Unit]
Description=evener: one door for the team
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={command}
WorkingDirectory={folder}
{environment}Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2
SuccessExitStatus=4
KillMode=mixed
TimeoutStopSec=180

[Install]
WantedBy=default.target
"""


def unit(command: Sequence[str], *, folder: str, environment: Mapping[str, str]) -> str:
    """`command` as its own words; `environment` are the variables that name evener's folders, never a key.

    The engine's processes end with the door's, so that `KillMode=mixed` lets it take them down in its own order first.
    After `evener down door` it stays down: that is no failure.
    """
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(environment.items()))
    words = " ".join(_quoted(word).replace("$", "$$") for word in command)  # systemd expands $ in commands only
    return _TEXT.format(command=words, folder=folder.replace("%", "%%"), environment=lines)


def _quoted(word: str) -> str:
    """One word of a unit file, in which systemd expands %."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'
