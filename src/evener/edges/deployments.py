"""What runs, on disk: one folder per deployment under the state folder, with its record and its supervisor's socket."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from evener.codec import from_json, to_json
from evener.edges import locks
from evener.edges.writing import writing
from evener.errors import ConfigurationError, EvenerError, NameUnknown
from evener.records.deployment import Deployment
from evener.state import deployments_folder, state_folder

RECORD, SOCKET = "deployment.json", "control.sock"
DOOR = "door"  # the name, and the lock, of what `evener serve` opens
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def folder(name: str) -> Path:
    """Where a deployment of that name is kept. Raises ConfigurationError for a name that is none."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot be a deployment's name", hint="lower-case letters, digits, dots and dashes: qwen3.6-35b"
        )
    return deployments_folder() / name


def lock_key(name: str) -> str:
    """The lock that a living supervisor of that deployment holds."""
    return f"deployment-{name}"


def save(deployment: Deployment) -> None:
    """Write the record atomically. Raises HostError when it cannot be written."""
    target = folder(deployment.name) / RECORD
    fresh = target.with_suffix(f".{os.getpid()}.new")
    with writing(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_text(to_json(deployment, indent=1))
            fresh.replace(target)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise


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
        found = [d for d in known if is_alive(d)] or list(known)
    if len(found) == 1:
        return found[0]
    names = ", ".join(d.name for d in known)
    if not known:
        raise NameUnknown("nothing is deployed", hint="evener up MODEL")
    if name is not None:
        raise NameUnknown(f"no deployment is called {name}", hint=f"there is: {names}")
    raise NameUnknown("several deployments run", hint=f"name one of: {names}")


def forget(name: str) -> None:
    """Remove what we keep of a deployment, and nothing else that may lie in its folder."""
    own = folder(name)
    for path in (own / RECORD, own / SOCKET, *own.glob("supervisor.*.log"), *own.glob("*.new")):
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):
        own.rmdir()


def is_alive(deployment: Deployment) -> bool:
    """Whether its supervisor still runs: then it holds the deployment's lock."""
    return supervisor(deployment.name) is not None


def supervisor(name: str) -> int | None:
    """The pid of the supervisor that runs this deployment now."""
    return locks.holder_pid(state_folder() / "locks", lock_key(name))


def door_supervisor() -> int | None:
    """The pid of the process that holds the door open, in which everything behind it lives."""
    return locks.holder_pid(state_folder() / "locks", DOOR)
