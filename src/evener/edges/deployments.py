"""What runs, on disk: one folder per deployment under the state folder, with its record and its supervisor's socket."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from evener.codec import from_json, to_json
from evener.errors import EvenerError, NameUnknown
from evener.records.deployment import Deployment
from evener.state import deployments_folder

RECORD, SOCKET, SUPERVISOR_LOG = "deployment.json", "control.sock", "supervisor.log"


def folder(name: str) -> Path:
    return deployments_folder() / name


def save(deployment: Deployment) -> None:
    """Write the record atomically."""
    target = folder(deployment.name) / RECORD
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = target.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(to_json(deployment, indent=1))
    fresh.replace(target)


def load(name: str) -> Deployment | None:
    """None when there is no such deployment, or its record cannot be read any more."""
    path = folder(name) / RECORD
    try:
        return from_json(Deployment, path.read_bytes(), source=str(path))
    except (OSError, EvenerError):
        return None


def everything() -> tuple[Deployment, ...]:
    """All deployments that are on record, whether their supervisor lives or not."""
    base = deployments_folder()
    names = sorted(p.name for p in base.iterdir()) if base.is_dir() else []
    return tuple(d for name in names if (d := load(name)) is not None)


def pick(name: str | None) -> Deployment:
    """The deployment called `name`, or the only one. Raises NameUnknown."""
    known = everything()
    if name is not None:
        found = [d for d in known if d.name == name]
    else:
        found = [d for d in known if d.state != "failed"] or list(known)
    if len(found) == 1:
        return found[0]
    names = ", ".join(d.name for d in known)
    if not known:
        raise NameUnknown("nothing is deployed", hint="evener up MODEL")
    if name is not None:
        raise NameUnknown(f"no deployment is called {name}", hint=f"there is: {names}")
    raise NameUnknown("several deployments run", hint=f"name one of: {names}")


def forget(name: str) -> None:
    shutil.rmtree(folder(name), ignore_errors=True)


def is_alive(deployment: Deployment) -> bool:
    """Whether its supervisor still runs: a process of that id that is evener."""
    try:
        command = Path(f"/proc/{deployment.supervisor_pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"evener" in command
