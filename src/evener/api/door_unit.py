"""`evener serve --install`: the door as a systemd unit of this user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from evener.edges.writing import write_whole, writing
from evener.errors import ConfigurationError
from evener.serve import unit

FOLDERS = ("EVENER_CACHE", "EVENER_STATE", "EVENER_RUNS", "EVENER_ENGINE", "XDG_CACHE_HOME", "XDG_STATE_HOME", "PATH")


def install(arguments: list[str], *, force: bool) -> Path:
    """Write the unit for `evener serve` with these arguments, and return where it is. Nothing is started.

    Raises ConfigurationError when there is another one, unless `force`, or HostError.
    """
    path = _folder() / unit.NAME
    command = [sys.executable, "-P", "-m", "evener", "serve", *arguments]
    environment = {name: value for name in FOLDERS if (value := os.environ.get(name))}
    text = unit.unit(command, folder=str(Path.cwd()), environment=environment)
    if path.exists() and not force and path.read_text(encoding="utf-8", errors="replace") != text:
        raise ConfigurationError(f"{path} exists and is another one", hint="--force replaces it")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return path


def _folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "systemd" / "user"
